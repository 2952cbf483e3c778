// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cancellation of threads.

#include <pthread.h>

namespace lockyard::inline v0::detail::os {

/// Postpones the cancellation of the calling thread. Code of users that writes reaches a
/// cancellation point, and no exception, so no cancellation either, can leave a lock's functions.
class postponed_cancellation {
 public:
  postponed_cancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  postponed_cancellation(const postponed_cancellation&) = delete;
  postponed_cancellation& operator=(const postponed_cancellation&) = delete;
  ~postponed_cancellation() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace lockyard::inline v0::detail::os
