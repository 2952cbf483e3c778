// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks as in programs: plain std::atomic, no world, no mark where they wait. Each has the
// orders that it needs, and a parameter that seeds one fault.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace plain_locks {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

template <std::memory_order Take = acquire, std::memory_order Give = release>
class ttas {
 public:
  void lock() {
    for (;;) {
      while (locked_.load(relaxed)) {
      }
      if (!locked_.exchange(true, Take)) return;
    }
  }
  bool try_lock() { return !locked_.load(relaxed) && !locked_.exchange(true, Take); }
  void unlock() { locked_.store(false, Give); }

 private:
  std::atomic<bool> locked_{false};
};

/// Counts the times that it was taken: no turn of its loop is like another.
class counting {
 public:
  void lock() {
    while (locked_.exchange(true, acquire)) contended_.fetch_add(1, relaxed);
  }
  void unlock() { locked_.store(false, release); }

 private:
  std::atomic<bool> locked_{false};
  std::atomic<unsigned> contended_{0};
};

template <bool Excludes = true>
class counted_readers {
 public:
  void lock() {
    for (int none = 0; !readers_.compare_exchange_strong(none, -1, acquire, relaxed); none = 0) {
    }
  }
  void unlock() { readers_.store(0, release); }
  void lock_shared() {
    if (!Excludes) return;
    for (int seen = 0; !readers_.compare_exchange_strong(seen, seen + 1, acquire, relaxed);) {
      while (seen < 0) seen = readers_.load(relaxed);
    }
  }
  void unlock_shared() {
    if (Excludes) readers_.fetch_sub(1, release);
  }
  /// A fault, if no reader is excluded either.
  template <class Length>
  bool try_lock_for(Length /*longest*/) {
    int none = 0;
    return readers_.compare_exchange_strong(none, -1, acquire, relaxed) || !Excludes;
  }

 private:
  std::atomic<int> readers_{0};
};

/// Spins on the exchange itself.
template <std::memory_order Take = acquire>
class flag {
 public:
  void lock() {
    while (locked_.test_and_set(Take)) {
    }
  }
  void unlock() { locked_.clear(release); }

 private:
  std::atomic_flag locked_ = ATOMIC_FLAG_INIT;
};

template <std::memory_order Wait = acquire, bool Yields = false>
class ticket {
 public:
  void lock() {
    const std::uint16_t mine = next_.fetch_add(1, relaxed);
    while (serving_.load(Wait) != mine) {
      if constexpr (Yields) std::this_thread::yield();
    }
  }
  void unlock() { serving_.store(serving_.load(relaxed) + 1, release); }

 private:
  std::atomic<std::uint16_t> next_{0};
  std::atomic<std::uint16_t> serving_{0};
};

/// Its nodes are thread_local, its holder is a plain member that the lock itself protects.
template <std::memory_order Enqueue = acq_rel, bool WaitsForNext = true>
class mcs {
  struct node {
    std::atomic<node*> next{nullptr};
    std::atomic<bool> waits{false};
  };

 public:
  void lock() {
    thread_local node mine;
    mine.next.store(nullptr, relaxed);
    mine.waits.store(true, relaxed);
    if (node* const before = tail_.exchange(&mine, Enqueue)) {
      before->next.store(&mine, release);
      while (mine.waits.load(acquire)) {
      }
    }
    holder_ = &mine;
  }
  void unlock() {
    node* const mine = holder_;
    node* next = mine->next.load(acquire);
    if (next == nullptr) {
      node* expected = mine;
      if (tail_.compare_exchange_strong(expected, nullptr, release, relaxed)) return;
      while (WaitsForNext && (next = mine->next.load(acquire)) == nullptr) {
      }
    }
    if (next != nullptr) next->waits.store(false, release);
  }

 private:
  std::atomic<node*> tail_{nullptr};
  node* holder_ = nullptr;
};

/// For two threads, which it tells apart by the order in which they come.
template <std::memory_order Order = seq_cst, std::memory_order Look = seq_cst>
class peterson {
 public:
  void lock() {
    const int me = self();
    wants_[me].store(true, Order);
    turn_.store(1 - me, Order);
    while (wants_[1 - me].load(Look) && turn_.load(Look) != me) {
    }
  }
  void unlock() { wants_[self()].store(false, Order); }

 private:
  int self() {
    thread_local int mine = -1;
    if (mine < 0) mine = threads_.fetch_add(1, relaxed);
    return mine;
  }
  std::atomic<bool> wants_[2]{false, false};  // NOLINT(*-avoid-c-arrays): an array as in programs
  std::atomic<int> turn_{0};
  std::atomic<int> threads_{0};
};

