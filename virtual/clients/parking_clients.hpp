// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parking lot by itself, and locks that park, from where their waiters matter on.

#include <checker/registry.hpp>

#include <lockyard/detail/parking_lot.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lockyard::checker {

/// A world in which the parking lot's guard is the lock that it is on the real machine.
struct with_real_guard : model::model {
  using unwatched = with_real_guard;
  template <class Lock>
  using inner_lock = Lock;
};

/// A world in which locks share a bucket, as all do in the model, and have tags of their own.
struct own_tags : model::model {
  using unwatched = own_tags;
  static inline thread_local std::array<const void*, 2> locks{};  ///< in the current execution
  static std::uint64_t hash(const void* address) noexcept {
    const auto place = std::ranges::find(locks, address) - locks.begin();
    return static_cast<std::uint64_t>(place) << 17U;
  }
};

/// Two events in one bucket of the parking lot. The first thread makes the first event happen, the
/// last thread the second one; the others wait for one each, in turns, and the last of them gives
/// up when its deadline passes.
template <world W>
class parking_lot_client : public model::client {
 public:
  explicit parking_lot_client(const model::client_size& size) : threads_{size.threads} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }

  void thread(unsigned index) override {
    if (index == 0) {
      happen(first_);
      happen(second_);
    } else {
      event& mine = index % 2 == 1 ? first_ : second_;
      const bool is_last = index + 1 == threads_;
      const bool happened =
          is_last ? wait(mine, W::deadline_after(std::chrono::milliseconds{1})) : wait(mine);
      model::require(happened || is_last, "no thread gives up without a deadline");
      if (happened) model::require(mine.data.read() == 1, "what came before the event is seen");
    }
  }

 private:
  using lot = detail::parking_lot<W>;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;
  struct event {
    model::plain_data<unsigned> data{0};
    model::plain_data<bool> has_happened{false};  ///< under the guard
  };

  void happen(event& mine) {
    auto& home = lot::bucket_of(&mine);
    mine.data.write(1);
    std::array<const typename lot::sleeping_word*, model::max_threads> sleepers{};
    std::size_t count = 0;
    home.bucket_lock().lock();
    mine.has_happened.write(true);
    while (node* const sleeper = home.first(&mine, detail::waiter_kind::others)) {
      sleepers[count++] = &home.unpark(*sleeper, wake_reason::retry);
    }
    home.bucket_lock().unlock();
    for (std::size_t i = 0; i < count; ++i) W::wake(*sleepers[i], 1);
  }

  bool wait(event& mine, typename W::deadline limit = W::never) {
    auto& home = lot::bucket_of(&mine);
    node self{&mine, detail::waiter_kind::others, {}};
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    const bool has_happened = mine.has_happened.read();
    if (!has_happened) home.link(self);
    home.bucket_lock().unlock();
    if (has_happened) return true;
    while (self.reason() == wake_reason::none) {
      if (self.sleep(limit) == W::wait_result::timed_out) return !leave(home, self);
    }
    return true;
  }

  static bool leave(typename lot::bucket& home, node& self) {
    home.bucket_lock().lock();
    const bool is_linked = home.is_linked(self);
    if (is_linked) home.remove(self);
    home.bucket_lock().unlock();
    // A thread that reads its node's message sees all that came before it.
    return is_linked || self.reason() == wake_reason::none;
  }

  unsigned threads_;
  event first_;
  event second_;
};

/// The actions of a thread with one of two locks; both are held when the threads begin.
struct part {
  std::size_t which = 0;
  bool releases = false;  ///< first
  bool acquires = false;  ///< then, and releases it again
  bool timed = false;     ///< may go without

  bool operator==(const part&) const = default;
};
inline constexpr part releases{.releases = true};
inline constexpr part releases_second{.which = 1, .releases = true};
inline constexpr part waits{.acquires = true};
inline constexpr part waits_for_second{.which = 1, .acquires = true};
inline constexpr part waits_a_while{.acquires = true, .timed = true};
inline constexpr part comes_back{.releases = true, .acquires = true};

/// Begins where a search from the first acquisition on comes late: the locks' bucket is open (an
/// unlock has been there), and the locks are held. Each thread has its part.
template <class Lock, part... Parts>
class held_locks_client : public model::client {
 public:
  explicit held_locks_client(const model::client_size& size) : threads_{size.threads} {
    for (std::size_t i = 0; i < places_.size(); ++i) own_tags::locks[i] = &places_[i].lock;
    places_[0].lock.lock();
    places_[0].lock.unlock();
    for (place& each : places_) each.lock.lock();
  }

  [[nodiscard]] unsigned threads() const override { return threads_; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return static_cast<unsigned>(std::ranges::find(parts, parts[index]) - parts.begin());
  }

  void thread(unsigned index) override {
    const part mine = parts[index];
    if (mine.releases) leave(mine.which);
    if (!mine.acquires) return;
    if (!mine.timed) {
      places_[mine.which].lock.lock();
    } else if (!places_[mine.which].lock.try_lock_for(std::chrono::milliseconds{1})) {
      return;
    }
    leave(mine.which);
  }

  void finish() override {
    unsigned least = 0;
    unsigned most = 0;
    for (unsigned i = 0; i < threads_; ++i) {
      if (!parts[i].acquires) continue;
      ++most;
      if (!parts[i].timed) ++least;
    }
    require_between(least, most);
  }

 private:
  static constexpr std::array parts{Parts...};
  struct place {
    Lock lock;
    model::plain_data<unsigned> count{0};
  };

  void leave(std::size_t which) {
    place& at = places_[which];
    at.count.write(at.count.read() + 1);
    at.lock.unlock();
  }

  /// Acquisitions in addition to the first two.
  void require_between(unsigned least, unsigned most) {
    unsigned all = 0;
    for (const place& each : places_) all += each.count.read();
    for (unsigned i = 0; i < threads_; ++i) all -= parts[i].releases ? 1U : 0U;
    model::require(least <= all && all <= most, "no update is lost");
  }

  unsigned threads_;
  std::array<place, 2> places_{};
};

}  // namespace lockyard::checker
