// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thread.hpp"

#include <algorithm>

namespace lockyard::simulation {

class engine;

/// A scheduling policy: it orders, places and chooses threads. The ready threads are in the
/// processors' queues. The defaults are what most kernels do.
class scheduler {
 public:
  scheduler() = default;
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  virtual ~scheduler() = default;

  void attach(engine& to) noexcept { engine_ = &to; }

  // Accounting
  virtual void woken(thread& /*which*/) {}  ///< `which.processor` is its new processor
  virtual void slept(thread& /*which*/, int /*processor*/) {}
  virtual void moved(thread& /*which*/, int /*from*/, int /*to*/) {}
  virtual void ran(thread& /*which*/, int /*processor*/, ps /*length*/) {}

  // Queues
  virtual void put_back(thread& which, int processor, bool yielded);
  virtual thread* choose(int processor) = 0;  ///< removes it from its queue; null if there is none
  virtual thread* pull(int processor);        ///< for a processor that has no ready thread

  // Decisions
  virtual bool tick(thread& /*current*/, int /*processor*/) { return false; }
  virtual bool preempts(const thread& woken, const thread& current, int processor) = 0;
  virtual bool yield_switches(thread& /*current*/, int /*processor*/) { return true; }
  virtual int place(thread& woken, int waker);
  /// Whether a higher priority keeps lower ones off the processor.
  [[nodiscard]] virtual bool is_strict() const { return false; }
  /// Whether an idle core takes a thread from a core with two that run.
  [[nodiscard]] virtual bool spreads_over_cores() const { return true; }
  /// How long a yield takes, besides a switch, while `yielding` threads are in yield loops.
  [[nodiscard]] virtual ps yield_length(int yielding) const;

 protected:
  [[nodiscard]] engine& on() const noexcept { return *engine_; }
  /// Returns whether a woken thread may be sent there because it is idle.
  [[nodiscard]] bool looks_idle(int processor, int waker) const;

  /// Removes and returns the thread with the least key; of equals, the first one.
  template <class Key>
  static thread* take_least(std::vector<thread*>& queue, Key key) {
    if (queue.empty()) return nullptr;
    const auto least = std::ranges::min_element(queue, {}, key);
    thread* const found = *least;
    queue.erase(least);
    return found;
  }

 private:
  engine* engine_ = nullptr;
};

}  // namespace lockyard::simulation
