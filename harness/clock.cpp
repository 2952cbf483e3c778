// SPDX-License-Identifier: Apache-2.0
#include "clock.hpp"

#include "schedule.hpp"
#include "skew.hpp"
#include "topology.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
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

/// Returns the median of several batches, because interrupts only ever add time.
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

/// One end of a round trip between two cores: the number of the turn, and the partner's stamp.
struct alignas(detail::arch::interference_size) mailbox {
  std::atomic<std::uint32_t> turn{0};
  std::atomic<ticks> stamp{0};
};

constexpr std::uint32_t skew_rounds = 500;
/// Long enough for the partner's thread to start and to reach its core.
constexpr ticks rest_ns = 2'000'000;
/// Several slices of the scheduler, so that a partner that has to wait for one still answers in
/// time.
constexpr double skew_limit_ns = 8e6;

/// Sleeps until a moment of CLOCK_MONOTONIC. If other threads want their cores, two threads that
/// wake at the same time are more likely to run at the same time than two threads that spin.
void sleep_until(ticks moment_ns) noexcept {
  constexpr ticks second_ns = 1'000'000'000;
  const timespec until{.tv_sec = static_cast<time_t>(moment_ns / second_ns),
                       .tv_nsec = static_cast<long>(moment_ns % second_ns)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

ticks monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<ticks>(now.tv_sec) * 1'000'000'000U + static_cast<ticks>(now.tv_nsec);
}

/// Asks for a schedule under which the calling thread runs as soon as it wakes, even if others want
/// its core. A refusal is ignored: the bound stays true, and only becomes wider.
void ask_to_run_at_once() noexcept {
  constexpr schedule wanted[] = {{.of = policy::fifo, .priority = 1},
                                 {.of = policy::other, .slice_ns = 100'000}};
  for (const schedule& each : wanted) {
    try {
      run_under(each);
      return;
    } catch (const condition_error&) {
      continue;
    }
  }
}

/// Waits for its turn, but no longer than the pair's share of the time.
bool await_turn(const mailbox& box, std::uint32_t turn, ticks limit) noexcept {
  // order[turn_seen]: acquire; pairs [reply, question]; makes the other side's stamp readable.
  while (box.turn.load(std::memory_order_acquire) != turn) {
    if (clock::now() > limit) return false;
    detail::arch::pause();
  }
  return true;
}

void answer(mailbox& box, int cpu, ticks begin_ns) {
  try {
    pin_this_thread(cpu);
  } catch (const condition_error&) {
    return;  // the pair counts as one that did not answer
  }
  ask_to_run_at_once();
  sleep_until(begin_ns);
  const ticks limit = clock::now() + clock::from_ns(skew_limit_ns);
  for (std::uint32_t round = 0; round < skew_rounds; ++round) {
    if (!await_turn(box, 2 * round + 1, limit)) return;
    // relaxed(unpublished): the store to turn publishes it.
    box.stamp.store(clock::now(), std::memory_order_relaxed);
    // order[reply]: release; pairs [turn_seen]; publishes the stamp.
    box.turn.store(2 * round + 2, std::memory_order_release);
  }
}

/// Cristian's method: the partner's stamp lies between our stamps before and after; the shortest
/// round trip bounds it best. The calling thread runs on the first core of the pair.
std::optional<counter_offset> offset_from(int other) {
  mailbox box;
  const ticks begin_ns = monotonic_ns() + rest_ns;
  std::thread partner{[&] { answer(box, other, begin_ns); }};
  sleep_until(begin_ns);
  const ticks limit = clock::now() + clock::from_ns(skew_limit_ns);
  ticks shortest = std::numeric_limits<ticks>::max();
  std::optional<counter_offset> best;
  for (std::uint32_t round = 0; round < skew_rounds; ++round) {
    const ticks asked = clock::now();
    // order[question]: release; pairs [turn_seen]; the question itself is all that it publishes.
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
  const std::vector<int> cpus = usable_cpus();
  const auto pairs = static_cast<unsigned>(cpus.size() - 1);
  clock_skew skew;
  skew.wanted = pairs;
  const auto attempt = [&cpus](unsigned pair, unsigned /*number*/) {
    return offset_from(cpus[pair + 1]);
  };
  // In its own thread, so that the calling thread keeps its processors.
  std::jthread{[&] {
    try {
      pin_this_thread(cpus[0]);
    } catch (const condition_error&) {
      return;  // no pair was measured, as the result shows
    }
    ask_to_run_at_once();
    skew = compare_cores(pairs, attempt, clock::read_ns());
  }}.join();
  return skew;
}

}  // namespace lockyard::harness
