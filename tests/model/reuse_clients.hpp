// SPDX-License-Identifier: Apache-2.0
#pragma once

// Objects that end where the parking lot knows them by their addresses, and others that are made
// at the same addresses.

#include <checker/registry.hpp>

#include <lockyard/event/auto_reset_event.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/event/manual_reset_event.hpp>
#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/semaphore.hpp>
#include <lockyard/park/shared_mutex.hpp>
#include <lockyard/spin/ttas_spinlock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <source_location>

namespace lockyard::checker {

/// A world in which objects share a bucket, as all do in the model, and some addresses have tags of
/// their own; all others share one. A spin is one look, so that a thread that waits sleeps.
struct reuse_world : model::model {
  using unwatched = reuse_world;
  static inline thread_local std::array<const void*, 3>
      addresses{};  ///< of the execution under way
  static std::uint64_t hash(const void* address) noexcept {
    const auto which = std::ranges::find(addresses, address) - addresses.begin();
    return static_cast<std::uint64_t>(which) << 17U;
  }

  static constexpr std::size_t spin = SIZE_MAX;
  static deadline spin_limit(std::chrono::nanoseconds /*most*/ = {}) noexcept { return {spin}; }

  using model::await;
  template <class Atomic, class Predicate, class Policy>
  static std::optional<typename Atomic::value_type> await(
      const Atomic& on, Predicate predicate, std::memory_order order, Policy&& policy,
      deadline limit, std::source_location where = std::source_location::current()) noexcept {
    if (limit.which != spin) return model::await(on, predicate, order, policy, limit, where);
    const auto seen = on.load(order, where);
    return predicate(seen) ? std::optional{seen} : std::nullopt;
  }
};

/// What the threads of a reuse_client share besides the object whose memory is reused.
struct reuse_surroundings {
  basic_mutex<reuse_world> mutex;             ///< for condition_variable
  basic_ttas_spinlock<reuse_world> spinlock;  ///< for condition_variable_any
  model::word<unsigned> condition{0};         ///< for event_count: how many releases there were
  model::plain_data<unsigned> items{0};       ///< for condition variables, under their lock
};

// The kinds of objects. Each is made busy: a thread that calls `wait` returns only after `release`
// has been called once. That thread may then end the object, unless `outlives_release`: then
// only when `release` has returned.

template <class Lock>
struct reused_lock {
  static constexpr bool outlives_release = false;
  explicit reused_lock(reuse_surroundings& /*shared*/) { lock.lock(); }
  void wait() { lock.lock(); }
  void release() { lock.unlock(); }
  Lock lock;
};

struct reused_mutex : reused_lock<basic_mutex<reuse_world>> {
  using reused_lock::reused_lock;
};
struct reused_byte_mutex : reused_lock<basic_byte_mutex<reuse_world>> {
  using reused_lock::reused_lock;
};
struct reused_shared_mutex : reused_lock<basic_shared_mutex<reuse_world>> {
  using reused_lock::reused_lock;
};

/// A reader waits for a writer. It is the only reader, so that it holds the lock alone afterwards.
struct reused_shared_mutex_read {
  static constexpr bool outlives_release = false;
  explicit reused_shared_mutex_read(reuse_surroundings& /*shared*/) { lock.lock(); }
  void wait() { lock.lock_shared(); }
  void release() { lock.unlock(); }
  basic_shared_mutex<reuse_world> lock;
};

/// A writer waits for a reader.
struct reused_shared_mutex_write {
  static constexpr bool outlives_release = false;
  explicit reused_shared_mutex_write(reuse_surroundings& /*shared*/) { lock.lock_shared(); }
  void wait() { lock.lock(); }
  void release() { lock.unlock_shared(); }
  basic_shared_mutex<reuse_world> lock;
};

/// The writer gives up its first wait, so that the last reader may look for a writer that is awake.
struct reused_shared_mutex_timed : reused_shared_mutex_write {
  using reused_shared_mutex_write::reused_shared_mutex_write;
  void wait() {
    if (!lock.try_lock_for(std::chrono::milliseconds{1})) lock.lock();
  }
};

struct reused_semaphore {
  static constexpr bool outlives_release = false;
  explicit reused_semaphore(reuse_surroundings& /*shared*/) {}
  void wait() { semaphore.acquire(); }
  void release() { semaphore.release(); }
  basic_semaphore<reuse_world> semaphore{0};
};

/// Notifies under the lock: a thread that finds an item may end the condition variable.
template <class Condition, auto Lock>
struct reused_condition {
  static constexpr bool outlives_release = false;
  explicit reused_condition(reuse_surroundings& with) : shared{&with} {}
  void wait() {
    (shared->*Lock).lock();
    condition.wait(shared->*Lock, [this] { return shared->items.read() != 0; });
    shared->items.write(shared->items.read() - 1);
    (shared->*Lock).unlock();
  }
  void release() {
    // The object may be gone before the lock is.
    reuse_surroundings& with = *shared;
    (with.*Lock).lock();
    with.items.write(with.items.read() + 1);
    condition.notify_one();
    (with.*Lock).unlock();
  }
  Condition condition;
  reuse_surroundings* shared;
};

struct reused_condition_variable
    : reused_condition<basic_condition_variable<reuse_world>, &reuse_surroundings::mutex> {
  using reused_condition::reused_condition;
};
struct reused_condition_variable_any
    : reused_condition<basic_condition_variable_any<reuse_world>, &reuse_surroundings::spinlock> {
  using reused_condition::reused_condition;
};

struct reused_event_count {
  static constexpr bool outlives_release = true;
  explicit reused_event_count(reuse_surroundings& with)
      : shared{&with}, before{with.condition.load(std::memory_order_relaxed)} {}
  void wait() {
    count.await(
        [this]() noexcept { return shared->condition.load(std::memory_order_acquire) != before; });
  }
  void release() {
    shared->condition.store(before + 1, std::memory_order_release);
    count.notify_one();
  }
  basic_event_count<reuse_world> count;
  reuse_surroundings* shared;
  unsigned before;
};

template <class Event>
struct reused_event {
  static constexpr bool outlives_release = false;
  explicit reused_event(reuse_surroundings& /*shared*/) {}
  void wait() { event.wait(); }
  void release() { event.set(); }
  Event event;
};

struct reused_auto_reset_event : reused_event<basic_auto_reset_event<reuse_world>> {
  using reused_event::reused_event;
};
struct reused_manual_reset_event : reused_event<basic_manual_reset_event<reuse_world>> {
  using reused_event::reused_event;
};

/// Three objects have one address, one after the other: an Old, a New, and a mutex. The first
/// thread releases each. The second thread waits for each, ends it, and makes the next one. Each
/// other thread waits for a mutex of its own, which the first thread releases last. All objects
/// share a bucket. One other mutex has the tag of the reused address; two others have tags of their
/// own, so that the bucket says "several" while both have sleepers.
///
/// So what the first thread still does with the bucket after a release may meet the waiter of an
/// object that was made since. No waiter may return before its release, and each must return after
/// it: no rouse is spent on another object, none is counted twice, and a mutex in whose memory
/// another object was takes no leftover of that object for its own.
template <class Old, class New, unsigned Others>
class reuse_client : public model::client {
  using Last = reused_mutex;