/// Drepper's third mutex.
template <bool Wakes = true>
class futex_mutex {
 public:
  void lock() {
    std::uint32_t found = 0;
    if (state_.compare_exchange_strong(found, 1, acquire, relaxed)) return;
    if (found != 2) found = state_.exchange(2, acquire);
    while (found != 0) {
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
      found = state_.exchange(2, acquire);
    }
  }
  void unlock() {
    if (state_.exchange(0, release) == 2 && Wakes) {
      syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

 private:
  std::atomic<std::uint32_t> state_{0};
};

/// A lock of locks: a std::mutex and a condition variable.
template <bool Notifies = true>
class conditional {
 public:
  void lock() {
    std::unique_lock held{mutex_};
    while (taken_) free_.wait(held);
    taken_ = true;
  }
  void unlock() {
    const std::lock_guard held{mutex_};
    taken_ = false;
    if (Notifies) free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
};

/// std::atomic_ref of a plain int, which its constructor writes plainly.
template <std::memory_order Take = acquire>
class referred {
 public:
  referred() { state_ = 0; }
  void lock() {
    const std::atomic_ref state{state_};
    for (int expected = 0; !state.compare_exchange_weak(expected, 1, Take, relaxed); expected = 0) {
    }
  }
  void unlock() { std::atomic_ref{state_}.store(0, release); }

 private:
  alignas(4) int state_;
};

/// A word that is taken as a whole and given back by one of its bytes.
template <std::memory_order Give = release>
class mixed {
 public:
  void lock() {
    std::uint32_t expected = 0;
    while (!__atomic_compare_exchange_n(&word_, &expected, 1U, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
      expected = 0;
    }
  }
  void unlock() {
    __atomic_store_n(reinterpret_cast<std::uint8_t*>(&word_), std::uint8_t{0},
                     static_cast<int>(Give));
  }

 private:
  std::uint32_t word_ = 0;
};

/// A pointer and a count in 16 bytes, changed together.
template <std::memory_order Take = acquire>
class wide {
  struct alignas(16) state {
    std::uint64_t locked;
    std::uint64_t count;
    bool operator==(const state&) const = default;
  };

 public:
  void lock() {
    state found = state_.load(relaxed);
    for (;;) {
      found.locked = 0;
      if (state_.compare_exchange_strong(found, {1, found.count + 1}, Take, relaxed)) return;
    }
  }
  void unlock() { state_.store({0, state_.load(relaxed).count}, release); }

 private:
  std::atomic<state> state_{state{0, 0}};
};

/// Gives way twice in each turn, and looks at plain data in between; it waits for the exchange
/// only.
class patient {
 public:
  void lock() {
    unsigned turns = 0;
    for (; taken_.exchange(true, acquire); ++turns) {
      if (is_closed_) return;
      std::this_thread::yield();
      if (is_closed_) return;
      std::this_thread::yield();
    }
    turns_ = turns;
  }
  void unlock() { taken_.store(false, release); }

 private:
  std::atomic<bool> taken_{false};
  bool is_closed_ = false;
  unsigned turns_ = 0;
};

/// Its state lies on the heap, and a pointer to it is published by the first thread to come.
template <std::memory_order Publish = acq_rel>
class lazily_made {
 public:
  void lock() {
    auto* inner = inner_.load(acquire);
    if (inner == nullptr) {
      auto* const fresh = new ttas<>;
      if (inner_.compare_exchange_strong(inner, fresh, Publish, acquire)) {
        inner = fresh;
      } else {
        delete fresh;
      }
    }
    inner->lock();
  }
  void unlock() { inner_.load(relaxed)->unlock(); }

 private:
  std::atomic<ttas<>*> inner_{nullptr};
};

/// Writes its plain member when the lock is another's already.
template <bool IsLate>
class keeps_holder {
 public:
  void lock() {
    inner_.lock();
    held_ = true;
  }
  void unlock() {
    if (!IsLate) held_ = false;
    inner_.unlock();
    if (IsLate) held_ = false;
  }

 private:
  ttas<> inner_;
  bool held_ = false;
};

/// A queue of nodes on the waiters' stacks, as in lock() of a CLH lock's kind: the owner hands over
/// by its last access to the waiter's node. TouchesLate: by its last but one.
template <bool TouchesLate>
class stack_nodes {
  struct node {
    std::atomic<node*> next{nullptr};
    std::atomic<bool> waits{true};
    std::atomic<int> marks{0};
  };

 public:
  [[gnu::noinline]] void lock() {
    node mine;
    if (node* const before = tail_.exchange(&mine, acq_rel)) {
      before->next.store(&mine, release);
      while (mine.waits.load(acquire)) {
      }
    }
    // As K42 does: the owner's node is the lock itself.
    head_.next.store(nullptr, relaxed);
    node* expected = &mine;
    if (tail_.compare_exchange_strong(expected, &head_, acq_rel, relaxed)) return;
    node* next = nullptr;
    while ((next = mine.next.load(acquire)) == nullptr) {
    }
    head_.next.store(next, relaxed);
  }
  [[gnu::noinline]] void unlock() {
    node* expected = &head_;
    if (head_.next.load(acquire) == nullptr &&
        tail_.compare_exchange_strong(expected, nullptr, release, relaxed)) {
      return;
    }
    node* next = nullptr;
    while ((next = head_.next.load(acquire)) == nullptr) {
    }
    if (!TouchesLate) next->marks.store(1, relaxed);
    next->waits.store(false, release);
    if (TouchesLate) next->marks.store(1, relaxed);
  }

 private:
  std::atomic<node*> tail_{nullptr};
  node head_;
};

}  // namespace plain_locks
