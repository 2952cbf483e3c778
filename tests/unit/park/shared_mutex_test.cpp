// SPDX-License-Identifier: Apache-2.0
#include <lockyard/concepts.hpp>
#include <lockyard/detail/shared_word.hpp>
#include <lockyard/park/shared_mutex.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <shared_mutex>

#include "support/worlds.hpp"

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;

static_assert(shared_timed_lockable<shared_mutex>);

/// The clock stands still but where the test moves it, and no spin lasts.
struct still_world : scripted_world {
  using unwatched = still_world;
  static inline time_point moment{};

  static time_point now() noexcept { return moment; }
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept { return {}; }
};

class SharedMutex : public ::testing::Test {
 protected:
  void SetUp() override {
    scripted_world::now_playing = {};
    still_world::moment += std::chrono::hours{1};
  }
  static script& played() { return scripted_world::now_playing; }

  bool admits_readers() {
    const bool admitted = lock_.try_lock_shared();
    if (admitted) lock_.unlock_shared();
    return admitted;
  }
  bool admits_writers() {
    const bool admitted = lock_.try_lock();
    if (admitted) lock_.unlock();
    return admitted;
  }
  bool admits_upgraders() {
    const bool admitted = lock_.try_lock_upgrade();
    if (admitted) lock_.unlock_upgrade();
    return admitted;
  }

  basic_shared_mutex<still_world> lock_;
};

TEST_F(SharedMutex, is_held_by_the_standard_guards) {
  {
    const std::shared_lock one{lock_};
    const std::shared_lock other{lock_, std::chrono::milliseconds{1}};
    EXPECT_TRUE(one.owns_lock() && other.owns_lock());
    EXPECT_FALSE(admits_writers());
  }
  const std::unique_lock alone{lock_, std::chrono::milliseconds{1}};
  EXPECT_TRUE(alone.owns_lock());
  EXPECT_FALSE(admits_readers());
}

TEST_F(SharedMutex, admits_one_upgrader_beside_readers) {
  lock_.lock_upgrade();
  EXPECT_TRUE(admits_readers());
  EXPECT_FALSE(admits_upgraders());
  EXPECT_FALSE(admits_writers());
  lock_.unlock_upgrade_and_lock_shared();
  EXPECT_TRUE(admits_upgraders());
  EXPECT_FALSE(admits_writers());
  lock_.unlock_shared();
  EXPECT_TRUE(admits_writers());
}

TEST_F(SharedMutex, goes_from_upgrader_to_writer_and_down_again) {
  lock_.lock_upgrade();
  lock_.unlock_upgrade_and_lock();
  EXPECT_FALSE(admits_readers());
  lock_.unlock_and_lock_upgrade();
  EXPECT_TRUE(admits_readers());
  EXPECT_FALSE(admits_upgraders());
  lock_.unlock_upgrade_and_lock();
  lock_.unlock_and_lock_shared();
  EXPECT_TRUE(admits_upgraders());
  EXPECT_FALSE(admits_writers());
  lock_.unlock_shared();
  EXPECT_TRUE(admits_writers());
}

TEST_F(SharedMutex, makes_no_system_call_while_nobody_sleeps) {
  lock_.lock_shared();
  lock_.unlock_shared();
  lock_.lock();
  lock_.unlock_and_lock_shared();
  lock_.unlock_shared();
  EXPECT_EQ(played().waits + played().wakes, 0);
}

TEST_F(SharedMutex, keeps_new_readers_out_while_a_writer_sleeps_and_hands_it_the_lock) {
  lock_.lock_shared();
  played().on_wait = [this] {
    if (played().waits != 1) return;
    EXPECT_FALSE(admits_readers());
    lock_.unlock_shared();
    EXPECT_FALSE(admits_writers()) << "it is handed over, not free";
  };
  lock_.lock();
  EXPECT_EQ(played().waits, 1);
  lock_.unlock();
  EXPECT_TRUE(admits_writers());
}

/// Every spin lasts until what it waits for.
struct spinning_world : still_world {
  using unwatched = spinning_world;
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept {
    return native::deadline_after(std::chrono::hours{1});
  }
};

