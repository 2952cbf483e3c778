// SPDX-License-Identifier: Apache-2.0
#pragma once

// Watches the threads' operations on locks, for the debug mode: reports misuse before it does harm,
// and orders of acquisition that can deadlock before they do.

#include <lockyard/debug.hpp>
#include <lockyard/world/lock_graph.hpp>
#include <lockyard/world/native.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace lockyard::inline v0::debug::detail {

/// Protects the watch's data. It is not a lock of the library, because the watch watches those.
class watch_lock {
 public:
  void lock() noexcept {
    std::uint32_t expected = 0;
    // order[take]: acquire; pairs [unlock]; this thread sees the previous thread's records.
    // relaxed(hint): a failure promises nothing.
    if (state_.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return;
    }
    // order[retake]: acquire; pairs [unlock]; as in [take].
    while (state_.exchange(2, std::memory_order_acquire) != 0) native::wait(state_, 2);
  }
  void unlock() noexcept {
    // order[unlock]: release; pairs [take, retake]; publishes this thread's records.
    if (state_.exchange(0, std::memory_order_release) == 2) native::wake(state_, 1);
  }

 private:
  native::atomic<std::uint32_t> state_{0};  // free, held, held and a thread may sleep
};

using attempt_kind = lockyard::detail::sanitizer::attempt;

/// A thread's locks. Trivially destructible, so that locks may be used until the thread has ended.
struct [[gnu::visibility("default")]] thread_watch {
  /// The thread holds the lock if it shares it, or if `acquisition` is still the lock's last.
  struct held {
    index lock;
    bool shares;
    std::uint64_t acquisition;
  };
  static constexpr std::size_t most = 64;

  int number = 0;
  native::atomic<bool> inside{false};
  std::size_t count = 0;
  std::array<held, most> locks{};

  /// Returns null if the thread does not share the lock.
  held* share_of(index lock) noexcept {
    const auto is_share = [lock](const held& each) { return each.shares && each.lock == lock; };
    held* const end = locks.data() + count;
    held* const found = std::find_if(locks.data(), end, is_share);
    return found == end ? nullptr : found;
  }
};

/// Marks that the thread is inside the watch. A signal handler, a report's handler or an allocation
/// may use locks meanwhile; the watch ignores these uses, because they would see incomplete data or
/// wait for their own thread.
class watching {
 public:
  explicit watching(thread_watch& thread) noexcept : thread_{thread} {
    // relaxed(owner): only this thread and its signal handlers read it.
    entered_ = !thread_.inside.load(std::memory_order_relaxed);
    // relaxed(owner): as above.
    thread_.inside.store(true, std::memory_order_relaxed);
    // order[entered]: acq_rel; pairs [left]; keeps the compiler from working before the mark.
    std::atomic_signal_fence(std::memory_order_acq_rel);
  }
  watching(const watching&) = delete;
  watching& operator=(const watching&) = delete;
  ~watching() {
    if (!entered_) return;
    // order[left]: acq_rel; pairs [entered]; keeps the compiler from working after the mark.
    std::atomic_signal_fence(std::memory_order_acq_rel);
    // relaxed(owner): as above.
    thread_.inside.store(false, std::memory_order_relaxed);
  }
  explicit operator bool() const noexcept { return entered_; }

 private:
  thread_watch& thread_;
  bool entered_;
};

/// An acquisition in progress: its data until it succeeds or fails.
struct attempt {
  index lock = 0;  // 0: it is not watched
  bool shares = false;
  place at{};
};

/// The problems that one operation found, kept until the thread may leave the watch.
class findings {
 public:
  void add(problem kind, const step& found) noexcept {
    kind_ = kind;
    if (count_ < steps_.size())
      steps_[count_++] = found;
    else
      ++left_out_;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  void deliver() const noexcept {
    if (count_ != 0) detail::deliver({kind_, {steps_.data(), count_}, left_out_});
  }

 private:
  problem kind_{};
  std::array<step, 8> steps_;
  std::size_t count_ = 0;
  std::size_t left_out_ = 0;
};

/// The watch walks stacks and delivers reports without holding its own lock, because the dynamic
/// linker has a lock too.
class [[gnu::visibility("default")]] lock_watch {
 public:
  static constexpr std::size_t most_locks = 4096;
  static constexpr std::size_t most_orders = 8192;

