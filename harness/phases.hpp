// SPDX-License-Identifier: Apache-2.0
#pragma once

// The phases of a run. The compared situations take turns within the run, forwards and then
// backwards, so that slow changes affect all of them alike.

#include "clock.hpp"
#include "phase_order.hpp"

#include <lockyard/detail/arch.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace lockyard::harness {

/// All members gather asleep before each phase; the last one to arrive begins it. No other thread
/// conducts, so no policy of the members can keep a conductor off the processor.
class phases {
 public:
  static constexpr unsigned rounds = phase_rounds;

  struct phase {
    unsigned number;
    unsigned kind;
    ticks end;  ///< when the phase is to end
  };

  /// All phases together take `run_ns`. The seed decides which kind comes first.
  phases(unsigned members, unsigned kinds, double run_ns, std::uint64_t seed)
      : members_{members},
        kinds_{kinds},
        first_kind_{static_cast<unsigned>(seed % kinds)},
        length_{clock::from_ns(run_ns / (rounds * kinds))},
        spans_(std::size_t{rounds} * kinds),
        missing_{members} {}

  [[nodiscard]] unsigned count() const noexcept { return rounds * kinds_; }
  [[nodiscard]] ticks length() const noexcept { return length_; }
  [[nodiscard]] unsigned kind_of(unsigned number) const noexcept {
    return kind_of_phase(number, kinds_, first_kind_);
  }

  /// Called by each member with 0, 1, 2 and so on: gathers, and returns in the phase of that
  /// number, or nullopt when there are no more phases.
  std::optional<phase> await(unsigned number) noexcept {
    if (number == count()) return std::nullopt;
    // order[gathered]: acq_rel; pairs [gathered]; the last member sees what all have written.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) begin(number);
    return begun_from(number);
  }

  /// Called by a thread that is not a member and that no member waits for: returns in the latest
  /// phase once phase `number` has begun, or nullopt when the phases are called off.
  std::optional<phase> follow(unsigned number) noexcept { return begun_from(number); }

  [[nodiscard]] bool lasts(const phase& of) const noexcept {
    // relaxed(hint): a thread that sees it late does one more operation.
    return over_.load(std::memory_order_relaxed) <= of.number;
  }

  /// Called by any member, ends the phase for all. Only the first call counts.
  void end(const phase& of) noexcept {
    std::uint32_t expected = of.number;
    // relaxed(atomicity): the span is published when its writer gathers, or is joined.
    if (over_.compare_exchange_strong(expected, of.number + 1, std::memory_order_relaxed)) {
      spans_[of.number].end = clock::now();
    }
  }

  /// Releases members that would wait for members that never come.
  void call_off() noexcept {
    // order[called_off]: release; pairs [seen_begun, slept_begun, woken_begun]; only itself.
    begun_.store(called_off, std::memory_order_release);
    begun_.notify_all();
  }

  /// Returns how long the phases of a kind took together, once all members have left the last
  /// phase.
  [[nodiscard]] double length_ns_of(unsigned kind) const noexcept {
    ticks sum = 0;
    for (unsigned number = 0; number < count(); ++number) {
      if (kind_of(number) == kind) sum += elapsed(spans_[number].begin, spans_[number].end);
    }
    return clock::ns(sum);
  }

 private:
  static constexpr std::uint32_t called_off = std::numeric_limits<std::uint32_t>::max();

  struct span {
    ticks begin = 0;
    ticks end = 0;
  };

  std::optional<phase> begun_from(unsigned number) noexcept {
    // order[seen_begun]: acquire; pairs [begun, called_off]; the span of the phase can be read.
    std::uint32_t begun = begun_.load(std::memory_order_acquire);
    while (begun <= number) {
      // order[slept_begun]: acquire; pairs [begun, called_off]; as above.
      begun_.wait(begun, std::memory_order_acquire);
      // order[woken_begun]: acquire; pairs [begun, called_off]; as above.
      begun = begun_.load(std::memory_order_acquire);
    }
    if (begun == called_off) return std::nullopt;
    const unsigned latest = begun - 1;
    return phase{.number = latest, .kind = kind_of(latest), .end = spans_[latest].begin + length_};
  }

  void begin(unsigned number) noexcept {
    // relaxed(unpublished): the store below publishes it.
    missing_.store(members_, std::memory_order_relaxed);
    spans_[number].begin = clock::now();
    // order[begun]: release; pairs [seen_begun, slept_begun, woken_begun]; publishes the span.
    begun_.store(number + 1, std::memory_order_release);
    begun_.notify_all();
  }

  unsigned members_;
  unsigned kinds_;
  unsigned first_kind_;
  ticks length_;
  std::vector<span> spans_;
  alignas(detail::arch::interference_size) std::atomic<std::uint32_t> missing_;
  alignas(detail::arch::interference_size) std::atomic<std::uint32_t> begun_{0};  ///< phases
  alignas(detail::arch::interference_size) std::atomic<std::uint32_t> over_{0};   ///< phases
};

}  // namespace lockyard::harness