TEST_F(SharedMutex, lets_readers_spin_behind_a_writer_at_work_but_not_behind_one_that_sleeps) {
  basic_shared_mutex<spinning_world> lock;
  lock.lock();
  played().on_wait = [&] {
    if (played().pauses == 1) lock.unlock();
  };
  lock.lock_shared();
  EXPECT_EQ(played().pauses, 1);
  EXPECT_EQ(played().waits, 0);
  // This reader stays, a writer enqueues behind it, and a second reader comes.
  bool has_come = false;
  bool has_left = false;
  played().on_wait = [&] {
    if (!has_come) {
      has_come = true;
      lock.lock_shared();
      EXPECT_EQ(played().pauses, 2) << "the writer's one, before it fell asleep";
      EXPECT_EQ(played().waits, 1);
      lock.unlock_shared();
    } else if (!has_left) {
      has_left = true;
      lock.unlock_shared();  // hands the lock to the writer
      lock.unlock();         // lets the second reader in
    }
  };
  lock.lock();
  EXPECT_TRUE(lock.try_lock()) << "all have left";
  lock.unlock();
}

TEST_F(SharedMutex, lets_readers_in_when_a_writer_leaves) {
  lock_.lock();
  played().on_wait = [this] {
    if (played().waits == 1) lock_.unlock();
  };
  lock_.lock_shared();
  EXPECT_EQ(played().wakes, 1);
  EXPECT_FALSE(admits_writers());
  EXPECT_TRUE(admits_readers());
  lock_.unlock_shared();
  EXPECT_TRUE(admits_writers());
}

TEST_F(SharedMutex, lets_readers_in_at_a_downgrade) {
  lock_.lock();
  played().on_wait = [this] {
    if (played().waits == 1) lock_.unlock_and_lock_shared();
  };
  lock_.lock_shared();
  EXPECT_EQ(played().wakes, 1);
  lock_.unlock_shared();
  EXPECT_FALSE(admits_writers());
  lock_.unlock_shared();
  EXPECT_TRUE(admits_writers());
}

TEST_F(SharedMutex, upgrades_when_the_last_reader_leaves) {
  lock_.lock_shared();
  lock_.lock_upgrade();
  played().on_wait = [this] {
    if (played().waits != 1) return;
    EXPECT_FALSE(admits_readers());
    lock_.unlock_shared();
  };
  lock_.unlock_upgrade_and_lock();
  EXPECT_EQ(played().waits, 1);
  lock_.unlock();
  EXPECT_TRUE(admits_writers());
}

TEST_F(SharedMutex, opens_again_when_a_writer_gives_up) {
  lock_.lock_shared();
  played().deadlines_pass = true;
  EXPECT_FALSE(lock_.try_lock_for(std::chrono::milliseconds{1}));
  EXPECT_TRUE(admits_readers());
  lock_.unlock_shared();
  EXPECT_TRUE(admits_writers());
  EXPECT_EQ(played().wakes, 0);
}

TEST_F(SharedMutex, forgets_a_reader_that_gave_up) {
  lock_.lock();
  played().deadlines_pass = true;
  EXPECT_FALSE(lock_.try_lock_shared_for(std::chrono::milliseconds{1}));
  lock_.unlock();
  EXPECT_EQ(played().wakes, 0);
  EXPECT_TRUE(admits_writers());
}

TEST_F(SharedMutex, lets_a_newcomer_overtake_a_writer_until_it_is_time_to_hand_over) {
  lock_.lock();
  int taken = 0;
  int sleeps = 0;
  still_world::moment += std::chrono::hours{1};
  played().on_wait = [&] {
    if (played().waits == sleeps) return;
    ++sleeps;
    if (sleeps == 1) {
      // The bucket is due: this spends it without effect, since the first sleeper is about to get
      // it.
      lock_.unlock();
    }
  };
  lock_.lock();
  EXPECT_EQ(played().waits, 1) << "handed over";
  played().on_wait = [&] {
    if (played().waits == sleeps) return;
    ++sleeps;
    if (sleeps == 3) still_world::moment += lock_.patience * 2;
    lock_.unlock();
    if (lock_.try_lock()) ++taken;
  };
  lock_.lock();
  EXPECT_EQ(taken, 1) << "the newcomer gets in at the first unlock, and not at the second";
  lock_.unlock();
  EXPECT_TRUE(admits_writers());
}

// The thread that gets the lock next.