  /// A thread is about to acquire the lock; unless it only tries, it waits until it owns the lock.
  [[gnu::noinline]] attempt before_acquire(lock_id lock, attempt_kind kind) noexcept {
    const bool blocking = !lockyard::detail::sanitizer::is_trying(kind);
    thread_watch& self = this_thread();
    const watching inside{self};
    if (!inside) return {};
    attempt mine;
    mine.shares = lockyard::detail::sanitizer::is_sharing(kind);
    mine.at = here(self, __builtin_return_address(0));
    findings found;
    {
      const std::scoped_lock locked{lock_};
      mine.lock = graph_.find_or_add(lock);
      const watched_lock& known = graph_[mine.lock];
      if (mine.lock == 0) {
        overflow(found, {lock, mine.at, {}, {}});
      } else if (blocking && (known.owner == self.number || self.share_of(mine.lock) != nullptr)) {
        found.add(problem::recursive_lock, {lock, mine.at, lock, known.since});
      }
      if (mine.lock != 0) ++graph_[mine.lock].waiters;
    }
    found.deliver();
    if (!blocking || mine.lock == 0) return mine;
    for (std::size_t i = 0; i < self.count; ++i) look_at_order(self.locks[i], mine);
    return mine;
  }

  [[gnu::noinline]] void after_acquire(const attempt& mine, bool acquired) noexcept {
    if (mine.lock == 0) return;
    thread_watch& self = this_thread();
    const watching inside{self};
    const std::scoped_lock locked{lock_};
    watched_lock& lock = graph_[mine.lock];
    --lock.waiters;
    if (!acquired) return graph_.forget_if_idle(mine.lock);
    lock.since = mine.at;
    ++acquisitions_;
    if (mine.shares) {
      ++lock.sharers;
    } else {
      lock.owner = self.number;
      lock.acquisition = acquisitions_;
    }
    if (self.count < self.locks.size()) {
      self.locks[self.count++] = {mine.lock, mine.shares, acquisitions_};
    } else {
      overflowed_ = overflowed_ || mine.shares;
    }
  }

  [[gnu::noinline]] void before_release(lock_id lock, attempt_kind kind) noexcept {
    thread_watch& self = this_thread();
    const watching inside{self};
    if (!inside) return;
    step seen{lock, {}, lock, {}};
    bool right = false;
    {
      const std::scoped_lock locked{lock_};
      const index known = graph_.find(lock);
      watched_lock& found = graph_[known];
      const bool shares = lockyard::detail::sanitizer::is_sharing(kind);
      if (known != 0 && (shares ? found.sharers != 0 : found.owner != 0)) seen.since = found.since;
      // A lock that was not watched at its acquisition looks free, or shared by other threads only.
      const bool is_mine = shares ? self.share_of(known) != nullptr : found.owner == self.number;
      const bool may_be_mine = shares || seen.since.thread == 0;
      right = (seen.since.thread != 0 && is_mine) || (may_be_mine && overflowed_);
      if (known != 0) {
        shares ? drop_share(self, known) : drop_ownership(self, known);
        graph_.forget_if_idle(known);
      }
    }
    if (right) return;
    seen.at = here(self, __builtin_return_address(0));
    findings wrong;
    wrong.add(seen.since.thread == 0 ? problem::unlock_not_held : problem::unlock_by_other_thread,
              seen);
    wrong.deliver();
  }

  /// The thread asserts that it holds the lock; if `kind` shares, exclusively or shared.
  [[gnu::noinline]] void expect_held(lock_id lock, attempt_kind kind) noexcept {
    const bool may_share = lockyard::detail::sanitizer::is_sharing(kind);
    expect(lock, __builtin_return_address(0), problem::asserted_held,
           [&](thread_watch& self, index known) {
             const int owner = graph_[known].owner;
             if (known != 0 && owner == self.number) return true;
             if (known != 0 && may_share && self.share_of(known) != nullptr) return true;
             return overflowed_ && owner == 0;  // the acquisition may not have been watched
           });
  }
  /// The thread asserts that it does not hold the lock in any way.
  [[gnu::noinline]] void expect_not_held(lock_id lock) noexcept {
    expect(lock, __builtin_return_address(0), problem::asserted_not_held,
           [&](thread_watch& self, index known) {
             return graph_[known].owner != self.number && self.share_of(known) == nullptr;
           });
  }

