// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cfs.hpp"

namespace lockyard::simulation {

/// Linux from 6.6: among the threads that have had no more than their share, the earliest deadline.
class eevdf : public scheduler {
 public:
  struct tunables {
    ps slice = 700 * us;
    /// A yield gives up the rest of the slice (Linux 6.19 and its stable branches); otherwise it
    /// only postpones the deadline.
    bool forfeits = true;
    bool autogroup = true;
  };
  eevdf(const tunables& of, int processors) : of_{of}, last_(static_cast<std::size_t>(processors)) {
    of_.slice *= static_cast<ps>(1 + std::floor(std::log2(std::min(processors, 8))));
  }

  void ran(thread& which, int processor, ps length) override {
    which.scheduling.vruntime += scaled_by(length, 1 / weight(which));
    ps& floor = on().at(processor).min_vruntime;
    floor = std::max(floor, average(processor));
  }
  void slept(thread& which, int processor) override {
    last(processor) = nullptr;
    const ps limit = request(which);
    which.scheduling.lag =
        std::clamp(average(processor) - which.scheduling.vruntime, -limit, limit);
  }
  void woken(thread& which) override {
    account& mine = which.scheduling;
    mine.vruntime = average(which.processor) - mine.lag;
    mine.deadline = mine.vruntime + request(which), mine.lag = 0;
  }
  void moved(thread& which, int from, int to) override {
    const ps by = average(to) - average(from);
    which.scheduling.vruntime += by, which.scheduling.deadline += by;
  }
  void put_back(thread& which, int processor, bool yielded) override {
    account& mine = which.scheduling;
    if (yielded && !of_.forfeits) mine.deadline += request(which);
    if (yielded && of_.forfeits && mine.vruntime <= average(processor)) {
      mine.vruntime = mine.deadline, mine.deadline += request(which);
    }
    scheduler::put_back(which, processor, yielded);
  }
  thread* choose(int processor) override {
    const ps limit = average(processor);
    thread* const chosen = take_least(on().at(processor).queue, [limit](const thread* each) {
      return std::pair{each->scheduling.vruntime > limit, each->scheduling.deadline};
    });
    if (chosen != nullptr && chosen != last(processor)) {
      chosen->scheduling.protected_until = chosen->scheduling.deadline;
    }
    last(processor) = chosen;
    return chosen;
  }
  bool tick(thread& current, int processor) override {
    account& mine = current.scheduling;
    if (mine.vruntime >= mine.deadline) mine.deadline = mine.vruntime + request(current);
    return mine.vruntime >= mine.protected_until && !on().at(processor).queue.empty();
  }
  /// The woken thread preempts if it would be chosen now (check_preempt_wakeup_fair()). A thread
  /// that has had no more than its share runs to the end of the slice with which it got the
  /// processor (RUN_TO_PARITY). While it keeps the processor, later slices do not protect it:
  /// set_next_entity() alone protects.
  bool preempts(const thread& woken, const thread& current, int processor) override {
    const ps limit = average(processor);
    const auto is_before_woken = [&](const thread& other) {
      return other.scheduling.vruntime <= limit &&
             other.scheduling.deadline <= woken.scheduling.deadline;
    };
    const account& running = current.scheduling;
    const bool is_protected =
        running.vruntime <= limit && running.vruntime < running.protected_until;
    if (woken.scheduling.vruntime > limit || is_protected || is_before_woken(current)) return false;
    return std::ranges::none_of(on().at(processor).queue, [&](const thread* each) {
      return each != &woken && is_before_woken(*each);
    });
  }

 private:
  [[nodiscard]] double weight(const thread& of) const noexcept {
    return of_.autogroup ? group_weight(on(), of) * on().load_of(0) : of.weight;
  }
  [[nodiscard]] ps request(const thread& of) const noexcept {
    return scaled_by(of_.slice, 1 / weight(of));
  }
  /// The weighted mean of the ready threads' vruntimes.
  [[nodiscard]] ps average(int which) const noexcept {
    const processor& here = on().at(which);
    double sum = 0, weights = 0;
    const auto add = [&](const thread* each) {
      const double of = weight(*each);
      sum += of * static_cast<double>(each->scheduling.vruntime - here.min_vruntime);
      weights += of;
    };
    if (here.current != nullptr) add(here.current);
    for (const thread* each : here.queue) add(each);
    return here.min_vruntime + (weights > 0 ? static_cast<ps>(sum / weights) : 0);
  }

  const thread*& last(int processor) { return last_[static_cast<std::size_t>(processor)]; }

  tunables of_;
  std::vector<const thread*> last_;  ///< had the processor when it was last scheduled
};

}  // namespace lockyard::simulation
