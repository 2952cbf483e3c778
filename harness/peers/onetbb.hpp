// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

#include <peers/names.hpp>
#include <peers/thread_nodes.hpp>

namespace lockyard::inline v0::peers {

/// Adds nothing.
class tbb_mutex : public tbb::mutex {};
class tbb_spin_mutex : public tbb::spin_mutex {};
class tbb_rw_mutex : public tbb::rw_mutex {};
class tbb_spin_rw_mutex : public tbb::spin_rw_mutex {};

/// A oneTBB mutex that only a scoped_lock acquires: each acquisition constructs one, as in user
/// code, but in thread_nodes instead of on the stack.
template <class Mutex>
class tbb_scoped {
 public:
  void lock() { nodes::take(this).node().acquire(mutex_); }
  bool try_lock() {
    auto& mine = nodes::take(this);
    const bool taken = mine.node().try_acquire(mutex_);
    if (!taken) nodes::give_back(mine);
    return taken;
  }
  void unlock() {
    auto& mine = nodes::of(this);
    mine.node().release();
    nodes::give_back(mine);
  }

 private:
  using nodes = thread_nodes<typename Mutex::scoped_lock>;

  Mutex mutex_;
};

class tbb_queuing_mutex : public tbb_scoped<tbb::queuing_mutex> {};
/// Spins if the processor has no transactions to speculate with.
class tbb_speculative_spin_mutex : public tbb_scoped<tbb::speculative_spin_mutex> {};

}  // namespace lockyard::inline v0::peers
