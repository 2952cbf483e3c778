// SPDX-License-Identifier: Apache-2.0

// Objects of all kinds that park threads are destroyed and made at a few addresses of one bucket,
// while threads are still within their last calls on the objects before. LOCKYARD_STRESS_SECONDS
// sets the length of each test.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "stress/contention.hpp"
#include "stress/interruption.hpp"
#include "stress/reusable_objects.hpp"

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;

/// Threads that take turns as the creator of an object at one address. The waiter that leaves the
/// object last destroys it and becomes the next creator.
class team {
 public:
  struct shape {
    unsigned threads;
    unsigned fewest_waiters;
    interruption::bounds stops;
    std::vector<std::size_t> kinds;  ///< to draw from
  };

  team(place& at, lasting_objects with, shape of, std::uint64_t seed, const std::atomic<bool>& ends)
      : at_{at}, ends_{ends}, of_{std::move(of)}, now_{.with = with} {
    for (unsigned i = 0; i < of_.threads; ++i) {
      threads_.emplace_back([this, i, seed] { work(i == 0, numbers_from(seed + i)); });
    }
  }

  [[nodiscard]] bool is_over() const { return working_ == 0; }
  [[nodiscard]] bool has_early_return() const { return now_.has_early_return; }
  [[nodiscard]] unsigned objects() const { return objects_; }
  [[nodiscard]] std::string state() const {
    return std::to_string(now_.inside) + " of " + std::to_string(now_.waiters) +
           " threads have not left the object (" + std::string{kinds.at(kind_).name} +
           ") at the address of a destroyed one (" + std::string{kinds.at(previous_kind_).name} +
           ")";
  }

 private:
  /// Calls `does` with the type of the object.
  template <class Does>
  auto with_type(Does does) const {
    return with_type(does, all_kinds{});
  }
  template <class Does, std::size_t First, std::size_t... Others>
  auto with_type(Does does, std::index_sequence<First, Others...> /*kinds*/) const {
    using object = std::tuple_element_t<First, reusable_objects>;
    if constexpr (sizeof...(Others) == 0) {
      return does(std::type_identity<object>{});
    } else {
      return kind_ == First ? does(std::type_identity<object>{})
                            : with_type(does, std::index_sequence<Others...>{});
    }
  }

  void work(bool begins, random_numbers random) {
    interruption interrupts{random, of_.stops};
    if (begins) make_next(random, interrupts);
    while (const auto seat = next_seat()) {
      const waiter self{now_, random, interrupts, *seat == 0};
      const bool is_last = with_type(
          [&]<class Object>(std::type_identity<Object>) { return at_.as<Object>().wait(self); });
      if (!is_last) continue;
      // The creator and other waiters may still be within their last calls.
      with_type([&]<class Object>(std::type_identity<Object>) { end_life(at_.as<Object>()); });
      make_next(random, interrupts);
    }
    --working_;
  }

  template <class Object>
  void end_life(Object& object) {
    while (kinds.at(kind_).outlives_calls && ending_.at(kind_) != 0) native::yield();
    object.~Object();
    ++objects_;
  }

  /// Waits until an object lacks a waiter; returns the number of the waiter, or nothing when there
  /// will be no further object.
  std::optional<unsigned> next_seat() {
    std::unique_lock held{rules_};
    changes_.wait(held, [&] { return is_last_ || seats_ > 0; });
    if (is_last_) return std::nullopt;
    if (--seats_ == 0) changes_.notify_all();
    return now_.waiters - 1 - seats_;
  }

  void make_next(random_numbers& random, interruption& interrupts) {
    if (ends_) {
      const std::scoped_lock held{rules_};
      is_last_ = true;
      changes_.notify_all();
      return;
    }
    draw(random);
    with_type([&]<class Object>(std::type_identity<Object>) {
      auto& object = at_.make<Object>(now_.with);
      let_threads_wait(random);
      if constexpr (requires { object.is_ready(now_); }) {
        while (!object.is_ready(now_)) native::yield();
      }
      if (random() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds{random() % 300});
      now_.may_return = true;
      auto& ending = ending_.at(kind_);
      interrupts.within([&] { object.end(now_); });
      --ending;
    });
  }

  void draw(random_numbers& random) {
    previous_kind_ = kind_.load();
    do {
      kind_ = of_.kinds.at(random() % of_.kinds.size());
    } while (kinds.at(kind_).may_end_later_waits && ending_.at(kind_) != 0);
    // Creators of earlier objects may be long in coming back.
    unsigned free = of_.threads - 1;
    for (const auto& each : ending_) free -= std::min(free, each.load());
    const unsigned fewest = std::min(of_.fewest_waiters, std::max(free, 1U));
    now_.waiters = fewest + static_cast<unsigned>(random() % (std::max(free, fewest) - fewest + 1));
    now_.waiting = 0;
    now_.inside = now_.waiters.load();
    now_.may_return = false;
    ++ending_.at(kind_);
  }

  void let_threads_wait(random_numbers& random) {
    std::unique_lock held{rules_};
    seats_ = now_.waiters;
    changes_.notify_all();
    if (random() % 2 == 0) changes_.wait(held, [&] { return seats_ == 0; });
  }

