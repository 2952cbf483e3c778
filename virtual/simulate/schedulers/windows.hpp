// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../engine.hpp"
#include "../scheduler.hpp"

namespace lockyard::simulation {

/// Windows: priority levels, a quantum that is counted in ticks, a boost for a woken thread until
/// its quantum ends, and SwitchToThread(), which looks only at its own processor's queue. The
/// measured program (group 0) is in the foreground, and its quantum is longer.
class windows : public scheduler {
 public:
  windows(ps quantum, double foreground) : quantum_{quantum}, foreground_{foreground} {}

  void woken(thread& which) override { which.scheduling.level = -1; }
  void ran(thread& which, int /*processor*/, ps length) override {
    which.scheduling.slice_left -= length;
  }
  /// An expired thread goes to the tail, a preempted one to the head.
  void put_back(thread& which, int processor, bool yielded) override {
    auto& queue = on().at(processor).queue;
    const bool is_last = yielded || which.scheduling.slice_left <= 0;
    queue.insert(is_last ? queue.end() : queue.begin(), &which);
  }
  thread* choose(int processor) override {
    thread* const chosen =
        take_least(on().at(processor).queue, [](const thread* each) { return level(*each); });
    if (chosen != nullptr && chosen->scheduling.slice_left <= 0) {
      chosen->scheduling.slice_left =
          chosen->group == 0 ? scaled_by(quantum_, foreground_) : quantum_;
    }
    return chosen;
  }
  bool tick(thread& current, int processor) override {
    if (current.scheduling.slice_left > 0) return false;
    current.scheduling.level = 0;
    return !on().at(processor).queue.empty();
  }
  bool preempts(const thread& woken, const thread& current, int /*processor*/) override {
    return level(woken) < level(current);
  }

 private:
  /// Nice 0, 9 and 18 stand for the priorities normal, below normal and lowest.
  static int level(const thread& of) noexcept { return of.scheduling.level + of.own.nice / 9; }

  ps quantum_;
  double foreground_;
};

}  // namespace lockyard::simulation
