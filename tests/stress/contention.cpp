// SPDX-License-Identifier: Apache-2.0
#include "stress/contention.hpp"

#include <lockyard/detail/sanitizer.hpp>

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace lockyard::testing {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_watched = true;
#else
constexpr bool is_watched = lockyard::detail::sanitizer::under_tsan;
#endif

/// Passes some time that the compiler cannot see through.
void linger(unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Ends in time among signals too: the kernel adds its timer slack to what is left of a sleep that
/// std::this_thread::sleep_for goes on with, each time.
void sleep_for(std::chrono::nanoseconds duration) {
  const auto limit = std::chrono::steady_clock::now() + duration;
  for (auto left = duration; left.count() > 0; left = limit - std::chrono::steady_clock::now()) {
    const timespec rest{.tv_sec = 0, .tv_nsec = left.count()};
    nanosleep(&rest, nullptr);
  }
}

}  // namespace

std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* const given = std::getenv("LOCKYARD_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }();
  return value;
}

unsigned scaled(unsigned count) {
#if defined(LOCKYARD_EMULATED)
  return std::max(count / 20, 1U);
#else
  return is_watched ? std::max(count / 10, 1U) : count;
#endif
}

unsigned cores() {
  return std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
}

contention::contention(some_lock& lock, shape of) : lock_{lock}, of_{of} {
  for (unsigned t = 0; t < of_.threads; ++t) team_.emplace_back([this, t] { work(t); });
}

contention::~contention() {
  for (auto& thread : team_) {
    if (thread.joinable()) thread.join();
  }
}

void contention::work(unsigned thread) {
  std::minstd_rand random{static_cast<std::uint32_t>(seed() + thread)};
  std::uint64_t acquired = 0;
  for (unsigned round = 0; round < of_.rounds; ++round) {
    if (!acquire(thread, round, random)) continue;
    ++acquired;
    change_both(random);
    lock_.unlock();
  }
  acquired_ += acquired;
  ++ended_;
}

bool contention::acquire(unsigned thread, unsigned round, std::minstd_rand& random) {
  using clock = std::chrono::steady_clock;
  if (of_.patience.count() > 0 && thread != 0) {
    const std::chrono::nanoseconds longest{of_.patience};
    const std::chrono::nanoseconds duration{random() % static_cast<std::uint64_t>(longest.count())};
    const auto limit = clock::now() + duration;
    if (lock_.try_lock_for(duration)) return true;
    if (clock::now() < limit) ++early_;
    return false;
  }
  if (round % 3 != 0 || !lock_.try_lock()) lock_.lock();
  return true;
}

void contention::change_both(std::minstd_rand& random) {
  if (first_ != second_) ++torn_;
  ++first_;
  linger(static_cast<unsigned>(random() % of_.hold_turns));
  if (of_.sleep.count() > 0) {
    sleep_for(std::chrono::microseconds{random() % static_cast<unsigned>(of_.sleep.count())});
  }
  ++second_;
}

::testing::AssertionResult contention::kept_its_word() {
  for (auto& thread : team_) thread.join();
  if (torn_ == 0 && early_ == 0 && first_ == acquired_ && second_ == acquired_) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << torn_ << " times two owners at once, " << early_ << " time-outs too early, "
         << acquired_ << " acquisitions but " << first_ << " and " << second_ << " changes";
}

void Stress::SetUp() {
  std::cout << "LOCKYARD_SEED=" << seed() << '\n';
}

}  // namespace lockyard::testing
