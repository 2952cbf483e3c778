// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../engine.hpp"
#include "../scheduler.hpp"

namespace lockyard::simulation {

/// C. Kolivas' MuQSS: one order of virtual deadlines over all processors' queues.
class muqss : public scheduler {
 public:
  enum class yields : std::uint8_t { none, to_earlier_deadline, renew_deadline };

  muqss(ps interval, yields how) : interval_{interval}, yields_{how} {}

  void woken(thread& which) override {
    if (is_used_up(which) || which.scheduling.deadline == 0) renew(which);
  }
  void ran(thread& which, int /*processor*/, ps length) override {
    which.scheduling.slice_left -= length;
  }
  void put_back(thread& which, int processor, bool yielded) override {
    if (yielded && yields_ == yields::renew_deadline) renew(which);
    scheduler::put_back(which, processor, yielded);
  }
  /// The earliest deadline of all queues.
  thread* choose(int processor) override {
    std::vector<thread*>* from = nullptr;
    thread* best = nullptr;
    for (int i = 0; i < on().shape().processors; ++i) {
      auto& queue = on().at(i).queue;
      for (thread* const each : queue) {
        if (each->pinned_to >= 0 && each->pinned_to != processor) continue;
        if (best != nullptr && deadline(each) >= deadline(best)) continue;
        best = each, from = &queue;
      }
    }
    if (best != nullptr) std::erase(*from, best);
    return best;
  }
  bool tick(thread& current, int /*processor*/) override {
    if (!is_used_up(current)) return false;
    renew(current);
    return true;
  }
  bool preempts(const thread& woken, const thread& current, int /*processor*/) override {
    return deadline(&woken) < deadline(&current);
  }
  bool yield_switches(thread& current, int processor) override {
    if (yields_ != yields::to_earlier_deadline) return yields_ == yields::renew_deadline;
    const auto& queue = on().at(processor).queue;
    return std::ranges::any_of(
        queue, [&current](const thread* each) { return deadline(each) < deadline(&current); });
  }
  /// Without an idle processor, the one whose thread has the latest deadline.
  int place(thread& woken, int waker) override {
    const int usual = scheduler::place(woken, waker);
    if (on().is_idle(usual)) return usual;
    int latest = usual;
    for (int i = 0; i < on().shape().processors; ++i) {
      const thread* const there = on().at(i).current;
      const thread* const best = on().at(latest).current;
      if (there != nullptr && (best == nullptr || deadline(there) > deadline(best))) latest = i;
    }
    return latest;
  }
  /// A yield looks at a line of every processor, and does so under the lock of its queue. The
  /// processors that share a last-level cache share a queue, so that their yields wait for each
  /// other. Without yields the call returns before all that (do_sched_yield()).
  [[nodiscard]] ps yield_length(int yielding) const override {
    if (yields_ == yields::none) return scheduler::yield_length(yielding);
    const topology& shape = on().shape();
    const int queues = std::max(1, shape.cores() / shape.cores_per_cache);
    const ps look = on().costs_of().mean_hop() * (shape.processors - 1);
    return scheduler::yield_length(yielding) + look * yielding / queues;
  }

 private:
  static constexpr ps shortest = 100 * us;  ///< what is left of a slice is not worth a switch

  static ps deadline(const thread* of) noexcept { return of->scheduling.deadline; }
  static bool is_used_up(const thread& which) noexcept {
    return which.scheduling.slice_left <= shortest;
  }
  void renew(thread& which) const noexcept {
    which.scheduling.slice_left = interval_, which.scheduling.deadline = on().now() + interval_;
  }

  ps interval_;
  yields yields_;
};

}  // namespace lockyard::simulation
