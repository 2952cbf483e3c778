// SPDX-License-Identifier: Apache-2.0
#pragma once

// One interface to all kinds of objects that park threads. The creator makes an object for which
// threads have to wait, and later ends the waits. The waiter that leaves last destroys the object;
// the creator and the other waiters may still be within their last calls then.

#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/event/auto_reset_event.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/semaphore.hpp>
#include <lockyard/park/shared_mutex.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "stress/interruption.hpp"

namespace lockyard::testing {

/// The locks of the condition variables, in the same bucket as the objects that are destroyed.
struct lasting_objects {
  mutex& lock;
  byte_mutex& byte_lock;
};

/// State that the threads of one object share.
struct life {
  lasting_objects with;
  std::atomic<unsigned> waiters{0};  ///< how many threads wait for the object, and then leave
  std::atomic<unsigned> waiting{0};  ///< how many wait, of a kind whose waits must begin first
  std::atomic<unsigned> inside{0};   ///< how many have not left
  std::atomic<bool> may_return{false};
  std::atomic<bool> has_early_return{false};  ///< a wait returned before the creator ended it

  /// Counts a waiter out whose wait was ended. Returns whether it is the last.
  bool leave() {
    while (!may_return) {
      has_early_return = true;
      ::pause();  // keeps the state for the report
    }
    return give_up();
  }
  /// Counts a waiter out whose wait has timed out. Returns whether it is the last.
  bool give_up() { return --inside == 0; }
};

/// A thread that waits for an object.
struct waiter {
  life& of;
  random_numbers& random;
  interruption& interrupts;
  bool is_patient;  ///< waits without a deadline

  /// Fewer waiters than that may spin.
  static constexpr unsigned few = 4;

  [[nodiscard]] std::chrono::microseconds patience() const {
    return std::chrono::microseconds{random() % (of.waiters < few ? 300 : 2000)};
  }

