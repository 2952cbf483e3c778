// SPDX-License-Identifier: Apache-2.0

// The ends of things while locks are used: of the lock, of threads, and of all threads but one in a
// forked child.

#include <lockyard/park/mutex.hpp>
#include <lockyard/world/native.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

/// Two threads use a lock that the last of them destroys at once, while the one before may still be
/// returning from its unlock. AddressSanitizer sees an unlock that comes back to the lock.
void hand_out_and_destroy(std::unique_ptr<some_lock> (*make)(), int rounds) {
  struct shared {
    std::unique_ptr<some_lock> lock;
    int users = 2;
  };
  const auto leave = [](shared* object) {
    object->lock->lock();
    const bool last = --object->users == 0;
    object->lock->unlock();
    if (last) delete object;
  };
  std::vector<std::atomic<shared*>> handed(static_cast<std::size_t>(rounds));
  std::thread partner{[&] {
    for (auto& slot : handed) {
      shared* object = nullptr;
      while ((object = slot.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
      leave(object);
    }
  }};
  for (auto& slot : handed) {
    auto* const object = new shared{make()};
    slot.store(object, std::memory_order_release);
    leave(object);
  }
  partner.join();
}

TEST_P(EveryLock, may_be_destroyed_by_the_next_owner) {
  hand_out_and_destroy(GetParam().make, 2000);
}

/// The real machine, where who has released a lock of one word tarries: time enough for the next
/// owner to destroy it.
struct tarrying : native {
  using unwatched = native;
  template <class T>
  class atomic : public std::atomic<T> {
   public:
    using std::atomic<T>::atomic;
    void store(T value, std::memory_order order) noexcept {
      std::atomic<T>::store(value, order);
      for (int i = 0; i < 8; ++i) yield();
    }
  };
};

TEST(DestructionCheck, lets_a_mutex_pass_that_does_not_look_back) {
  const auto rounds = static_cast<int>(scaled(300'000));
  hand_out_and_destroy(subject_of<basic_mutex<tarrying>>({}).make, rounds);
}

#if defined(__SANITIZE_ADDRESS__)
/// Reads itself after its release.
class looking_back : public basic_mutex<tarrying> {
 public:
  void unlock() noexcept {
    basic_mutex::unlock();
    static_cast<void>(is_there_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<bool> is_there_{true};
};

TEST(DestructionCheckDeathTest, catches_a_mutex_whose_unlock_looks_back) {
  EXPECT_DEATH(hand_out_and_destroy(subject_of<looking_back>({}).make, 1'000'000),
               "heap-use-after-free");
}
#endif

/// Uses a lock again when its thread ends.
struct last_words {
  some_lock* lock = nullptr;
  std::uint64_t* said = nullptr;
  std::atomic<unsigned>* with_slot = nullptr;

  constexpr last_words() = default;
  ~last_words() {
    if (lock == nullptr) return;
    if (native::thread_slot() != no_slot) ++*with_slot;
    for (int i = 0; i < 50; ++i) {
      lock->lock();
      ++*said;
      lock->unlock();
    }
  }
};
thread_local last_words at_end;

TEST_P(EveryLock, serves_threads_whose_own_state_is_gone) {
  constexpr int threads = 6;
  std::uint64_t said = 0;
  std::atomic<unsigned> with_slot{0};
  std::barrier all_have_used_it{threads};
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      // Constructed before the thread has a slot, so destroyed after that is gone.
      at_end.lock = &lock();
      at_end.said = &said;
      at_end.with_slot = &with_slot;
      native::thread_slot();
      lock().lock();
      lock().unlock();
      all_have_used_it.arrive_and_wait();
    });
  }
  for (auto& thread : team) thread.join();
  EXPECT_EQ(said, threads * 50U);
  EXPECT_EQ(with_slot, 0U);
}

/// What a forked child makes of it.
template <class Work>
bool child_succeeds(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // one that hangs does not outlive its test
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

TEST_P(EveryLock, serves_the_threads_of_a_forked_child) {
  EXPECT_TRUE(contention(lock(), {.rounds = scaled(1000)}).kept_its_word());
  EXPECT_TRUE(child_succeeds(
      [this] { return bool{contention(lock(), {.rounds = scaled(1000)}).kept_its_word()}; }));
}

/// The kernel knows the owner by its thread's id, which is another one in a child.
bool is_owned_by_id(const lock_traits& traits) {
  return traits.name == "pi_mutex" || traits.name == "kernel_mutex" ||
         traits.name == "shared_memory_mutex";
}

class LockHeldAtFork : public Stress {};
INSTANTIATE_TEST_SUITE_P(Ends, LockHeldAtFork,
                         ::testing::ValuesIn(sound_subjects([](const lock_traits& traits) {
                           return !is_owned_by_id(traits);
                         })),
                         name_of);

TEST_P(LockHeldAtFork, belongs_to_the_child_too) {
  lock().lock();
  EXPECT_TRUE(child_succeeds([this] {
    lock().unlock();
    return bool{contention(lock(), {.rounds = scaled(1000)}).kept_its_word()};
  }));
  lock().unlock();
  EXPECT_TRUE(contention(lock(), {.rounds = scaled(1000)}).kept_its_word());
}

/// In the lock's own memory there is no line that a child would inherit.
bool has_no_line(const lock_traits& traits) {
  return traits.fairness != fairness::fifo && traits.family != lock_family::queue &&
         !traits.name.starts_with("fair_mutex") && !traits.name.starts_with("resilient") &&
         !is_owned_by_id(traits);
}

class LockWithoutLine : public Stress {};
INSTANTIATE_TEST_SUITE_P(Ends, LockWithoutLine, ::testing::ValuesIn(sound_subjects(has_no_line)),
                         name_of);

/// The locks of a sanitizer or an emulator may be held by threads that the child has not.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(LOCKYARD_EMULATED)
constexpr bool child_may_have_threads = false;
#else
constexpr bool child_may_have_threads = true;
#endif

/// Dead waiters hold up no other thread.
TEST_P(LockWithoutLine, forgets_in_the_child_who_waited) {
  lock().lock();
  contention team{lock(), {.rounds = 50}};
  std::this_thread::sleep_for(std::chrono::milliseconds{1});  // most of them sleep by then
  for (int fork = 0; fork < 5; ++fork) {
    EXPECT_TRUE(child_succeeds([this] {
      for (int i = 0; i < 3; ++i) {
        lock().unlock();
        lock().lock();
      }
      lock().unlock();
      if (!child_may_have_threads) return lock().try_lock();
      contention own{lock(), {.rounds = 20, .sleep = std::chrono::microseconds{50}}};
      return bool{own.kept_its_word()};
    }));
  }
  lock().unlock();
  EXPECT_TRUE(team.kept_its_word());
}

}  // namespace
}  // namespace lockyard::testing
