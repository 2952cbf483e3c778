// SPDX-License-Identifier: Apache-2.0

// What long queues, shared buckets, and descheduled notifiers cost locks that sleep in the parking
// lot, together with the standard library's. Figures for docs/decisions/0025.
//
//   cmake --preset bench && cmake --build --preset bench --target parking-costs
//   build/bench/tools/parking-costs queues [THREADS...]
//   build/bench/tools/parking-costs sharing [THREADS...]
//   build/bench/tools/parking-costs guards [THREADS...]
//   build/bench/tools/parking-costs held-up          (as root: it needs real-time priorities)
//
// Each block is a process of its own; blocks of what is compared alternate. Printed are medians,
// and the median of the ratios of neighbours with a 95 % interval by the sign test.

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
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

// Blocks

using block = std::function<double()>;

/// In a process of its own, which is killed if it hangs.
double run_apart(const block& body) {
  int ends[2];
  if (pipe(ends) != 0) fail("pipe");
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    alarm(30);
    const double result = body();
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  close(ends[1]);
  double result = 0;
  const bool is_whole = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!is_whole || status != 0) {
    std::printf("  a block failed or took over 30 s (status %#x); it counts as 0\n", status);
    std::fflush(stdout);
    return 0;
  }
  return result;
}

double median(std::vector<double> of) {
  std::ranges::sort(of);
  const std::size_t half = of.size() / 2;
  return of.size() % 2 != 0 ? of[half] : (of[half - 1] + of[half]) / 2;
}

struct interval {
  double low;
  double high;
};

/// The narrowest pair of order statistics that encloses the median with 95 %.
interval around_median(std::vector<double> of) {
  std::ranges::sort(of);
  const auto count = static_cast<double>(of.size());
  double outside = 0;
  std::size_t rank = 0;
  for (double mass = std::pow(0.5, count); rank < of.size() / 2; ++rank) {
    outside += 2 * mass;
    if (outside > 0.05) break;
    mass *= (count - static_cast<double>(rank)) / static_cast<double>(rank + 1);
  }
  const std::size_t from = rank > 0 ? rank - 1 : 0;
  return {of[from], of[of.size() - 1 - from]};
}

constexpr int block_count = 11;

