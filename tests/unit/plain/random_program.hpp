// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program whose operations the test draws, in the form that `lockyard check --client` takes.

#include <atomic>
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
  spin_load,
  spin_yield,
  spin_compare,
  spin_exchange,
  spin_either,
  spin_counted,
  sleep,
  wake,
  read_plain,
  write_plain,
  count,
};

/// The bits of an operation: its kind, its word, its value, and whether its order is weak.
struct operation {
  kind does;
  unsigned where;
  int value;
  bool is_weak;

  static operation of(unsigned bits) {
    return {static_cast<kind>(bits & 31U), bits >> 5U & 1U, static_cast<int>(bits >> 6U & 3U),
            (bits >> 8U & 1U) != 0};
  }
};

struct program {
  static constexpr unsigned threads = 3;
  std::atomic<int> words[2]{0, 0};
  int plain = 0;
  unsigned long seen[threads]{};

  template <std::memory_order Load, std::memory_order Store, std::memory_order Both>
  unsigned run(const operation& by) {
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
      case kind::spin_exchange:
        while (word.exchange(by.value, Both) == by.value) {
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
      case kind::sleep: word.wait(0, Load); break;
      case kind::wake:
        word.store(by.value, Store);
        word.notify_all();
        break;
      case kind::read_plain: return static_cast<unsigned>(plain);
      case kind::write_plain: plain = by.value; break;
      default: break;
    }
    return 0;
  }

  void thread(unsigned index) {
    using enum std::memory_order;
    unsigned long all = 1;
    for (unsigned i = 0; const unsigned bits = lockyard_random_operation(index, i); ++i) {
      const operation by = operation::of(bits);
      all = all * 8 +
            (by.is_weak ? run<relaxed, relaxed, relaxed>(by) : run<acquire, release, acq_rel>(by));
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
