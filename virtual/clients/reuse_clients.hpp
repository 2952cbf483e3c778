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
#include <string_view>
#include <vector>

namespace lockyard::checker {

/// A world in which objects share a bucket, as all do in the model, and some addresses have tags of
/// their own; all others share one. A spin is one look, so that a thread that waits sleeps.
struct reuse_world : model::model {
  using unwatched = reuse_world;
  static inline thread_local std::array<const void*, 3> addresses{};  ///< in the current execution
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

/// What the threads of a client share besides the object whose memory is reused.
struct reuse_environment {
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
  explicit reused_lock(reuse_environment& /*shared*/) { lock.lock(); }
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
  explicit reused_shared_mutex_read(reuse_environment& /*shared*/) { lock.lock(); }
  void wait() { lock.lock_shared(); }
  void release() { lock.unlock(); }
  basic_shared_mutex<reuse_world> lock;
};

/// A writer waits for a reader.
struct reused_shared_mutex_write {
  static constexpr bool outlives_release = false;
  explicit reused_shared_mutex_write(reuse_environment& /*shared*/) { lock.lock_shared(); }
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
  explicit reused_semaphore(reuse_environment& /*shared*/) {}
  void wait() { semaphore.acquire(); }
  void release() { semaphore.release(); }
  basic_semaphore<reuse_world> semaphore{0};
};

/// Notifies under the lock: a thread that finds an item may end the condition variable.
template <class Condition, auto Lock>
struct reused_condition {
  static constexpr bool outlives_release = false;
  explicit reused_condition(reuse_environment& with) : shared{&with} {}
  void wait() {
    (shared->*Lock).lock();
    condition.wait(shared->*Lock, [this] { return shared->items.read() != 0; });
    shared->items.write(shared->items.read() - 1);
    (shared->*Lock).unlock();
  }
  void release() {
    // The object may be gone before the lock is.
    reuse_environment& with = *shared;
    (with.*Lock).lock();
    with.items.write(with.items.read() + 1);
    condition.notify_one();
    (with.*Lock).unlock();
  }
  Condition condition;
  reuse_environment* shared;
};

struct reused_condition_variable
    : reused_condition<basic_condition_variable<reuse_world>, &reuse_environment::mutex> {
  using reused_condition::reused_condition;
};
struct reused_condition_variable_any
    : reused_condition<basic_condition_variable_any<reuse_world>, &reuse_environment::spinlock> {
  using reused_condition::reused_condition;
};

struct reused_event_count {
  static constexpr bool outlives_release = true;
  explicit reused_event_count(reuse_environment& with)
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
  reuse_environment* shared;
  unsigned before;
};

template <class Event>
struct reused_event {
  static constexpr bool outlives_release = false;
  explicit reused_event(reuse_environment& /*shared*/) {}
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

/// A kind of object: what a client does with one of them.
struct reused_kind {
  std::string_view name;
  std::size_t bytes;
  bool outlives_release;
  bool gives_up;  ///< a wait of it ends by time first
  void (*make)(void* at, reuse_environment& shared);
  void (*wait)(void* at);
  void (*release)(void* at);
  void (*end)(void* at);
};

template <class Object>
Object& object_at(void* memory) {
  return *std::launder(static_cast<Object*>(memory));
}

template <class Object>
constexpr reused_kind kind_of(std::string_view name, bool gives_up = false) {
  static_assert(alignof(Object) <= alignof(std::max_align_t));
  return {.name = name,
          .bytes = sizeof(Object),
          .outlives_release = Object::outlives_release,
          .gives_up = gives_up,
          .make = [](void* memory, reuse_environment& with) { ::new (memory) Object{with}; },
          .wait = [](void* memory) { object_at<Object>(memory).wait(); },
          .release = [](void* memory) { object_at<Object>(memory).release(); },
          .end = [](void* memory) { std::destroy_at(&object_at<Object>(memory)); }};
}

/// Each kind of object that sleeps in the parking lot, and manual_reset_event, whose wakes name its
/// address.
inline constexpr std::array reused_kinds{
    kind_of<reused_mutex>("mutex"),
    kind_of<reused_byte_mutex>("byte_mutex"),
    kind_of<reused_shared_mutex>("shared_mutex"),
    kind_of<reused_shared_mutex_read>("shared_mutex_read"),
    kind_of<reused_shared_mutex_write>("shared_mutex_write"),
    kind_of<reused_semaphore>("semaphore"),
    kind_of<reused_condition_variable>("condition_variable"),
    kind_of<reused_condition_variable_any>("condition_variable_any"),
    kind_of<reused_event_count>("event_count"),
    kind_of<reused_auto_reset_event>("auto_reset_event"),
    kind_of<reused_manual_reset_event>("manual_reset_event"),
    kind_of<reused_shared_mutex_timed>("shared_mutex_timed", true),
};

/// Three objects have one address, one after the other: an old one, a new one, and a mutex. The
/// first thread releases each. The second thread waits for each, ends it, and makes the next one.
/// Each other thread waits for a mutex of its own, which the first thread releases last. All
/// objects share a bucket. One other mutex has the tag of the reused address; two others have tags
/// of their own, so that the bucket says "several" while both have sleepers.
///
/// So what the first thread still does with the bucket after a release may meet the waiter of an
/// object that was made since. No waiter may return before its release, and each must return after
/// it: no wake-up goes to another object, none is counted twice, and a mutex in whose memory
/// another object was takes no leftover of that object for its own.
class reused_memory_client : public model::client {
 public:
  reused_memory_client(const reused_kind& old_kind, const reused_kind& new_kind, unsigned others)
      : kinds_{&old_kind, &new_kind, &reused_kinds.front()}, others_(others) {
    reuse_world::addresses = {};
    if (others == 2) reuse_world::addresses = {place_.data(), &others_[0], &others_[1]};
    // As every mutex that is in use: the bucket is open.
    shared_.mutex.lock();
    shared_.mutex.unlock();
    for (auto& each : others_) each.lock();
    old_kind.make(place_.data(), shared_);
  }

