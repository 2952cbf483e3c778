// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <peers/names.hpp>

#include <nsync_mu.h>

namespace lockyard::inline v0::peers {

/// Adds nothing: each function is one call into the library.
class nsync_mutex {
 public:
  void lock() noexcept { nsync::nsync_mu_lock(&mutex_); }
  bool try_lock() noexcept { return nsync::nsync_mu_trylock(&mutex_) != 0; }
  void unlock() noexcept { nsync::nsync_mu_unlock(&mutex_); }

 private:
  nsync::nsync_mu mutex_ = NSYNC_MU_INIT;
};

}  // namespace lockyard::inline v0::peers
