// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../engine.hpp"
#include "../scheduler.hpp"

namespace lockyard::simulation {

/// SCHED_FIFO and SCHED_RR. Threads with priority 0 are ordinary; the measured program's have
/// priority 1 unless its study gives them others. The throttle of 95 % is off.
class real_time : public scheduler {
 public:
  /// A quantum of 0 is SCHED_FIFO.
  explicit real_time(ps quantum) : quantum_{quantum} {}

  void ran(thread& which, int /*processor*/, ps length) override {
    which.scheduling.slice_left -= length;
  }
  void put_back(thread& which, int processor, bool yielded) override {
    auto& queue = on().at(processor).queue;
    const bool is_over = quantum_ > 0 && which.scheduling.slice_left <= 0;
    if (yielded || is_over || !is_real_time(which)) {
      queue.push_back(&which);
    } else {
      queue.insert(queue.begin(), &which);  // a preempted thread stays first
    }
    if (is_over) which.scheduling.slice_left = quantum_;
  }
  thread* choose(int processor) override {
    return take_least(on().at(processor).queue,
                      [](const thread* each) { return -each->priority(); });
  }
  bool tick(thread& current, int processor) override {
    if (!is_real_time(current)) return !on().at(processor).queue.empty();
    return quantum_ > 0 && current.scheduling.slice_left <= 0 && has_rival(current, processor);
  }
  bool preempts(const thread& woken, const thread& current, int /*processor*/) override {
    return woken.priority() > current.priority();
  }
  bool yield_switches(thread& current, int processor) override {
    return !is_real_time(current) || has_rival(current, processor);
  }
  [[nodiscard]] bool is_strict() const override { return true; }
  /// A real-time thread is pushed to the processor that runs the least urgent thread.
  [[nodiscard]] bool spreads_over_cores() const override { return false; }
  int place(thread& woken, int waker) override {
    const int usual = scheduler::place(woken, waker);
    if (on().is_idle(usual) || !is_real_time(woken)) return usual;
    int found = usual, least = woken.priority();
    for (int i = 0; i < on().shape().processors; ++i) {
      const thread* const running = on().at(i).current;
      if (running == nullptr || running->priority() >= least) continue;
      found = i, least = running->priority();
    }
    return found;
  }

 private:
  static bool is_real_time(const thread& which) noexcept { return which.priority() > 0; }
  /// Whether a thread in the queue is at least as urgent.
  [[nodiscard]] bool has_rival(const thread& to, int processor) const {
    return std::ranges::any_of(on().at(processor).queue, [&to](const thread* each) {
      return each->priority() >= to.priority();
    });
  }

  ps quantum_;
};

}  // namespace lockyard::simulation