 public:
  explicit reuse_client(const model::exclusion_shape& /*shape*/) {
    reuse_world::addresses = {};
    if constexpr (Others == 2) reuse_world::addresses = {place_.data(), &others_[0], &others_[1]};
    // As every mutex that is in use: the bucket is open.
    shared_.mutex.lock();
    shared_.mutex.unlock();
    for (auto& each : others_) each.lock();
    ::new (place_.data()) Old{shared_};
  }

  [[nodiscard]] unsigned threads() const override { return 2 + Others; }

  void thread(unsigned index) override {
    if (index == 0) {
      release<Old>(0);
      release<New>(1);
      release<Last>(2);
      for (auto& each : others_) each.unlock();
    } else if (index == 1) {
      wait_and_end<Old>();
      make<New>(1);
      wait_and_end<New>();
      make<Last>(2);
      wait_and_end<Last>();
    } else {
      wait_for_other(index - 2);
    }
  }

 private:
  template <class Object>
  Object& object() {
    return *std::launder(reinterpret_cast<Object*>(place_.data()));
  }

  template <class Object>
  void release(unsigned generation) {
    const auto is_made = [generation](unsigned made) noexcept { return made >= generation; };
    if (generation > 0) {
      // order[await_made]: acquire; pairs [made]; the object is there.
      reuse_world::await(made_, is_made, std::memory_order_acquire, wait_policies::pausing{});
    }
    is_released_.write(true);
    object<Object>().release();
    if constexpr (Object::outlives_release) {
      // order[released]: release; pairs [await_released]; nothing of the object is used any more.
      released_.store(true, std::memory_order_release);
    }
  }

  template <class Object>
  void make(unsigned generation) {
    ::new (place_.data()) Object{shared_};
    // order[made]: release; pairs [await_made]; publishes the object.
    made_.store(generation, std::memory_order_release);
  }

  template <class Object>
  void wait_and_end() {
    object<Object>().wait();
    // Or this look is a race, which says as much: nothing of the release happens before.
    model::require(is_released_.read(), "no wait ends before its release");
    is_released_.write(false);
    if constexpr (Object::outlives_release) {
      // order[await_released]: acquire; pairs [released]; as the object's precondition has it.
      reuse_world::await(
          released_, [](bool released) noexcept { return released; }, std::memory_order_acquire,
          wait_policies::pausing{});
      // relaxed(unpublished): the first thread stores to it again when the next object is made.
      released_.store(false, std::memory_order_relaxed);
    }
    object<Object>().~Object();
  }

  /// One of them comes first, for they are alike.
  void wait_for_other(unsigned which) {
    if (Others > 1) {
      // relaxed(hint): for the size of the search.
      if (which == 0) comes_.store(true, std::memory_order_relaxed);
      const auto is_true = [](bool comes) noexcept { return comes; };
      if (which > 0) {
        // relaxed(hint): as above.
        reuse_world::await(comes_, is_true, std::memory_order_relaxed, wait_policies::pausing{});
      }
    }
    others_[which].lock();
    others_[which].unlock();
  }

  alignas(16) std::array<std::byte, std::max({sizeof(Old), sizeof(New), sizeof(Last)})> place_{};
  std::array<basic_mutex<reuse_world>, Others> others_;
  reuse_surroundings shared_;
  model::word<unsigned> made_{0};
  model::word<bool> released_{false};
  model::word<bool> comes_{false};
  model::plain_data<bool> is_released_{false};
};

}  // namespace lockyard::checker
