// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program whose operations the test draws, in the form that `lockyard check --client` takes.

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

extern "C" {
/// Defined by the test, and not seen by the checker. Zero ends a thread.
unsigned lockyard_random_operation(unsigned thread, unsigned position);
void lockyard_random_outcome(unsigned long seen);
}

namespace plain_random {

enum class kind : unsigned {
  ends,
  load,
  store,
  exchange,
  compare_strong,
  compare_weak,
  fence,
  signal_fence,
  barrier,
  spin_load,
  spin_yield,
  spin_compare,
  spin_compare_again,
  spin_compare_either,
  spin_exchange,
  spin_exchange_either,
  spin_add_nothing,
  spin_either,
  spin_counted,
  sleep,
  wake_one,
  wake,
  // Plain data, and locks around it.
  read_plain,
  write_plain,
  spin_writes_plain,
  spin_reads_plain,
  spin_compare_reads_plain,
  spin_compare_writes_plain,
  section,
  tries_section,
  read_section,
  waits_for_condition,
  notifies,
  initialises,
  // Plain data that one thread writes while it spins.
  spin_keeps,
  spin_rewrites,
  spin_toggles,
  spin_compare_keeps,
  reads_kept,
  writes_kept,
  // Memory that ends.
  publishes_local,
  spins_on_local,
  calls_deeper,
  publishes_heap,
  publishes_own,
  reads_published,
  writes_published,
  frees_published,
  // Deadlines.
  sleeps_for_some_time,
  waits_for_some_time,
  locks_for_some_time,
  wakes_by_number,
  count,
};

/// The bits of an operation: its kind, its word, its value, and whether its order is weak.
struct operation {
  kind does;
  unsigned where;
  int value;
  bool is_weak;

  static operation of(unsigned bits) {
    return {static_cast<kind>(bits & 63U), bits >> 6U & 1U, static_cast<int>(bits >> 7U & 3U),
            (bits >> 9U & 1U) != 0};
  }
};

struct initialised {
  int value;
  initialised() : value{1} {}
};

struct program {
  static constexpr unsigned threads = 3;
  static inline thread_local int own = 0;
  std::atomic<int> words[2]{0, 0};
  std::atomic<int*> published{nullptr};
  int plain = 0;
  struct alignas(8) kept_value {
    int value = 0;
  };
  kept_value kept[threads];
  std::mutex lock;
  pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
  std::condition_variable condition;
  unsigned long seen[threads]{};

  template <std::memory_order Load, std::memory_order Store, std::memory_order Both>
  unsigned uses_words(const operation& by) {
    std::atomic<int>& word = words[by.where];
    std::atomic<int>& other = words[1 - by.where];
    int expected = 0;
    switch (by.does) {
      case kind::load: return static_cast<unsigned>(word.load(Load));
      case kind::store: word.store(by.value, Store); break;
      case kind::exchange: return static_cast<unsigned>(word.exchange(by.value, Both));
      case kind::compare_strong:
        return word.compare_exchange_strong(expected, by.value, Both, Load)
                   ? 4
                   : static_cast<unsigned>(expected);
      case kind::compare_weak:
        return word.compare_exchange_weak(expected, by.value, Both, Load)
                   ? 4
                   : static_cast<unsigned>(expected);
      case kind::fence:
        std::atomic_thread_fence(by.value == 1 ? std::memory_order_seq_cst : Both);
        break;
      case kind::signal_fence: std::atomic_signal_fence(std::memory_order_seq_cst); break;
      case kind::barrier: syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0); break;
      case kind::spin_load:
        while (word.load(Load) != by.value) {
        }
        break;
      case kind::spin_yield:
        while (word.load(Load) == 0) std::this_thread::yield();
        break;
      case kind::spin_compare:
        while (!word.compare_exchange_weak(expected, by.value, Both, Load)) expected = 0;
        break;
      case kind::spin_compare_again: do { expected = word.load(Load) % 2;
        } while (!word.compare_exchange_weak(expected, expected + by.value, Both, Load));
        return static_cast<unsigned>(expected);
      case kind::spin_compare_either:
        while (!word.compare_exchange_weak(expected, by.value, Both, Load) &&
               other.load(Load) == 0) {
          expected = 0;
        }
        return static_cast<unsigned>(expected);
      case kind::spin_exchange:
        while (word.exchange(by.value, Both) == by.value) {
        }
        break;
      case kind::spin_exchange_either:
        while (word.exchange(by.value, Both) == by.value && other.load(Load) == 0) {
        }
        break;
      case kind::spin_add_nothing:
        while (word.fetch_add(0, Both) == 0 && other.fetch_or(by.value, Both) == by.value) {
        }
        break;
      case kind::spin_either:
        while (word.load(Load) == 0 && other.load(Load) == 0) {
        }
        break;
      case kind::spin_counted:
        for (int i = 0; i < 3 && word.load(Load) == 0; ++i) {
        }
        break;
      case kind::sleep: word.wait(by.value % 2, Load); break;
      case kind::wake_one:
        word.store(by.value, Store);
        word.notify_one();
        break;
      case kind::wake:
        word.store(by.value, Store);
        word.notify_all();
        break;
      case kind::spin_writes_plain:
        while (word.load(Load) == 0) plain = by.value;
        break;
      case kind::spin_reads_plain:
        while (word.load(Load) == 0 && plain == 0) {
        }
        break;
      case kind::spin_compare_reads_plain:
        while (!word.compare_exchange_weak(expected, by.value, Both, Load) && plain == 0)
          expected = 0;
        break;
      case kind::spin_compare_writes_plain:
        while (!word.compare_exchange_weak(expected, 0, Both, Load)) plain = by.value;
        break;
      case kind::publishes_heap: published.store(new int{by.value}, Store); break;
      case kind::publishes_own:
        own = by.value;
        published.store(&own, Store);
        break;
      case kind::reads_published: {
        const int* const from = published.load(Load);
        return from == nullptr ? 5 : static_cast<unsigned>(*from);
      }
      case kind::writes_published:
        if (int* const to = published.load(Load)) *to = by.value;
        break;
      case kind::frees_published: delete published.exchange(nullptr, Both); break;
      case kind::publishes_local: publish_local<Store>(by); break;
      case kind::spins_on_local: spin_on_local<Load, Store>(by); break;
      default: return uses_locks(by);
    }
    return 0;
  }

