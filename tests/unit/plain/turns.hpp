// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops with futile turns: the search leaves out the executions in which such a loop continues.
// Thread `First` is the one that comes first in the fault.

#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>

namespace plain_turns {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;

/// A turn reads plain data, which another thread writes once the loop has come to its end. The
/// first turn looks at other memory, so that the others begin in one state.
template <unsigned First, bool Atomically = false>
struct reads_plain_data {
  static constexpr unsigned threads = 2;
  std::atomic<bool> goes_on{false};
  std::atomic<bool> has_ended{false};
  std::atomic<bool> of_first_turn{false};
  alignas(8) int value = 0;
  alignas(8) int value_of_first_turn = 0;
  [[gnu::noinline]] static bool is_last(const std::atomic<bool>* word, const int* data) {
    return word->load(acquire) || *data == 1;
  }
  void thread(unsigned index) {
    if (index == First) {
      const std::atomic<bool>* word = &of_first_turn;
      const int* data = &value_of_first_turn;
      while (!is_last(word, data)) {
        word = &goes_on;
        data = &value;
      }
      has_ended.store(true, relaxed);
    } else {
      goes_on.store(true, relaxed);
      if (!has_ended.load(relaxed)) return;
      if (Atomically) {
        std::atomic_ref{value}.store(2, relaxed);
      } else {
        value = 2;
      }
    }
  }
};

/// The same with a second word, which is freed.
template <unsigned First>
struct reads_a_freed_word {
  static constexpr unsigned threads = 2;
  std::atomic<bool> goes_on{false};
  std::atomic<bool> has_ended{false};
  std::atomic<bool> of_first_turn{false};
  std::atomic<bool>* const other = new std::atomic<bool>{false};
  [[gnu::noinline]] static bool is_last(const std::atomic<bool>* word,
                                        const std::atomic<bool>* second) {
    return word->load(acquire) || second->load(acquire);
  }
  void thread(unsigned index) {
    if (index == First) {
      const std::atomic<bool>* word = &of_first_turn;
      const std::atomic<bool>* second = &of_first_turn;
      while (!is_last(word, second)) {
        word = &goes_on;
        second = other;
      }
      has_ended.store(true, relaxed);
    } else {
      goes_on.store(true, relaxed);
      if (has_ended.load(relaxed)) delete other;
    }
  }
};

/// The same with a word in the other thread's stack: the thread ends.
template <unsigned First>
struct reads_a_word_of_a_thread {
  static constexpr unsigned threads = 2;
  std::atomic<std::atomic<bool>*> other{nullptr};
  std::atomic<bool> goes_on{false};
  std::atomic<bool> has_ended{false};
  std::atomic<bool> may_end{false};
  std::atomic<bool> of_first_turn{false};
  [[gnu::noinline]] static bool is_last(const std::atomic<bool>* word,
                                        const std::atomic<bool>* second) {
    return word->load(acquire) || second->load(acquire);
  }
  void thread(unsigned index) {
    if (index == First) {
      const std::atomic<bool>* const theirs = other.load(acquire);
      if (theirs == nullptr) return may_end.store(true, release);
      const std::atomic<bool>* word = &of_first_turn;
      const std::atomic<bool>* second = &of_first_turn;
      while (!is_last(word, second)) {
        word = &goes_on;
        second = theirs;
      }
      has_ended.store(true, relaxed);
      may_end.store(true, release);
    } else {
      std::atomic<bool> mine{false};
      other.store(&mine, release);
      goes_on.store(true, relaxed);
      if (has_ended.load(relaxed)) return;
      while (!may_end.load(acquire)) {
      }
    }
  }
};

/// A turn reads a member of an object on the thread's own stack, which the other thread writes
/// late.
template <unsigned First>
struct reads_its_own_stack {
  static constexpr unsigned threads = 2;
  struct node {
    std::atomic<bool> goes_on{false};
    bool is_given_up = false;
  };
  std::atomic<node*> published{nullptr};
  std::atomic<int> steps{0};
  std::atomic<bool> may_end{false};
  void thread(unsigned index) {
    if (index == First) {
      node mine;
      published.store(&mine, release);
      while (!mine.goes_on.load(acquire) && !mine.is_given_up) {
      }
      while (!may_end.load(acquire)) {
      }
    } else {
      node* theirs = nullptr;
      while ((theirs = published.load(acquire)) == nullptr) {
      }
      theirs->goes_on.store(true, relaxed);
      if (steps.load(relaxed) == 0) theirs->is_given_up = true;
      may_end.store(true, release);
    }
  }
};

/// A wait in a turn fails as long as the word has another value.
struct fails_to_wait {
  static constexpr unsigned threads = 2;
  std::atomic<bool> goes_on{false};
  std::atomic<int> word{1};
  void thread(unsigned index) {
    const timespec soon{1, 0};
    if (index == 1) return word.store(0, release);
    while (!goes_on.load(relaxed)) {
      const long how = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &soon, nullptr, 0);
      if (how == -1 && errno == ETIMEDOUT) break;
    }
  }
};

