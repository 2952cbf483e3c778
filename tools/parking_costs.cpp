// SPDX-License-Identifier: Apache-2.0

// Measures one block: what a lock that sleeps in the parking lot, or the standard library's, does
// with long queues, shared buckets, or descheduled notifiers. Prints one number, or two for
// held_up, and ends. parking_costs.py runs blocks in turn and compares them.
//
//   parking-costs BLOCK THREADS

#include <lockyard/park/adaptive_mutex.hpp>
#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/pi_mutex.hpp>
#include <lockyard/park/shared_mutex.hpp>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

/// Threads with small stacks, which end with the process.
void start(std::function<void()> body, int fifo_priority = 0) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{64} << 10U);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (fifo_priority > 0) {
    const sched_param parameter{.sched_priority = fifo_priority};
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameter);
  }
  auto* const given = new std::function<void()>{std::move(body)};
  pthread_t thread;
  const int error = pthread_create(
      &thread, &attributes,
      [](void* of) -> void* {
        (*static_cast<std::function<void()>*>(of))();
        return nullptr;
      },
      given);
  if (error != 0) {
    errno = error;
    fail("a thread cannot be created");
  }
}

void work(std::chrono::nanoseconds length) {
  const auto end = clock_type::now() + length;
  while (clock_type::now() < end) {
  }
}

// Long queues

struct counted {
  alignas(128) std::atomic<std::uint64_t> done{0};
};

/// What `threads` threads do in 0.3 s, once `is_ready`.
double rate_of(std::vector<counted>& counters, const std::function<bool()>& is_ready) {
  while (!is_ready()) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(100ms);
  const auto total = [&] {
    std::uint64_t sum = 0;
    for (const counted& each : counters) sum += each.done.load(std::memory_order_relaxed);
    return sum;
  };
  const auto begin = clock_type::now();
  const std::uint64_t before = total();
  std::this_thread::sleep_for(300ms);
  const std::uint64_t after = total();
  const std::chrono::duration<double> took = clock_type::now() - begin;
  return static_cast<double>(after - before) / took.count();
}

