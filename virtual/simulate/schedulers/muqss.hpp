// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../engine.hpp"
#include "../scheduler.hpp"

#include <cmath>

namespace lockyard::simulation {

/// C. Kolivas' MuQSS: one order of virtual deadlines over all processors' queues. Isochronous
/// threads (SCHED_ISO) come before all of them, in order of arrival, until they have used a given
/// share of the machine's recent time.
class muqss : public scheduler {
 public:
  enum class yields : std::uint8_t { none, to_earlier_deadline, renew_deadline };

  /// An isochronous share above 0 makes the measured program (group 0) isochronous: the share of
  /// all processors' time from which on it counts as ordinary.
  muqss(ps interval, yields how, double isochronous_share = 0)
      : interval_{interval}, yields_{how}, isochronous_share_{isochronous_share} {}

  void woken(thread& which) override {
    if (is_used_up(which) || which.scheduling.deadline == 0) renew(which);
  }
  void ran(thread& which, int /*processor*/, ps length) override {
    which.scheduling.slice_left -= length;
    if (is_isochronous(which)) used_ += static_cast<double>(length);
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
        if (best != nullptr && !is_before(*each, *best)) continue;
        best = each, from = &queue;
      }
    }
    if (best != nullptr) std::erase(*from, best);
    return best;
  }
  bool tick(thread& current, int /*processor*/) override {
    forget_old_use();
    if (!is_used_up(current)) return false;
    renew(current);
    return true;
  }
  bool preempts(const thread& woken, const thread& current, int /*processor*/) override {
    return is_before(woken, current);
  }
  bool yield_switches(thread& current, int processor) override {
    if (yields_ != yields::to_earlier_deadline) return yields_ == yields::renew_deadline;
    const auto& queue = on().at(processor).queue;
    return std::ranges::any_of(queue,
                               [&](const thread* each) { return is_before(*each, current); });
  }
  /// Without an idle processor, the one whose thread comes last.
  int place(thread& woken, int waker) override {
    const int usual = scheduler::place(woken, waker);
    if (on().is_idle(usual)) return usual;
    int latest = usual;
    for (int i = 0; i < on().shape().processors; ++i) {
      const thread* const there = on().at(i).current;
      const thread* const best = on().at(latest).current;
      if (there != nullptr && (best == nullptr || is_before(*best, *there))) latest = i;
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

  /// Use is counted over the latest seconds, as the kernel does (ISO_PERIOD).
  static constexpr ps period = 5000 * ms;

  [[nodiscard]] bool is_isochronous(const thread& which) const noexcept {
    return isochronous_share_ > 0 && which.group == 0 && !is_refused_;
  }
  /// Isochronous threads are equals: their slices take turns, and none precedes another.
  [[nodiscard]] bool is_before(const thread& one, const thread& other) const noexcept {
    const bool first = is_isochronous(one);
    if (first != is_isochronous(other)) return first;
    return !first && one.scheduling.deadline < other.scheduling.deadline;
  }
  /// Lets the use fade, and decides whether it is within the share. A program that was refused is
  /// isochronous again below nine tenths of the share, so that it does not change at every tick.
  void forget_old_use() noexcept {
    const ps elapsed = on().now() - counted_until_;
    counted_until_ = on().now();
    used_ *= std::exp(-static_cast<double>(elapsed) / static_cast<double>(period));
    const double all = static_cast<double>(period) * on().shape().processors;
    const double permitted = isochronous_share_ * all;
    is_refused_ = used_ > (is_refused_ ? 0.9 * permitted : permitted);
  }
  static bool is_used_up(const thread& which) noexcept {
    return which.scheduling.slice_left <= shortest;
  }
  void renew(thread& which) const noexcept {
    which.scheduling.slice_left = interval_;
    which.scheduling.deadline =
        on().now() + scaled_by(interval_, std::pow(1.1, which.own.nice + 20));  // prio_ratios[]
  }

  ps interval_;
  yields yields_;
  double isochronous_share_;
  double used_ = 0;  ///< processor time of the isochronous program, faded
  ps counted_until_ = 0;
  bool is_refused_ = false;  ///< it has used its share
};

}  // namespace lockyard::simulation