/// The value that a compare-exchange expects is shared.
template <unsigned First>
struct expects_a_shared_value {
  static constexpr unsigned threads = 2;
  std::atomic<int> word{0};
  int expected = 0;
  void thread(unsigned index) {
    if (index == First) {
      word.compare_exchange_strong(expected, 1, relaxed);
    } else {
      expected = 2;
    }
  }
};

/// A spin with a time limit, which no other thread ends.
struct ends_by_itself {
  static constexpr unsigned threads = 2;
  std::atomic<bool> goes_on{false};
  void thread(unsigned index) {
    if (index == 1) return;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
    while (!goes_on.load(acquire) && std::chrono::steady_clock::now() < limit) {
    }
  }
};

/// A failed attempt in a turn leaves its reason in errno, and so ends the loop.
struct leaves_a_reason {
  static constexpr unsigned threads = 2;
  std::atomic<bool> goes_on{false};
  sem_t semaphore{};
  leaves_a_reason() { sem_init(&semaphore, 0, 0); }
  [[gnu::noinline]] bool is_last(const std::atomic<bool>* word, bool attempts) {
    if (word->load(relaxed) || errno == EAGAIN) return true;
    if (attempts) sem_trywait(&semaphore);
    return false;
  }
  void thread(unsigned index) {
    errno = 0;
    if (index == 1 || is_last(&goes_on, false)) return;
    while (!is_last(&goes_on, true)) {
    }
  }
};

/// Another thread goes on by what two turns of a loop have done.
struct does_something_in_turns {
  static constexpr unsigned threads = 2;
  std::atomic<bool> goes_on{false};
  std::atomic<int> turns{0};
  void thread(unsigned index) {
    if (index == 0) {
      while (!goes_on.load(acquire)) {
        if (turns.load(relaxed) < 2) turns.fetch_add(1, relaxed);
      }
    } else {
      while (turns.load(relaxed) < 2) {
      }
      goes_on.store(true, release);
    }
  }
};

/// A variable of a function is used after its end, when the memory is another function's.
template <unsigned First>
struct uses_a_later_function {
  static constexpr unsigned threads = 2;
  std::atomic<int*> shared{nullptr};
  std::atomic<int> steps{0};
  [[gnu::noinline]] void publish() {
    int local = 1;
    shared.store(&local, release);
    steps.store(1, relaxed);
  }
  [[gnu::noinline]] int use_the_memory() {
    std::array<int, 16> local{};
    for (int& each : local) each = steps.load(relaxed);
    return *std::ranges::max_element(local);
  }
  void thread(unsigned index) {
    if (index == First) {
      publish();
      use_the_memory();
    } else if (const int* const found = shared.load(acquire)) {
      steps.store(*found, relaxed);
    }
  }
};

/// Lamport's bakery: each thread waits for all others in loops of their own.
template <unsigned Threads>
struct bakery {
  std::array<std::atomic<bool>, Threads> enters{};
  std::array<std::atomic<int>, Threads> number{};
  static constexpr unsigned threads = Threads;
  int value = 0;
  void thread(unsigned index) {
    lock_as(index);
    ++value;
    number[index].store(0, release);
  }

 private:
  void lock_as(unsigned index) {
    enters[index].store(true);
    int highest = 0;
    for (const std::atomic<int>& each : number) highest = std::max(highest, each.load());
    number[index].store(highest + 1);
    enters[index].store(false);
    for (unsigned other = 0; other < Threads; ++other) {
      if (other == index) continue;
      while (enters[other].load()) {
      }
      while (comes_before(other, index)) {
      }
    }
  }
  [[nodiscard]] bool comes_before(unsigned other, unsigned index) const {
    const int theirs = number[other].load();
    const int mine = number[index].load(relaxed);
    return theirs != 0 && (theirs < mine || (theirs == mine && other < index));
  }
};

}  // namespace plain_turns