  [[nodiscard]] unsigned threads() const override {
    return 2 + static_cast<unsigned>(others_.size());
  }

  void thread(unsigned index) override {
    if (index == 0) {
      for (unsigned generation = 0; generation < kinds_.size(); ++generation) release(generation);
      for (auto& each : others_) each.unlock();
    } else if (index == 1) {
      for (unsigned generation = 0; generation < kinds_.size(); ++generation) {
        if (generation > 0) make(generation);
        wait_and_end(*kinds_[generation]);
      }
    } else {
      wait_for_other(index - 2);
    }
  }

 private:
  void release(unsigned generation) {
    const auto is_made = [generation](unsigned made) noexcept { return made >= generation; };
    if (generation > 0) {
      // order[await_made]: acquire; pairs [made]; the object is there.
      reuse_world::await(made_, is_made, std::memory_order_acquire, wait_policies::pausing{});
    }
    is_released_.write(true);
    kinds_[generation]->release(place_.data());
    if (kinds_[generation]->outlives_release) {
      // order[released]: release; pairs [await_released]; nothing of the object is used any more.
      released_.store(true, std::memory_order_release);
    }
  }

  void make(unsigned generation) {
    kinds_[generation]->make(place_.data(), shared_);
    // order[made]: release; pairs [await_made]; publishes the object.
    made_.store(generation, std::memory_order_release);
  }

  void wait_and_end(const reused_kind& kind) {
    kind.wait(place_.data());
    // Or this look is a race, which says as much: nothing of the release happens before.
    model::require(is_released_.read(), "no wait ends before its release");
    is_released_.write(false);
    if (kind.outlives_release) {
      // order[await_released]: acquire; pairs [released]; the object's precondition.
      reuse_world::await(
          released_, [](bool released) noexcept { return released; }, std::memory_order_acquire,
          wait_policies::pausing{});
      // relaxed(unpublished): the first thread stores to it again when the next object is made.
      released_.store(false, std::memory_order_relaxed);
    }
    kind.end(place_.data());
  }

  /// One of them comes first, for they are alike.
  void wait_for_other(unsigned which) {
    if (others_.size() > 1) {
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

  alignas(std::max_align_t)
      std::array<std::byte, std::ranges::max(reused_kinds, {}, &reused_kind::bytes).bytes> place_{};
  std::array<const reused_kind*, 3> kinds_;
  std::vector<basic_mutex<reuse_world>> others_;
  reuse_environment shared_;
  model::word<unsigned> made_{0};
  model::word<bool> released_{false};
  model::word<bool> comes_{false};
  model::plain_data<bool> is_released_{false};
};

}  // namespace lockyard::checker
