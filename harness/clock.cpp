// SPDX-License-Identifier: Apache-2.0
#include "clock.hpp"

#include "topology.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

namespace lockyard::harness {

namespace {

constexpr double calibration_ns = 10e6;

struct instant {
  ticks tsc;
  ticks raw_ns;
};

/// Reads both clocks as close together as a few tries allow.
instant read_both() noexcept {
  instant best{};
  ticks shortest = std::numeric_limits<ticks>::max();
  for (int attempt = 0; attempt < 16; ++attempt) {
    const ticks before = detail::arch::cycle_counter();
    const ticks raw = monotonic_raw_ns();
    const ticks after = detail::arch::cycle_counter();
    if (after - before < shortest) {
      shortest = after - before;
      best = {.tsc = before + (after - before) / 2, .raw_ns = raw};
    }
  }
  return best;
}

double measure_ns_per_tick() noexcept {
  const instant first = read_both();
  while (static_cast<double>(monotonic_raw_ns() - first.raw_ns) < calibration_ns) {
    detail::arch::pause();
  }
  const instant last = read_both();
  return static_cast<double>(last.raw_ns - first.raw_ns) /
         static_cast<double>(last.tsc - first.tsc);
}

/// The median of several batches, because interrupts only ever add.
template <class Read>
double cost_of_read_ns(Read read) noexcept {
  constexpr int reads = 1000;
  std::array<ticks, 31> batches{};
  for (ticks& batch : batches) {
    const ticks before = clock::now();
    for (int i = 0; i < reads - 1; ++i) read();
    batch = clock::now() - before;
  }
  constexpr std::size_t middle = batches.size() / 2;
  std::ranges::nth_element(batches, batches.begin() + middle);
  return clock::ns(batches[middle]) / reads;
}

/// One end of a round trip between two cores: whose turn it is, and the other's stamp.
struct alignas(detail::arch::interference_size) mailbox {
  std::atomic<std::uint32_t> turn{0};
  std::atomic<ticks> stamp{0};
};

constexpr std::uint32_t skew_rounds = 500;
constexpr double skew_limit_ns = 100e6;

/// Waits for its turn, but no longer than the pair's share of time.
bool await_turn(const mailbox& box, std::uint32_t turn, ticks limit) noexcept {
  // order[turn_seen]: acquire; pairs [reply, question]; makes the other side's stamp readable.
  while (box.turn.load(std::memory_order_acquire) != turn) {
    if (clock::now() > limit) return false;
    detail::arch::pause();
  }
  return true;
}

void answer(mailbox& box, int cpu, ticks limit) {
  try {
    pin_this_thread(cpu);
  } catch (const condition_error&) {
    return;  // the pair is one of those that did not answer
  }
  for (std::uint32_t round = 0; round < skew_rounds; ++round) {
    if (!await_turn(box, 2 * round + 1, limit)) return;
    // relaxed(unpublished): the store to turn publishes it.
    box.stamp.store(clock::now(), std::memory_order_relaxed);
    // order[reply]: release; pairs [turn_seen]; publishes the stamp.
    box.turn.store(2 * round + 2, std::memory_order_release);
  }
}

struct offset {
  double offset_ns;
  double uncertainty_ns;
};

/// Cristian's method: the other's stamp lies between ours before and after; the shortest round trip
/// says it best. The calling thread runs on the first core of the pair.
std::optional<offset> offset_from(int other) {
  mailbox box;
  const ticks limit = clock::now() + clock::from_ns(skew_limit_ns);
  std::thread partner{[&] { answer(box, other, limit); }};
  ticks shortest = std::numeric_limits<ticks>::max();
  std::optional<offset> best;
  for (std::uint32_t round = 0; round < skew_rounds; ++round) {
    const ticks asked = clock::now();
    // order[question]: release; pairs [turn_seen]; the question itself is all that is published.
    box.turn.store(2 * round + 1, std::memory_order_release);
    if (!await_turn(box, 2 * round + 2, limit)) break;
    const ticks answered = clock::now();
    if (answered - asked < shortest) {
      shortest = answered - asked;
      // relaxed(locked): the turn is ours, so the partner does not write.
      const auto stamp = static_cast<double>(box.stamp.load(std::memory_order_relaxed));
      const double middle = static_cast<double>(asked) + static_cast<double>(shortest) / 2;
      best = {.offset_ns = (stamp - middle) * clock::ns_per_tick(),
              .uncertainty_ns = clock::ns(shortest) / 2};
    }
  }
  partner.join();
  return best;
}

}  // namespace

void clock::calibrate(clock_source source) noexcept {
  use(source, source == clock_source::tsc ? measure_ns_per_tick() : 1.0);
  measure_reads();
}

void clock::measure_reads() noexcept {
  read_ns_ = cost_of_read_ns(now);
  early_read_ns_ = cost_of_read_ns(now_early);
}

clock_skew measure_skew() {
  clock_skew skew;
  const std::vector<int> cpus = usable_cpus();
  skew.wanted = static_cast<unsigned>(cpus.size() - 1);
  const auto measure = [&] {
    pin_this_thread(cpus[0]);
    for (std::size_t i = 1; i < cpus.size(); ++i) {
      const auto found = offset_from(cpus[i]);
      if (!found) continue;
      ++skew.pairs;
      const double offset_ns = std::abs(found->offset_ns);
      if (offset_ns > found->uncertainty_ns + clock::read_ns()) ++skew.apart;
      if (offset_ns >= std::abs(skew.offset_ns)) {
        skew.offset_ns = found->offset_ns;
        skew.uncertainty_ns = found->uncertainty_ns;
      }
    }
  };
  // A thread of its own, so that this one keeps its processors.
  std::jthread{[&measure] {
    try {
      measure();
    } catch (const condition_error&) {
      return;  // no pair was measured, which the result says
    }
  }}.join();
  return skew;
}

}  // namespace lockyard::harness
