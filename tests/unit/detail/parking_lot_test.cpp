// SPDX-License-Identifier: Apache-2.0
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/native.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <initializer_list>
#include <vector>

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;
using lot = lockyard::detail::parking_lot<native>;
using wake_reason = lot::wake_reason;
using kind = lockyard::detail::waiter_kind;

/// A bucket of this test alone, which no thread sleeps in.
class ParkingLot : public ::testing::Test {
 protected:
  lot::node& link(const void* object, kind wanted, std::chrono::nanoseconds since = 0ns) {
    lot::node& added = nodes_.emplace_back(object, wanted, native::time_point{since});
    added.prepare_to_sleep();
    home_.link(added);
    return added;
  }
  /// The nodes of a queue, first to last.
  std::vector<const lot::node*> queue(const void* object, kind wanted) const {
    std::vector<const lot::node*> found;
    const lot::node* each = home_.first(object, wanted);
    EXPECT_EQ(lot::bucket::length(each), count(each));
    for (; each != nullptr; each = lot::bucket::next(*each)) found.push_back(each);
    return found;
  }
  static std::uint32_t count(const lot::node* each) {
    std::uint32_t all = 0;
    for (; each != nullptr; each = lot::bucket::next(*each)) ++all;
    return all;
  }
  using nodes = std::vector<const lot::node*>;

  lot::bucket home_;
  std::deque<lot::node> nodes_;
  const char objects_[3]{};
};

TEST_F(ParkingLot, has_a_queue_for_each_address_and_kind) {
  const auto& a = link(&objects_[0], kind::mutex);
  const auto& b = link(&objects_[1], kind::mutex);
  const auto& c = link(&objects_[0], kind::semaphore);
  const auto& d = link(&objects_[0], kind::mutex);
  EXPECT_EQ(queue(&objects_[0], kind::mutex), (nodes{&a, &d}));
  EXPECT_EQ(queue(&objects_[1], kind::mutex), nodes{&b});
  EXPECT_EQ(queue(&objects_[0], kind::semaphore), nodes{&c});
  EXPECT_EQ(home_.first(&objects_[0], kind::byte_mutex), nullptr);
  EXPECT_EQ(home_.first(&objects_[2], kind::mutex), nullptr);
}

/// In whatever order they leave, and with other queues before and behind.
TEST_F(ParkingLot, keeps_its_queues_when_their_first_middle_or_last_node_leaves) {
  for (const unsigned leaves : {0U, 1U, 2U}) {
    for (const unsigned object : {0U, 1U, 2U}) {
      std::vector<std::vector<lot::node*>> linked(3);
      for (int i = 0; i < 3; ++i) {
        for (unsigned at = 0; at < 3; ++at) linked[at].push_back(&link(&objects_[at], kind::mutex));
      }
      home_.remove(*linked[object][leaves]);
      linked[object].erase(linked[object].begin() + leaves);
      for (unsigned at = 0; at < 3; ++at) {
        EXPECT_EQ(queue(&objects_[at], kind::mutex), (nodes{linked[at].begin(), linked[at].end()}));
      }
      for (const auto& queue : linked) {
        for (lot::node* each : queue) home_.remove(*each);
      }
      for (const char& at : objects_) EXPECT_EQ(home_.first(&at, kind::mutex), nullptr);
    }
  }
}

TEST_F(ParkingLot, orders_a_queue_by_the_begin_of_the_wait) {
  const auto& b = link(&objects_[0], kind::mutex, 2us);
  const auto& c = link(&objects_[0], kind::mutex, 3us);
  const auto& a = link(&objects_[0], kind::mutex, 1us);
  const auto& d = link(&objects_[0], kind::mutex, 3us);
  EXPECT_EQ(queue(&objects_[0], kind::mutex), (nodes{&a, &b, &c, &d}));
}

TEST_F(ParkingLot, takes_an_unparked_node_back_to_its_place_however_long_the_queue_is) {
  lot::node& oldest = link(&objects_[0], kind::mutex, 1us);
  for (int i = 0; i < 1000; ++i) link(&objects_[0], kind::mutex, 2us);
  static_cast<void>(home_.unpark(oldest, wake_reason::retry));
  EXPECT_NE(home_.first(&objects_[0], kind::mutex), &oldest);
  oldest.prepare_to_sleep();
  home_.link(oldest);
  EXPECT_EQ(home_.first(&objects_[0], kind::mutex), &oldest);
}

/// B2: a thread that was held up before it took the guard does not search a long queue.
TEST_F(ParkingLot, puts_a_late_newcomer_before_a_bounded_number_of_nodes) {
  for (int i = 0; i < 100; ++i) link(&objects_[0], kind::mutex, 2us);
  const auto& late = link(&objects_[0], kind::mutex, 1us);
  const nodes all = queue(&objects_[0], kind::mutex);
  EXPECT_EQ(all[100 - lot::bucket::most_places], &late);
}

TEST_F(ParkingLot, moves_a_node_to_the_end_of_another_queue) {
  const auto& sleeps = link(&objects_[0], kind::mutex, 1us);
  lot::node& first = link(&objects_[1], kind::condition, 1us);
  const auto& second = link(&objects_[1], kind::condition, 1us);
  home_.move(first, &objects_[0], kind::mutex, native::time_point{2us});
  EXPECT_EQ(queue(&objects_[0], kind::mutex), (nodes{&sleeps, &first}));
  EXPECT_EQ(queue(&objects_[1], kind::condition), nodes{&second});
  EXPECT_EQ(first.kind(), kind::mutex);
}

/// All waiters that are linked when it begins; B1: a batch at a time, woken with the guard free.
TEST_F(ParkingLot, ends_as_many_sleeps_as_it_is_told_and_says_which_is_the_last) {
  const char object = 0;
  auto& home = lot::bucket_of(&object);
  const auto all = 2 * lot::batch + 3;
  for (std::uint32_t i = 0; i < all; ++i) {
    lot::node& added = nodes_.emplace_back(&object, kind::others, native::time_point{});
    added.prepare_to_sleep();
    home.bucket_lock().lock();
    home.link(added);
    home.bucket_lock().unlock();
  }
  std::uint32_t ended = 0;
  bool was_last = false;
  const auto before = [&](bool is_last) {
    EXPECT_FALSE(was_last);
    was_last = is_last;
    ++ended;
  };
  lot::wake_up_to(2, &object, kind::others, before);
  EXPECT_EQ(ended, 2U);
  EXPECT_EQ(nodes_[0].reason(), wake_reason::retry);
  EXPECT_EQ(nodes_[2].reason(), wake_reason::none);
  lot::wake_up_to(UINT32_MAX, &object, kind::others, before);
  EXPECT_EQ(ended, all);
  EXPECT_TRUE(was_last);
  lot::wake_up_to(UINT32_MAX, &object, kind::others, before);
  EXPECT_EQ(ended, all);
}

}  // namespace
}  // namespace lockyard::testing
