// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../engine.hpp"
#include "../scheduler.hpp"

#include <cmath>

namespace lockyard::simulation {

/// The weight of a thread as Linux's autogroups share it: each terminal's group counts as one
/// thread, and its runnable threads share that by their nice values.
[[nodiscard]] inline double group_weight(const engine& on, const thread& of) noexcept {
  return of.weight / on.load_of(of.group);
}

/// Linux up to 6.5: kernel/sched/fair.c of 5.4, with the factors that it derives from the number of
/// processors.
class cfs : public scheduler {
 public:
  struct tunables {
    ps latency = 6 * ms, granularity = 750 * us, wakeup = 1 * ms;
    bool autogroup = true;
    bool scales = true;  ///< by 1 + log2 of the processors, at most 8
  };
  cfs(const tunables& of, int processors) : of_{of} {
    if (!of.scales) return;
    const auto factor = static_cast<ps>(1 + std::floor(std::log2(std::min(processors, 8))));
    of_.latency *= factor, of_.granularity *= factor, of_.wakeup *= factor;
  }

  void ran(thread& which, int processor, ps length) override {
    account& mine = which.scheduling;
    mine.vruntime += weighted(length, which), mine.slice_used += length;
    ps least = mine.vruntime;
    for (const thread* each : on().at(processor).queue) {
      least = std::min(least, each->scheduling.vruntime);
    }
    ps& floor = on().at(processor).min_vruntime;
    floor = std::max(floor, least);
  }
  // Between two processors, and over a sleep, vruntime is relative to the queue's.
  void slept(thread& which, int processor) override {
    which.scheduling.vruntime -= on().at(processor).min_vruntime;
  }
  void woken(thread& which) override {
    which.scheduling.vruntime = on().at(which.processor).min_vruntime +
                                std::max(which.scheduling.vruntime, -of_.latency / 2);
  }
  void moved(thread& which, int from, int to) override {
    which.scheduling.vruntime += on().at(to).min_vruntime - on().at(from).min_vruntime;
  }
  void put_back(thread& which, int processor, bool yielded) override {
    which.scheduling.yielded = yielded;
    scheduler::put_back(which, processor, yielded);
  }
  /// A thread that yielded is skipped once, unless the next one is too far behind.
  thread* choose(int processor) override {
    auto& queue = on().at(processor).queue;
    thread* chosen = take_least(queue, vruntime);
    if (chosen != nullptr && chosen->scheduling.yielded) {
      thread* const second = take_least(queue, vruntime);
      if (second != nullptr) {
        const bool is_near = vruntime(second) - vruntime(chosen) <= weighted(of_.wakeup, *second);
        queue.push_back(is_near ? chosen : second);
        if (is_near) chosen->scheduling.yielded = false, chosen = second;
      }
    }
    if (chosen != nullptr) chosen->scheduling.yielded = false, chosen->scheduling.slice_used = 0;
    return chosen;
  }
  bool tick(thread& current, int processor) override {
    const auto& queue = on().at(processor).queue;
    if (queue.empty()) return false;
    double sum = weight(current);
    ps least = never;
    for (const thread* each : queue) {
      sum += weight(*each), least = std::min(least, vruntime(each));
    }
    const auto ready = static_cast<ps>(queue.size() + 1);
    const ps slice =
        scaled_by(std::max(of_.latency, ready * of_.granularity), weight(current) / sum);
    const ps used = current.scheduling.slice_used;
    return used > slice || (used >= of_.granularity && vruntime(&current) - least > slice);
  }
  bool preempts(const thread& woken, const thread& current, int /*processor*/) override {
    return vruntime(&current) - vruntime(&woken) > weighted(of_.wakeup, woken);
  }

 private:
  static ps vruntime(const thread* of) noexcept { return of->scheduling.vruntime; }
  [[nodiscard]] double weight(const thread& of) const noexcept {
    return of_.autogroup ? group_weight(on(), of) : of.weight;
  }
  /// A thread of the measured group has weight 1 by definition, so that tunables keep their unit.
  [[nodiscard]] ps weighted(ps length, const thread& of) const noexcept {
    const double groups = of_.autogroup ? on().load_of(of.group) / on().load_of(0) : 1.0;
    return scaled_by(length, groups / of.weight);
  }

  tunables of_;
};

}  // namespace lockyard::simulation
