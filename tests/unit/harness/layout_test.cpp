// SPDX-License-Identifier: Apache-2.0
#include <subject.hpp>

#include <lockyard/park/mutex.hpp>
#include <lockyard/queue/queued_spinlock.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace lockyard::harness {
namespace {

constexpr lock_traits traits{};

template <class Lock>
std::size_t distance(layout data_at) {
  const arena<std::uint64_t> place{{traits, operations_on<Lock>}, 7, data_at};
  place.data() = 1;
  const auto lock = reinterpret_cast<std::uintptr_t>(place.lock());
  EXPECT_EQ(lock % lock_spacing, 0U);
  return reinterpret_cast<std::uintptr_t>(&place.data()) - lock;
}

TEST(Layout, keeps_padded_data_off_the_lines_of_the_lock) {
  EXPECT_EQ(distance<mutex>(layout::padded), lock_spacing);
  EXPECT_EQ(distance<queued_spinlock>(layout::padded), lock_spacing);
}

TEST(Layout, puts_data_directly_behind_the_lock) {
  EXPECT_EQ(distance<mutex>(layout::next_to_data), sizeof(std::uint64_t));
  EXPECT_EQ(distance<queued_spinlock>(layout::next_to_data), sizeof(std::uint64_t));
}

}  // namespace
}  // namespace lockyard::harness