/// Admits readers one at a time, and calls `after_wake` between them.
struct one_by_one_world : still_world {
  using unwatched = one_by_one_world;
  static constexpr std::uint32_t wake_batch = 1;
  static inline std::function<void()> after_wake;

  static void wake_each(const void* const* words, std::uint32_t count) noexcept {
    scripted_world::wake_each(words, count);
    if (after_wake) after_wake();
  }
};

TEST_F(SharedMutex, admits_by_one_unlock_as_many_readers_as_slept_when_it_began) {
  using lot = lockyard::detail::parking_lot<one_by_one_world>;
  basic_shared_mutex<one_by_one_world> lock;
  std::list<lot::node> readers;
  const auto reader_falls_asleep = [&] {
    lot::node& reader = readers.emplace_back(&lock, lockyard::detail::waiter_kind::shared,
                                             still_world::moment - 1min);
    reader.prepare_to_sleep();
    auto& home = lot::bucket_of(&lock);
    home.bucket_lock().lock();
    home.link(reader);
    home.bucket_lock().unlock();
  };
  const auto admitted = [&] {
    return std::ranges::count_if(
        readers, [](const lot::node& each) { return each.reason() != lot::wake_reason::none; });
  };
  lock.lock();
  played().on_wait = [&] {
    if (played().waits != 1) return;  // the writer does not sleep yet
    for (int i = 0; i < 3; ++i) reader_falls_asleep();
    one_by_one_world::after_wake = [&] {
      if (readers.size() < 20) reader_falls_asleep();  // as one does that comes back
    };
    lock.unlock();
    one_by_one_world::after_wake = {};
    EXPECT_EQ(admitted(), 3);
    for (int i = 0; i < 3; ++i) lock.unlock_shared();
  };
  lock.lock();
  EXPECT_EQ(played().waits, 1);
  lock.unlock();
  EXPECT_EQ(admitted(), 6) << "the ones that came back";
}

using word = lockyard::detail::shared_word;
using request = word::request;
constexpr std::uint32_t most = 3;  ///< readers at once

word::line line_of(std::initializer_list<request> asleep) {
  word::line made;
  for (const request each : asleep) ++made.counts[word::index_of(each)];
  return made;
}

TEST(SharedWord, lets_all_readers_and_one_upgrader_in_after_a_writer) {
  const auto line =
      line_of({request::write, request::read, request::upgrade, request::read, request::upgrade});
  const auto chosen = word::choose(line, 0, true, false, most);
  EXPECT_EQ(word::granted(line, chosen, 0),
            2 * word::reader + word::upgradable + word::closed + word::parked);
}

TEST(SharedWord, lets_readers_in_by_batches) {
  word::line line;
  line.counts[word::index_of(request::read)] = most + 1;
  const auto chosen = word::choose(line, 0, true, false, most);
  EXPECT_EQ(chosen.readers, most);
  EXPECT_EQ(word::granted(line, chosen, 0), most * word::reader + word::parked)
      << "one reader is left asleep";
}

TEST(SharedWord, gives_a_due_writer_the_lock_in_place_of_readers) {
  const auto line = line_of({request::write, request::read});
  const auto chosen = word::choose(line, 0, true, true, most);
  EXPECT_EQ(word::granted(line, chosen, 0), word::written + word::parked);
}

TEST(SharedWord, gives_a_writer_the_lock_after_the_last_reader_and_not_before) {
  const auto line = line_of({request::read, request::write});
  EXPECT_FALSE(word::choose(line, word::reader, false, false, most).first_of);
  const auto chosen = word::choose(line, 0, false, false, most);
  EXPECT_EQ(word::granted(line, chosen, 0), word::written + word::parked);
}

TEST(SharedWord, prefers_the_upgrader_to_writers_while_it_holds_the_lock) {
  const auto line = line_of({request::write, request::write_on});
  const auto chosen = word::choose(line, word::upgradable, false, false, most);
  EXPECT_EQ(word::granted(line, chosen, word::upgradable),
            word::written + word::closed + word::parked);
}

TEST(SharedWord, lets_those_in_who_slept_for_a_writer_that_gave_up) {
  const auto line = line_of({request::read, request::read});
  const auto chosen = word::choose(line, word::reader, false, false, most);
  EXPECT_EQ(word::granted(line, chosen, word::reader + word::closed + word::parked),
            3 * word::reader);
}

}  // namespace
}  // namespace lockyard::testing
