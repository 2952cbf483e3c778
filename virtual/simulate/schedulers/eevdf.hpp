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
  eevdf(const tunables& of, int processors) : of_{of} {
    of_.slice *= static_cast<ps>(1 + std::floor(std::log2(std::min(processors, 8))));
  }

  void ran(thread& which, int processor, ps length) override {
    which.scheduling.vruntime += scaled_by(length, 1 / weight(which));
    ps& floor = on().at(processor).min_vruntime;
    floor = std::max(floor, average(processor));
  }
  void slept(thread& which, int processor) override {
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
    return take_least(on().at(processor).queue, [limit](const thread* each) {
      return std::pair{each->scheduling.vruntime > limit, each->scheduling.deadline};
    });
  }
  bool tick(thread& current, int processor) override {
    account& mine = current.scheduling;
    if (mine.vruntime < mine.deadline) return false;
    mine.deadline = mine.vruntime + request(current);
    return !on().at(processor).queue.empty();
  }
  /// A thread runs to the end of its slice (RUN_TO_PARITY).
  bool preempts(const thread& woken, const thread& current, int processor) override {
    return woken.scheduling.vruntime <= average(processor) &&
           current.scheduling.vruntime >= current.scheduling.deadline &&
           woken.scheduling.deadline < current.scheduling.deadline;
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

  tunables of_;
};

}  // namespace lockyard::simulation