  place& at_;
  const std::atomic<bool>& ends_;
  const shape of_;
  life now_;
  std::atomic<std::size_t> kind_{0};
  std::atomic<std::size_t> previous_kind_{0};
  /// How many creators are within their last calls, for each kind.
  std::array<std::atomic<unsigned>, kinds.size()> ending_{};
  std::atomic<unsigned> objects_{0};

  std::mutex rules_;
  std::condition_variable changes_;
  unsigned seats_ = 0;
  bool is_last_ = false;
  std::atomic<unsigned> working_{of_.threads};
  std::vector<std::jthread> threads_;
};

std::vector<std::size_t> every_kind() {
  std::vector<std::size_t> all(kinds.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Two mutexes of the bucket with a sleeper each now and then, so that the summary of the bucket
/// changes often between no sleepers, sleepers of one mutex, and sleepers of several.
class neighbours {
 public:
  neighbours(crowded_places& places, std::uint64_t seed, const std::atomic<bool>& ends) {
    for (unsigned i = 0; i < 2; ++i) {
      auto& lock = places.next().make<mutex>();
      lock.lock();
      threads_.emplace_back([&lock, &ends, random = numbers_from(seed + i)]() mutable {
        while (!ends) {
          EXPECT_FALSE(lock.try_lock_for(std::chrono::microseconds{random() % 500}));
          std::this_thread::sleep_for(std::chrono::microseconds{random() % 500});
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

std::chrono::seconds duration() {
  const char* const chosen = std::getenv("LOCKYARD_STRESS_SECONDS");
  return std::chrono::seconds{chosen == nullptr ? 3 : std::stoi(chosen)};
}

/// Ends the process, because the threads of the team may never end.
[[noreturn]] void fail(const team& of, const char* what) {
  std::printf("%s: %s; LOCKYARD_SEED=%llu\n", what, of.state().c_str(),
              static_cast<unsigned long long>(seed()));
  std::fflush(stdout);
  std::abort();
}

void stress(const std::vector<team::shape>& shapes) {
  std::printf("LOCKYARD_SEED=%llu\n", static_cast<unsigned long long>(seed()));
  std::atomic<bool> ends{false};
  crowded_places places;
  const lasting_objects with{places.next().make<mutex>(), places.next().make<byte_mutex>()};
  neighbours others{places, seed(), ends};
  preemptor preempts{seed(), ends};
  std::vector<std::unique_ptr<team>> teams;
  for (const auto& shape : shapes) {
    teams.push_back(std::make_unique<team>(places.next(), with, shape,
                                           seed() + 100 * (teams.size() + 1), ends));
  }
  const auto until = native::now() + duration();
  std::vector<unsigned> objects(teams.size());
  std::vector<native::time_point> changed(teams.size(), native::now());
  while (!std::ranges::all_of(teams, [](const auto& each) { return each->is_over(); })) {
    std::this_thread::sleep_for(10ms);
    const auto now = native::now();
    if (now >= until) ends = true;
    for (std::size_t i = 0; i < teams.size(); ++i) {
      const team& each = *teams[i];
      if (each.has_early_return()) fail(each, "a wait returned before it was ended");
      if (std::exchange(objects[i], each.objects()) != each.objects() || each.is_over()) {
        changed[i] = now;
      }
      if (now - changed[i] > 60s) fail(each, "a team has made no progress for a minute");
    }
  }
  for (std::size_t i = 0; i < teams.size(); ++i) {
    std::printf("%u objects, of teams of %u threads\n", objects[i], shapes[i].threads);
    EXPECT_GT(objects[i], 0U);
  }
}

TEST(ReusedAddress, gives_no_object_the_wakeups_of_the_one_before) {
  // After its release the unlock of a mutex looks for sleepers by the address alone.
  auto often_mutexes = every_kind();
  for (unsigned i = 0; i < 4; ++i) {
    often_mutexes.insert(often_mutexes.end(), {kind::mutex, kind::fenced_mutex});
  }
  const interruption::bounds stops{.nap = 600us, .timer = 4us, .steps_in_8 = 6};
  stress({{.threads = 3, .fewest_waiters = 1, .stops = stops, .kinds = often_mutexes},
          {.threads = 3, .fewest_waiters = 1, .stops = stops, .kinds = often_mutexes},
          {.threads = 4, .fewest_waiters = 1, .stops = stops, .kinds = every_kind()}});
}

TEST(ReusedAddress, is_left_alone_by_a_release_of_more_than_a_batch) {
  const std::vector<std::size_t> released_together{
      kind::mutex,     kind::byte_mutex,    kind::readers,      kind::readers,
      kind::semaphore, kind::semaphore,     kind::event_count,  kind::condition,
      kind::condition, kind::condition_any, kind::condition_any};
  const interruption::bounds stops{.nap = 2ms, .timer = 200us, .steps_in_8 = 1};
  const team::shape many{
      .threads = 20, .fewest_waiters = 16, .stops = stops, .kinds = released_together};
  stress({many, many});
}

}  // namespace
}  // namespace lockyard::testing