/// Prints the two medians and the ratio.
void compare(const std::string& what, const block& ours, const block& theirs) {
  std::vector<double> one, other, ratios;
  for (int i = 0; i < block_count; ++i) {
    // Which comes first alternates too.
    if (i % 2 == 0) one.push_back(run_apart(ours));
    other.push_back(run_apart(theirs));
    if (i % 2 != 0) one.push_back(run_apart(ours));
    ratios.push_back(one.back() / other.back());
  }
  const interval about = around_median(ratios);
  std::printf("%-44s %12.0f %12.0f   %6.2f [%.2f, %.2f]\n", what.c_str(), median(one),
              median(other), median(ratios), about.low, about.high);
  std::fflush(stdout);
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

void queues(const std::vector<int>& sizes) {
  std::printf("%-44s %12s %12s   %s\n", "pairs/s", "ours", "std", "ours/std [95 %]");
  for (const int n : sizes) {
    const std::string count = std::to_string(n);
    for (const bool notifies : {false, true}) {
      if (notifies && n == 0) continue;
      compare(
          count + " on a condition, 4 contend" + (notifies ? " and notify" : ""),
          [=] { return with_waiters<lockyard::mutex, lockyard::condition_variable>(n, notifies); },
          [=] { return with_waiters<std::mutex, std::condition_variable>(n, notifies); });
    }
    if (n == 0) continue;
    compare(
        count + " threads, mutex", [=] { return contended<lockyard::mutex>(n); },
        [=] { return contended<std::mutex>(n); });
    compare(
        count + " threads, byte_mutex", [=] { return contended<lockyard::byte_mutex>(n); },
        [=] { return contended<std::mutex>(n); });
    compare(
        count + " threads, shared_mutex exclusive",
        [=] { return contended<lockyard::shared_mutex>(n); },
        [=] { return contended<std::shared_mutex>(n); });
  }
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
      if (Mutex::shares_bucket(*static_cast<const Mutex*>(with), *at) == same_bucket) return at;
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
          return lockyard::mutex::shares_bucket(*each, *locks->back());
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

void sharing(const std::vector<int>& sizes) {
  std::printf("%-44s %12s %12s   %s\n", "pairs/s", "one bucket", "64 buckets", "ratio [95 %]");
  for (const int n : sizes) {
    compare(
        "64 mutexes, " + std::to_string(n) + " threads", [=] { return hot_locks(n, true); },
        [=] { return hot_locks(n, false); });
  }
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

template <class W>
void compare_guards(const std::string& count, const char* guard, int n) {
  compare(
      count + " threads, mutex, " + guard, [=] { return contended<lockyard::mutex>(n); },
      [=] { return contended<lockyard::basic_mutex<W>>(n); });
  compare(
      count + " threads, byte_mutex, " + guard, [=] { return contended<lockyard::byte_mutex>(n); },
      [=] { return contended<lockyard::basic_byte_mutex<W>>(n); });
  compare(
      count + " on a condition, 4 notify, " + guard,
      [=] { return with_waiters<lockyard::mutex, lockyard::condition_variable>(n, true); },
      [=] {
        return with_waiters<lockyard::basic_mutex<W>, lockyard::basic_condition_variable<W>>(n,
                                                                                             true);
      });
}

/// What the bucket lock as shipped costs threads that need no priority.
void guards(const std::vector<int>& sizes) {
  std::printf("%-44s %12s %12s   %s\n", "pairs/s", "as shipped", "other guard", "ratio [95 %]");
  for (const int n : sizes) {
    compare_guards<lending_nothing>(std::to_string(n), "adaptive", n);
    compare_guards<always_lending>(std::to_string(n), "pi_mutex", n);
  }
}

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

void held_up_tables() {
  std::printf("%-44s %12s %12s   %s\n", "unlock by a FIFO-20 thread, us", "p99.9", "longest",
              "longest of each of 5 runs");
  const auto print = [](const char* what, held_up_times (*measure)()) {
    std::vector<double> high, longest;
    for (int run = 0; run < 5; ++run) {
      // Two numbers in one: both are below 10^9 microseconds.
      const double both = run_apart([&] {
        const held_up_times found = measure();
        return std::round(found.p999_us * 10) * 1e9 + std::min(found.longest_us, 9.9e8);
      });
      high.push_back(std::floor(both / 1e9) / 10);
      longest.push_back(std::fmod(both, 1e9));
    }
    std::printf("%-44s %12.1f %12.1f  ", what, median(high), std::ranges::max(longest));
    for (const double each : longest) std::printf(" %.1f", each);
    std::printf("\n");
    std::fflush(stdout);
  };
  print("mutex, condition_variable_any, one bucket", &in_one_bucket<lockyard::native>);
  print("the same, adaptive bucket lock", &in_one_bucket<lending_nothing>);
  print("the same, pi_mutex as bucket lock", &in_one_bucket<always_lending>);
  print(
      "std::mutex and std::condition_variable_any", +[] {
        return held_up<std::mutex, std::condition_variable_any>(
            [](const void* /*condition*/) { return new std::mutex; });
      });
}

int usage() {
  std::fputs("usage: parking-costs queues|sharing|guards [THREADS...] | held-up\n", stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return usage();
  const std::string_view what = words[1];
  std::vector<int> sizes;
  for (int i = 2; i < count; ++i) {
    const std::string_view word = words[i];
    int size = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc{} || end != word.data() + word.size() || size < 0 || size > 100'000) {
      return usage();
    }
    sizes.push_back(size);
  }
  if (what == "queues") {
    queues(sizes.empty() ? std::vector{0, 100, 1000, 4000, 10'000} : sizes);
  } else if (what == "sharing") {
    sharing(sizes.empty() ? std::vector{4, 16, 128} : sizes);
  } else if (what == "guards") {
    guards(sizes.empty() ? std::vector{4, 16, 128, 1000} : sizes);
  } else if (what == "held-up" && sizes.empty()) {
    held_up_tables();
  } else {
    return usage();
  }
  return 0;
}
