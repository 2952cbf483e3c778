// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../engine.hpp"
#include "../scheduler.hpp"

namespace lockyard::simulation {

/// A. Chen's BMQ: queues by level. A thread rises by a sleep and sinks when it has used its slice.
/// PDS has the same engine and orders by a virtual deadline, which a used slice renews.
class bmq : public scheduler {
 public:
  enum class yields : std::uint8_t { none, lowest_level, skip };
  struct tunables {
    ps slice = 4 * ms;
    yields how = yields::lowest_level;
    bool by_deadline = false;  ///< PDS
  };
  explicit bmq(const tunables& of) : of_{of} {}

  void woken(thread& which) override {
    which.scheduling.level = std::max(-most, which.scheduling.level - 1);
    if (of_.by_deadline && which.scheduling.slice_left <= shortest) renew(which);
  }
  void ran(thread& which, int /*processor*/, ps length) override {
    which.scheduling.slice_left -= length;
  }
  void put_back(thread& which, int processor, bool yielded) override {
    if (yielded && of_.how == yields::lowest_level) {
      which.scheduling.level = most;
      if (of_.by_deadline) renew(which);
    }
    which.scheduling.yielded = yielded && of_.how == yields::skip;
    scheduler::put_back(which, processor, yielded);
  }
  thread* choose(int processor) override {
    thread* const chosen = take_least(on().at(processor).queue, [this](const thread* each) {
      return std::pair{each->scheduling.yielded, rank(*each)};
    });
    if (chosen != nullptr) chosen->scheduling.yielded = false;
    if (chosen != nullptr && chosen->scheduling.slice_left <= shortest) renew(*chosen);
    return chosen;
  }
  bool tick(thread& current, int /*processor*/) override {
    if (current.scheduling.slice_left > shortest) return false;
    current.scheduling.level = std::min(most, current.scheduling.level + 1);
    renew(current);
    return true;
  }
  bool preempts(const thread& woken, const thread& current, int /*processor*/) override {
    return rank(woken) < rank(current);
  }
  bool yield_switches(thread& /*current*/, int /*processor*/) override {
    return of_.how != yields::none;
  }
  /// Without an idle processor, one whose thread is behind the woken one.
  int place(thread& woken, int waker) override {
    const int usual = scheduler::place(woken, waker);
    if (on().is_idle(usual)) return usual;
    for (int i = 0; i < on().shape().processors; ++i) {
      const thread* const there = on().at(i).current;
      if (there != nullptr && rank(*there) > rank(woken)) return i;
    }
    return usual;
  }

 private:
  static constexpr int most = 4;
  static constexpr ps shortest = 100 * us;

  [[nodiscard]] ps rank(const thread& of) const noexcept {
    return of_.by_deadline ? of.scheduling.deadline : of.own.nice + of.scheduling.level;
  }
  void renew(thread& which) const noexcept {
    which.scheduling.slice_left = of_.slice;
    which.scheduling.deadline = on().now() + (which.own.nice + 20) * of_.slice;
  }

  tunables of_;
};

}  // namespace lockyard::simulation