  /// The memory at the address does not belong to a lock any longer, if it ever did.
  [[gnu::noinline]] void destroyed(const void* address) noexcept {
    thread_watch& self = this_thread();
    const watching inside{self};
    if (!inside) return;
    while (is_busy(address)) {
      // When the process ends, a lock of static storage may still be in use by other threads.
      if (lockyard::detail::os::is_static(address)) return;
      const place at = here(self, __builtin_return_address(0));
      findings found;
      {
        const std::scoped_lock locked{lock_};
        const index known = graph_.find(address);
        if (known == 0) return;
        const watched_lock& lock = graph_[known];
        const bool held = is_held(lock);
        found.add(held ? problem::destroyed_while_held : problem::destroyed_while_waited_for,
                  {lock.id, at, lock.id, held ? lock.since : place{}});
        graph_.bury(known);
      }
      found.deliver();
    }
  }

 private:
  static thread_watch& this_thread() noexcept {
    auto& self = native::thread_state<thread_watch>();
    if (self.number == 0) self.number = static_cast<int>(lockyard::detail::os::thread_id());
    return self;
  }
  static place here(const thread_watch& self, const void* from) noexcept {
    return {self.number, lockyard::detail::os::calls_from(from)};
  }

  template <class IsTrue>
  void expect(lock_id lock, const void* from, problem otherwise, IsTrue is_true) noexcept {
    thread_watch& self = this_thread();
    const watching inside{self};
    if (!inside) return;
    step seen{lock, {}, lock, {}};
    {
      const std::scoped_lock locked{lock_};
      const index known = graph_.find(lock);
      if (is_true(self, known)) return;
      if (known != 0 && is_held(graph_[known])) seen.since = graph_[known].since;
    }
    seen.at = here(self, from);
    findings wrong;
    wrong.add(otherwise, seen);
    wrong.deliver();
  }

  /// Records an order: a lock that the thread holds, and the lock that it is about to wait for.
  [[gnu::noinline]] void look_at_order(const thread_watch::held& held,
                                       const attempt& mine) noexcept {
    findings found;
    {
      const std::scoped_lock locked{lock_};
      const watched_lock& first = graph_[held.lock];
      if (is_over(held) || held.lock == mine.lock || graph_.knows(held.lock, mine.lock)) {
        return;
      }
      const step last{graph_[mine.lock].id, mine.at, first.id, first.since};
      if (graph_.leads(mine.lock, held.lock)) {
        found.add(problem::lock_order, last);
        for (index each = held.lock; each != mine.lock;) {
          const lock_order& order = graph_.order(graph_[each].reached_by);
          found.add(problem::lock_order, {graph_[order.second].id, order.second_at,
                                          graph_[order.first].id, order.first_at});
          each = order.first;
        }
      }
      if (graph_.connect(held.lock, mine.lock, mine.at) == 0) overflow(found, last);
    }
    found.deliver();
  }

  /// Reports an overflow once, and only if there is no worse problem to report.
  void overflow(findings& found, const step& last) noexcept {
    if (!overflowed_ && found.empty()) found.add(problem::overflow, last);
    overflowed_ = true;
  }

  bool is_over(const thread_watch::held& each) noexcept {
    return !each.shares && graph_[each.lock].acquisition != each.acquisition;
  }
  void drop_ownership(thread_watch& self, index lock) noexcept {
    graph_[lock].owner = 0;
    graph_[lock].acquisition = 0;
    const auto is_gone = [this](const thread_watch::held& each) { return is_over(each); };
    auto* const begin = self.locks.data();
    self.count =
        static_cast<std::size_t>(std::remove_if(begin, begin + self.count, is_gone) - begin);
  }
  void drop_share(thread_watch& self, index lock) noexcept {
    if (graph_[lock].sharers != 0) --graph_[lock].sharers;
    if (thread_watch::held* const mine = self.share_of(lock)) {
      std::move(mine + 1, self.locks.data() + self.count, mine);
      --self.count;
    }
  }

  /// Forgets the locks at the address up to the first that is held or waited for.
  bool is_busy(const void* address) noexcept {
    const std::scoped_lock locked{lock_};
    for (index known = graph_.find(address); known != 0; known = graph_.find(address)) {
      if (is_in_use(graph_[known])) return true;
      graph_.bury(known);
    }
    return false;
  }

  watch_lock lock_;
  lock_graph<most_locks, most_orders> graph_{};
  std::uint64_t acquisitions_ = 0;
  bool overflowed_ = false;
};

}  // namespace lockyard::inline v0::debug::detail