  template <std::memory_order Load>
  unsigned uses_kept(const operation& by, unsigned index) {
    std::atomic<int>& word = words[by.where];
    int& mine = kept[index].value;
    int& found =
        kept[by.where == 0 ? index : (index + static_cast<unsigned>(by.value)) % threads].value;
    switch (by.does) {
      case kind::spin_keeps:
        while ((mine = word.load(Load)) == 0) {
        }
        return static_cast<unsigned>(mine);
      case kind::spin_rewrites:
        while (word.load(Load) == 0) mine = by.value;
        return 0;
      case kind::spin_toggles:
        while (word.load(Load) == 0) mine ^= by.value;
        return static_cast<unsigned>(mine);
      case kind::spin_compare_keeps:
        while (!word.compare_exchange_weak(mine, by.value, std::memory_order_acq_rel, Load)) {
        }
        return static_cast<unsigned>(mine);
      case kind::reads_kept: return static_cast<unsigned>(found);
      default: found = by.value; return 0;
    }
  }

  template <std::memory_order Store>
  [[gnu::noinline]] void publish_local(const operation& by) {
    int local = by.value;
    published.store(&local, Store);
    words[by.where].store(1, Store);
  }

  template <std::memory_order Load, std::memory_order Store>
  [[gnu::noinline]] void spin_on_local(const operation& by) {
    int local = by.value;
    published.store(&local, Store);
    while (words[by.where].load(Load) == 0) local = by.value;
  }

  [[gnu::noinline]] unsigned call_deeper(const operation& by) {
    volatile int large[64];
    large[by.where] = by.value;
    const int found = words[by.where].load(std::memory_order_relaxed);
    return static_cast<unsigned>(found + large[by.where]) & 7U;
  }

  unsigned uses_locks(const operation& by) {
    const timespec soon{1, 0};
    int* const word = reinterpret_cast<int*>(&words[by.where]);
    switch (by.does) {
      case kind::read_plain: return static_cast<unsigned>(plain);
      case kind::write_plain: plain = by.value; break;
      case kind::section: {
        const std::scoped_lock held{lock};
        return static_cast<unsigned>(plain++) & 7U;
      }
      case kind::tries_section: {
        const std::unique_lock held{lock, std::try_to_lock};
        return held ? static_cast<unsigned>(plain++) & 7U : 7;
      }
      case kind::read_section: {
        pthread_rwlock_rdlock(&shared);
        const int found = plain;
        pthread_rwlock_unlock(&shared);
        return static_cast<unsigned>(found) & 7U;
      }
      case kind::waits_for_condition: {
        std::unique_lock held{lock};
        while (plain == 0) condition.wait(held);
        return static_cast<unsigned>(plain) & 7U;
      }
      case kind::notifies: {
        {
          const std::scoped_lock held{lock};
          plain = by.value;
        }
        if (by.is_weak) {
          condition.notify_one();
        } else {
          condition.notify_all();
        }
        break;
      }
      case kind::initialises: {
        static const initialised made;
        return static_cast<unsigned>(made.value);
      }
      case kind::calls_deeper: return call_deeper(by);
      case kind::sleeps_for_some_time:
        return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &soon, nullptr, 0) == 0 ? 1 : 2;
      case kind::waits_for_some_time: {
        std::unique_lock held{lock};
        return pthread_cond_timedwait(condition.native_handle(), lock.native_handle(), &soon) == 0
                   ? 1
                   : 2;
      }
      case kind::locks_for_some_time: {
        if (pthread_mutex_timedlock(lock.native_handle(), &soon) != 0) return 7;
        const int found = plain++;
        lock.unlock();
        return static_cast<unsigned>(found) & 3U;
      }
      case kind::wakes_by_number:
        words[by.where].store(by.value % 2);
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, by.value);
        break;
      default: return 0;
    }
    return 0;
  }

  void thread(unsigned index) {
    using enum std::memory_order;
    unsigned long all = 1;
    for (unsigned i = 0; const unsigned bits = lockyard_random_operation(index, i); ++i) {
      const operation by = operation::of(bits);
      if (by.does >= kind::spin_keeps && by.does <= kind::writes_kept) {
        all =
            all * 8 + (by.is_weak ? uses_kept<relaxed>(by, index) : uses_kept<acquire>(by, index));
        continue;
      }
      all = all * 8 + (by.is_weak ? uses_words<relaxed, relaxed, relaxed>(by)
                                  : uses_words<acquire, release, acq_rel>(by));
    }
    seen[index] = all;
  }

  void finish() {
    unsigned long all = static_cast<unsigned long>(words[0].load() * 4 + words[1].load());
    for (const unsigned long each : seen) all = all * 1024 + each;
    lockyard_random_outcome(all);
  }
};

}  // namespace plain_random