  /// Calls `waits()`, or one of `tries()` and `tries_for(duration)` until the call succeeds.
  void acquire(auto waits, auto tries, auto tries_for) const {
    switch (random() % 4) {
      case 0:
        while (!tries_for(patience())) {
        }
        return;
      case 1: return waits();
      default:
        // While this thread spins here the thread that releases finds no sleeper.
        for (unsigned turn = 0; turn < 200 && of.waiters < few; ++turn) {
          if (tries()) return;
          for (unsigned i = 0; i < 64; ++i) native::pause();
          if (turn % 4 == 0) native::yield();
        }
        return waits();
    }
  }
  void lock(auto& mutex) const {
    acquire([&] { mutex.lock(); }, [&] { return mutex.try_lock(); },
            [&](auto duration) { return mutex.try_lock_for(duration); });
  }
};

/// A lock that its creator holds, and that all waiters want alone.
template <class Lock>
struct held_alone {
  Lock lock;
  explicit held_alone(const lasting_objects& /*with*/) { lock.lock(); }
  bool wait(const waiter& by) {
    by.lock(lock);
    const bool is_last = by.of.leave();
    if (is_last) {
      lock.unlock();
    } else {
      by.interrupts.within([&] { lock.unlock(); });
    }
    return is_last;
  }
  void end(const life& /*of*/) { lock.unlock(); }
};

/// A shared lock that its creator holds, and that readers and a few writers want. The last waiter
/// holds it alone in the end.
struct held_against_readers {
  shared_mutex lock;
  explicit held_against_readers(const lasting_objects& /*with*/) { lock.lock(); }
  bool wait(const waiter& by) {
    const bool writes = by.random() % 8 == 0;
    if (writes) {
      by.lock(lock);
    } else {
      by.acquire([&] { lock.lock_shared(); }, [&] { return lock.try_lock_shared(); },
                 [&](auto duration) { return lock.try_lock_shared_for(duration); });
    }
    const bool is_last = by.of.leave();
    by.interrupts.within([&] { writes ? lock.unlock() : lock.unlock_shared(); });
    if (is_last && !writes) {
      lock.lock();
      lock.unlock();
    }
    return is_last;
  }
  void end(const life& /*of*/) { lock.unlock(); }
};

/// A semaphore whose creator releases the permits of all waiters at once.
struct without_permits {
  semaphore permits{0};
  explicit without_permits(const lasting_objects& /*with*/) {}
  bool wait(const waiter& by) {
    by.acquire([&] { permits.acquire(); }, [&] { return permits.try_acquire(); },
               [&](auto duration) { return permits.try_acquire_for(duration); });
    return by.of.leave();
  }
  void end(const life& of) { permits.release(of.waiters); }
};

/// An event that its creator sets for the first waiter, and each waiter for the next.
struct not_set {
  auto_reset_event happens;
  explicit not_set(const lasting_objects& /*with*/) {}
  bool wait(const waiter& by) {
    by.acquire([&] { happens.wait(); }, [&] { return happens.try_wait(); },
               [&](auto duration) { return happens.wait_for(duration); });
    if (by.of.leave()) return true;
    by.interrupts.within([&] { happens.set(); });
    return false;
  }
  void end(const life& /*of*/) { happens.set(); }
};

/// An event count; its creator makes the condition true and notifies all.
struct counted_events {
  event_count changes;
  explicit counted_events(const lasting_objects& /*with*/) {}
  bool wait(const waiter& by) {
    changes.await([&] { return by.of.may_return.load(); });
    return by.of.leave();
  }
  void end(const life& /*of*/) { changes.notify_all(); }
};

/// A condition variable that its creator notifies, without the lock, when all waiters wait. No wait
/// of this library returns for no reason, so a wait that has returned was notified or timed out.
template <class Condition, class Lock>
struct conditional {
  Condition changes;
  Lock& lock;
  explicit conditional(const lasting_objects& with)
      : lock{std::get<Lock&>(std::tie(with.lock, with.byte_lock))} {}
  bool wait(const waiter& by) {
    lock.lock();
    ++by.of.waiting;
    bool in_time = true;
    if (by.is_patient) {
      changes.wait(lock);
    } else {
      in_time = changes.wait_for(lock, by.patience()) == std::cv_status::no_timeout;
    }
    lock.unlock();
    return in_time ? by.of.leave() : by.of.give_up();
  }
  /// Whether the creator may notify.
  bool is_ready(const life& of) {
    lock.lock();
    const bool all_wait = of.waiting == of.waiters;
    lock.unlock();
    return all_wait;
  }
  void end(const life& of) { of.waiters == 1 ? changes.notify_one() : changes.notify_all(); }
};

using reusable_objects =
    std::tuple<held_alone<mutex>, held_alone<basic_mutex<native, release_fence::full>>,
               held_alone<byte_mutex>, held_alone<shared_mutex>, held_against_readers,
               without_permits, not_set, counted_events, conditional<condition_variable, mutex>,
               conditional<condition_variable_any, byte_mutex>>;

/// Indices into the list above.
namespace kind {
enum : std::size_t {
  mutex,
  fenced_mutex,
  byte_mutex,
  writers,
  readers,
  semaphore,
  auto_reset_event,
  event_count,
  condition,
  condition_any,
};
}
struct kind_traits {
  std::string_view name;
  /// The object must not be destroyed before the creator's last call has returned.
  bool outlives_calls = false;
  /// The creator's last call may end waits that begin later, for the next object of this kind too.
  bool may_end_later_waits = false;
};
inline constexpr std::array<kind_traits, std::tuple_size_v<reusable_objects>> kinds{{
    {.name = "mutex"},
    {.name = "mutex with a full fence"},
    {.name = "byte_mutex"},
    {.name = "shared_mutex, to write"},
    {.name = "shared_mutex, to read"},
    {.name = "semaphore"},
    {.name = "auto_reset_event"},
    {.name = "event_count", .outlives_calls = true},
    {.name = "condition_variable", .may_end_later_waits = true},
    {.name = "condition_variable_any", .may_end_later_waits = true},
}};

using all_kinds = std::make_index_sequence<kinds.size()>;

template <std::size_t... I>
constexpr std::size_t largest(std::index_sequence<I...> /*all*/) {
  return std::max({sizeof(std::tuple_element_t<I, reusable_objects>)...});
}

/// Room for an object of any kind.
struct alignas(64) place {
  std::array<std::byte, largest(all_kinds{})> bytes{};

  template <class Object>
  Object& as() {
    return *std::launder(reinterpret_cast<Object*>(bytes.data()));
  }
  template <class Object, class... Arguments>
  Object& make(Arguments&&... arguments) {
    return *::new (bytes.data()) Object(std::forward<Arguments>(arguments)...);
  }
};

/// Hands out places whose addresses share a bucket.
class crowded_places {
 public:
  crowded_places() {
    const void* const home = bucket_at(all_.data());
    for (place& each : all_) {
      if (bucket_at(&each) == home) found_.push_back(&each);
    }
  }
  place& next() { return *found_.at(used_++); }

 private:
  static const void* bucket_at(const void* address) {
    return &lockyard::detail::parking_lot<native>::bucket_of(address);
  }
  std::vector<place> all_{static_cast<std::size_t>(native::table_size) * 64};
  std::vector<place*> found_;
  std::size_t used_ = 0;
};

}  // namespace lockyard::testing