/// All threads want the lock all the time.
template <class Lock>
double contended(int threads) {
  auto* const lock = new Lock;
  auto* const counters = new std::vector<counted>(static_cast<std::size_t>(threads));
  auto* const started = new std::atomic<int>{0};
  for (auto& each : *counters) {
    start([=, &each] {
      started->fetch_add(1);
      for (;;) {
        lock->lock();
        lock->unlock();
        each.done.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  return rate_of(*counters, [=] { return started->load() == threads; });
}

/// `waiters` wait for a condition; four threads contend for its mutex, and notify one each time or
/// never. Counted are their pairs.
template <class Mutex, class Condition>
double with_waiters(int waiters, bool notifies) {
  struct shared {
    Mutex mutex;
    Condition condition;
    long items = 0;
    std::atomic<int> waiting{0};
  };
  auto* const all = new shared;
  for (int i = 0; i < waiters; ++i) {
    start([=] {
      std::unique_lock lock{all->mutex};
      all->waiting.fetch_add(1);
      for (;;) {
        all->condition.wait(lock, [=] { return all->items > 0; });
        --all->items;
      }
    });
  }
  auto* const counters = new std::vector<counted>(4);
  while (all->waiting.load() != waiters) std::this_thread::sleep_for(1ms);
  for (auto& each : *counters) {
    start([=, &each] {
      for (;;) {
        {
          const std::lock_guard lock{all->mutex};
          if (notifies && all->items < waiters) {
            ++all->items;
            all->condition.notify_one();
          }
          work(1us);
        }
        each.done.fetch_add(1, std::memory_order_relaxed);
        work(1us);
      }
    });
  }
  return rate_of(*counters, [] { return true; });
}

/// How often in a second of processor time all of `waiters` can be notified together, after the
/// unlock; they wait for their turn of the mutex then.
template <class Mutex, class Condition>
double notified_together(int waiters) {
  struct shared {
    Mutex mutex;
    Condition condition;
    long round = 0;
    int arrived = 0;
  };
  auto* const all = new shared;
  for (int i = 0; i < waiters; ++i) {
    start([=] {
      std::unique_lock lock{all->mutex};
      for (long seen = 0;; seen = all->round) {
        ++all->arrived;
        all->condition.wait(lock, [=] { return all->round != seen; });
      }
    });
  }
  const auto await_all = [=] {
    for (bool is_complete = false; !is_complete; std::this_thread::sleep_for(200us)) {
      const std::lock_guard lock{all->mutex};
      is_complete = all->arrived == waiters;
    }
  };
  await_all();
  constexpr int rounds = 1000;
  const std::clock_t begin = std::clock();
  for (int i = 0; i < rounds; ++i) {
    {
      const std::lock_guard lock{all->mutex};
      all->arrived = 0;
      ++all->round;
    }
    all->condition.notify_all();
    await_all();
  }
  return rounds * double{CLOCKS_PER_SEC} / static_cast<double>(std::clock() - begin);
}

// Buckets

/// Room for locks in which places in one bucket can be found.
template <class Mutex>
class places {
 public:
  explicit places(std::size_t bytes) : bytes_{bytes} {
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) fail("mmap");
    begin_ = static_cast<std::byte*>(at);
  }
  /// The next place in or out of that one's bucket, in a cache line of its own.
  Mutex* next(const void* with, bool same_bucket) {
    for (;;) {
      taken_ += 128;
      if (taken_ >= bytes_) fail("no more places");
      auto* const at = ::new (begin_ + taken_) Mutex;
      if (share_bucket(*static_cast<const Mutex*>(with), *at) == same_bucket) return at;
    }
  }
  Mutex* first() { return ::new (begin_) Mutex; }

 private:
  std::size_t bytes_;
  std::size_t taken_ = 0;
  std::byte* begin_;
};

/// 64 locks that all threads use at random.
double hot_locks(int threads, bool same_bucket) {
  auto* const room = new places<lockyard::mutex>{std::size_t{64} << 20U};
  auto* const locks = new std::vector<lockyard::mutex*>{room->first()};
  while (locks->size() < 64) {
    // Apart: each in another bucket than all before, as far as the first tells.
    locks->push_back(room->next(locks->front(), same_bucket));
    const bool is_new =
        same_bucket ||
        std::ranges::none_of(locks->begin(), locks->end() - 1, [&](const lockyard::mutex* each) {
          return share_bucket(*each, *locks->back());
        });
    if (!is_new) locks->pop_back();
  }
  auto* const counters = new std::vector<counted>(static_cast<std::size_t>(threads));
  auto* const started = new std::atomic<int>{0};
  std::uint64_t seed = 1;
  for (auto& each : *counters) {
    start([=, &each, at = seed++ * 0x9E37'79B9'7F4A'7C15U]() mutable {
      started->fetch_add(1);
      for (;;) {
        at ^= at << 13U;
        at ^= at >> 7U;
        at ^= at << 17U;
        // Eight of them are hotter, so that there are always sleepers.
        lockyard::mutex& lock = *(*locks)[(at & 64U) != 0 ? at % 64 : at % 8];
        lock.lock();
        work(500ns);
        lock.unlock();
        each.done.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  return rate_of(*counters, [=] { return started->load() == threads; });
}

// Real-time threads that unlock a mutex of their own while others notify in its bucket

/// Its buckets have a lock that lends no priority.
struct lending_nothing : lockyard::native {
  using unwatched = lending_nothing;
  template <class Lock>
  using inner_lock = lockyard::basic_adaptive_mutex<lockyard::native>;
};
/// Its buckets have a lock for which all threads wait in the kernel's queue.
struct always_lending : lockyard::native {
  using unwatched = always_lending;
  template <class Lock>
  using inner_lock = lockyard::basic_pi_mutex<lockyard::native>;
};

struct held_up_times {
  double p999_us;
  double longest_us;
};

/// Two FIFO-20 threads pass a mutex back and forth; an ordinary thread notifies a condition in its
/// bucket, for which many wait; FIFO-10 threads take every processor away from it again and again.
/// `place(condition)` gives the mutex.
template <class Mutex, class Condition, class Place>
held_up_times held_up(Place place) {
  struct shared {
    Condition condition;
    std::mutex of_condition;
    std::atomic<long> epoch{0};
  };
  auto* const all = new shared;
  Mutex* const mutex = place(&all->condition);
  for (int i = 0; i < 300; ++i) {
    start([=] {
      std::unique_lock lock{all->of_condition};
      for (;;) all->condition.wait(lock);
    });
  }
  start([=] {
    for (;;) {
      all->condition.notify_all();
      all->epoch.fetch_add(1, std::memory_order_relaxed);
    }
  });
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 0; i < processors; ++i) {
    start(
        [] {
          for (;;) {
            work(20ms);
            std::this_thread::sleep_for(7ms);
          }
        },
        10);
  }
  auto* const times = new std::vector<double>[2];
  auto* const ends = new std::atomic<bool>{false};
  auto* const ended = new std::atomic<int>{0};
  for (int i = 0; i < 2; ++i) {
    start(
        [=] {
          while (!ends->load()) {
            mutex->lock();
            std::this_thread::sleep_for(300us);  // the other one sleeps for it by then
            const auto begin = clock_type::now();
            mutex->unlock();
            const std::chrono::duration<double, std::micro> took = clock_type::now() - begin;
            times[i].push_back(took.count());
            std::this_thread::sleep_for(100us);
          }
          ended->fetch_add(1);
        },
        20);
  }
  std::this_thread::sleep_for(4s);
  ends->store(true);
  while (ended->load() != 2) std::this_thread::sleep_for(1ms);
  std::vector<double> both = times[0];
  both.insert(both.end(), times[1].begin(), times[1].end());
  std::ranges::sort(both);
  return {both[both.size() * 999 / 1000], both.back()};
}

template <class W>
held_up_times in_one_bucket() {
  using mutex = lockyard::basic_mutex<W>;
  return held_up<mutex, lockyard::basic_condition_variable_any<W>>([](const void* condition) {
    return (new places<mutex>{std::size_t{64} << 20U})->next(condition, true);
  });
}

// Blocks

using mutex_adaptive = lockyard::basic_mutex<lending_nothing>;
using mutex_pi = lockyard::basic_mutex<always_lending>;

template <class Mutex, class Condition, bool Notifies>
double waiters(int threads) {
  return with_waiters<Mutex, Condition>(threads, Notifies);
}
template <class W, bool Notifies>
constexpr auto our_waiters =
    &waiters<lockyard::basic_mutex<W>, lockyard::basic_condition_variable<W>, Notifies>;
template <bool Notifies>
constexpr auto std_waiters = &waiters<std::mutex, std::condition_variable, Notifies>;

struct rate_block {
  std::string_view name;
  double (*run)(int threads);
};
constexpr std::array rates{
    rate_block{"mutex", &contended<lockyard::mutex>},
    rate_block{"mutex_adaptive", &contended<mutex_adaptive>},
    rate_block{"mutex_pi", &contended<mutex_pi>},
    rate_block{"std_mutex", &contended<std::mutex>},
    rate_block{"byte_mutex", &contended<lockyard::byte_mutex>},
    rate_block{"byte_mutex_adaptive", &contended<lockyard::basic_byte_mutex<lending_nothing>>},
    rate_block{"byte_mutex_pi", &contended<lockyard::basic_byte_mutex<always_lending>>},
    rate_block{"shared_mutex", &contended<lockyard::shared_mutex>},
    rate_block{"std_shared_mutex", &contended<std::shared_mutex>},
    rate_block{"condition", our_waiters<lockyard::native, false>},
    rate_block{"std_condition", std_waiters<false>},
    rate_block{"notify", our_waiters<lockyard::native, true>},
    rate_block{"notify_adaptive", our_waiters<lending_nothing, true>},
    rate_block{"notify_pi", our_waiters<always_lending, true>},
    rate_block{"std_notify", std_waiters<true>},
    rate_block{"together", &notified_together<lockyard::mutex, lockyard::condition_variable>},
    rate_block{"std_together", &notified_together<std::mutex, std::condition_variable>},
    rate_block{"one_bucket", [](int threads) { return hot_locks(threads, true); }},
    rate_block{"many_buckets", [](int threads) { return hot_locks(threads, false); }},
};

struct held_up_block {
  std::string_view name;
  held_up_times (*run)();
};
constexpr std::array held_ups{
    held_up_block{"held_up", &in_one_bucket<lockyard::native>},
    held_up_block{"held_up_adaptive", &in_one_bucket<lending_nothing>},
    held_up_block{"held_up_pi", &in_one_bucket<always_lending>},
    held_up_block{"held_up_std",
                  [] {
                    return held_up<std::mutex, std::condition_variable_any>(
                        [](const void* /*condition*/) { return new std::mutex; });
                  }},
};

[[noreturn]] void end_with_usage() {
  std::fputs("usage: parking-costs BLOCK THREADS; the blocks are", stderr);
  for (const auto& each : rates) std::fprintf(stderr, " %s", each.name.data());
  for (const auto& each : held_ups) std::fprintf(stderr, " %s", each.name.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) end_with_usage();
  const std::string_view name = words[1], number = words[2];
  int threads = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), threads);
  if (error != std::errc{} || end != number.data() + number.size() || threads < 0 ||
      threads > 100'000) {
    end_with_usage();
  }
  alarm(30);  // some locks do not come to an end
  const auto is_wanted = [&](const auto& block) { return block.name == name; };
  if (const auto at = std::ranges::find_if(rates, is_wanted); at != rates.end()) {
    std::printf("%.0f\n", at->run(threads));
  } else if (const auto by = std::ranges::find_if(held_ups, is_wanted); by != held_ups.end()) {
    const held_up_times found = by->run();
    std::printf("%.1f %.1f\n", found.p999_us, found.longest_us);
  } else {
    end_with_usage();
  }
  std::fflush(stdout);
  std::_Exit(0);  // the threads run on
}
