// SPDX-License-Identifier: Apache-2.0
#include <lockyard/spin/backoff_spinlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::microseconds;

/// A scripted world in which a spin is over at once, and which knows the naps that were asked for.
struct napping_world : scripted_world {
  static inline std::vector<microseconds> naps;

  template <class... Arguments>
  static auto await(Arguments&&... arguments) noexcept {
    return spinning<napping_world>::await(std::forward<Arguments>(arguments)...);
  }
  static std::uint32_t pauses_in(std::chrono::nanoseconds /*length*/) noexcept { return 1; }
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept { return now(); }
  static deadline deadline_after(std::chrono::nanoseconds length) noexcept {
    naps.push_back(std::chrono::duration_cast<microseconds>(length));
    return native::deadline_after(length);
  }
};

/// Has the lock wait until it has come to so many naps.
void wait_for_naps(int count) {
  napping_world::naps.clear();
  script& played = scripted_world::now_playing = {};
  basic_backoff_spinlock<napping_world> lock;
  lock.lock();
  played.on_wait = [&] {
    if (played.waits == count) lock.unlock();
  };
  lock.lock();
  lock.unlock();
}

TEST(BackoffSpinlock, naps_past_its_spin_and_never_yields) {
  wait_for_naps(7);
  EXPECT_EQ(scripted_world::now_playing.yields, 0);
  EXPECT_GT(scripted_world::now_playing.pauses, 0);
  EXPECT_EQ(scripted_world::now_playing.wakes, 0);
}

TEST(BackoffSpinlock, naps_twice_as_long_each_time_up_to_a_millisecond) {
  wait_for_naps(7);
  const std::vector<microseconds> doubling{microseconds{50},  microseconds{100}, microseconds{200},
                                           microseconds{400}, microseconds{800}, microseconds{1000},
                                           microseconds{1000}};
  EXPECT_EQ(napping_world::naps, doubling);
}

TEST(BackoffSpinlock, goes_on_spinning_while_its_time_lasts) {
  script& played = scripted_world::now_playing = {};
  basic_backoff_spinlock<scripted_world> lock;
  lock.lock();
  played.on_wait = [&] { lock.unlock(); };
  lock.lock();
  EXPECT_EQ(played.waits, 0);
  lock.unlock();
}

}  // namespace
}  // namespace lockyard::testing
