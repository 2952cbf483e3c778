// SPDX-License-Identifier: Apache-2.0
#pragma once

// basic_shared_mutex in small, with one of its rules left out. It shares the arithmetic of the word
// with it, and neither spins nor lets newcomers barge.

#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/shared_word.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockyard::checker {

enum class shared_fault : std::uint8_t {
  none,                  ///< shows that the fault is found, not this copy
  leaves_silently,       ///< the last reader does not look after the line
  comes_silently,        ///< unlike a reader that fails to enter as the last one left
  looks_first,           ///< a sleeper looks at the word, and marks it in another step
  gives_up_silently,     ///< a writer that gives up leaves the lock closed
  counts_no_sleepers,    ///< readers that slept hold the lock and are not in the word
  wakes_one_reader,      ///< of those that the word counts
  upgrades_at_once,      ///< while readers read
  trusts_the_lock,       ///< a reader looks at the word after it has left
  keeps_flag_of_writer,  ///< I1: closed stays when the last writer is granted the lock
};

template <world W, shared_fault Fault>
class faulty_shared_mutex : public detail::timed_shared_lock<faulty_shared_mutex<W, Fault>, W>,
                            detail::shared_word {
  using lot = detail::parking_lot<W>;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acq_rel = std::memory_order_acq_rel;
  static constexpr bool has(shared_fault one) { return Fault == one; }

 public:
  void lock() noexcept { acquire(request::write); }
  void unlock() noexcept { give_up(written); }
  void lock_shared() noexcept {
    if ((word_.fetch_add(reader, acq_rel) & blocked_by(request::read)) == 0) return;
    leave(!has(shared_fault::comes_silently));
    wait_for(request::read);
  }
  [[nodiscard]] bool try_lock_shared() noexcept { return take_shared(); }
  void unlock_shared() noexcept { leave(!has(shared_fault::leaves_silently)); }
  void lock_upgrade() noexcept { acquire(request::upgrade); }
  void unlock_upgrade_and_lock() noexcept {
    if (has(shared_fault::upgrades_at_once)) {
      word_.fetch_add(taken_by(request::write_on), acq_rel);
    } else {
      acquire(request::write_on);
    }
  }
  void unlock_upgrade_and_lock_shared() noexcept { give_up(upgradable - reader); }
  void unlock_and_lock_shared() noexcept { give_up(written - reader); }
  void unlock_and_lock_upgrade() noexcept { give_up(written - upgradable); }

 private:
  friend detail::timed_lock<faulty_shared_mutex, W>;
  friend detail::timed_shared_lock<faulty_shared_mutex, W>;

  bool take(request wanted = request::write) noexcept {
    std::uint32_t found = word_.load(relaxed);
    while ((found & blocked_by(wanted)) == 0) {
      if (word_.compare_exchange_strong(found, found + taken_by(wanted), acq_rel, relaxed)) {
        return true;
      }
    }
    return false;
  }
  bool take_shared() noexcept { return take(request::read); }
  bool take_until(typename W::deadline limit) noexcept { return wait_for(request::write, limit); }
  bool take_shared_until(typename W::deadline limit) noexcept {
    return wait_for(request::read, limit);
  }
  void acquire(request wanted) noexcept {
    if (!take(wanted)) wait_for(wanted);
  }

  void leave(bool looks) noexcept {
    const std::uint32_t found = word_.fetch_sub(reader, acq_rel);
    if ((found & (readers | closed | written)) != (reader | closed) || !looks) return;
    auto& home = lot::bucket_of(&word_);
    home.bucket_lock().lock();
    if (has(shared_fault::trusts_the_lock) || first_ones(home) != std::array<node*, 4>{})
      redistribute(0);
    home.bucket_lock().unlock();
  }
  void give_up(std::uint32_t released) noexcept {
    auto& home = lot::bucket_of(&word_);
    home.bucket_lock().lock();
    redistribute(released);
    home.bucket_lock().unlock();
  }

  /// Wakes under the guard.
  void redistribute(std::uint32_t released) noexcept {
    auto& home = lot::bucket_of(&word_);
    std::array<node*, 4> first = first_ones(home);
    line asleep;
    std::ranges::transform(first, asleep.counts.begin(), &lot::bucket::length);
    std::uint32_t found = word_.load(relaxed);
    choice chosen;
    std::uint32_t next = 0;
    do {
      chosen = choose(asleep, found - released, (released & written) != 0, false);
      chosen.is_granted = true;
      next = granted(asleep, chosen, found - released);
      if (has(shared_fault::keeps_flag_of_writer)) next |= found & closed;
      if (has(shared_fault::counts_no_sleepers)) next -= chosen.readers * reader;
    } while (!word_.compare_exchange_strong(found, next, acq_rel, relaxed));
    if (chosen.first_of) {
      W::wake(home.unpark(*first[index_of(*chosen.first_of)], wake_reason::owner), 1);
    }
    node* reading = first[index_of(request::read)];
    if (has(shared_fault::wakes_one_reader)) chosen.readers = std::min(chosen.readers, 1U);
    for (std::uint32_t left = chosen.readers; left > 0; --left) {
      node& one = *reading;
      reading = home.next(one);
      W::wake(home.unpark(one, wake_reason::owner), 1);
    }
  }

  static constexpr auto kind_of(request wanted) noexcept {
    return static_cast<detail::waiter_kind>(static_cast<std::size_t>(detail::waiter_kind::shared) +
                                            index_of(wanted));
  }
  std::array<node*, 4> first_ones(const typename lot::bucket& home) const noexcept {
    std::array<node*, 4> found{};
    for (const request each :
         {request::read, request::upgrade, request::write, request::write_on}) {
      found[index_of(each)] = home.first(&word_, kind_of(each));
    }
    return found;
  }

  bool take_or_mark(request wanted) noexcept {
    const std::uint32_t marks = writes(wanted) ? closed | parked : parked;
    std::uint32_t found = word_.load(relaxed);
    for (;;) {
      const bool is_blocked = (found & blocked_by(wanted)) != 0;
      if (is_blocked && has(shared_fault::looks_first)) {
        word_.fetch_or(marks, acq_rel);
        return false;
      }
      const std::uint32_t next = is_blocked ? found | marks : found + taken_by(wanted);
      if (word_.compare_exchange_strong(found, next, acq_rel, relaxed)) return !is_blocked;
    }
  }

  bool wait_for(request wanted, typename W::deadline limit = W::never) noexcept {
    auto& home = lot::bucket_of(&word_);
    node self{&word_, kind_of(wanted), {}};
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    const bool is_taken = take_or_mark(wanted);
    if (!is_taken) home.link(self);
    home.bucket_lock().unlock();
    if (is_taken) return true;
    while (self.reason() == wake_reason::none) {
      if (self.sleep(limit) != W::wait_result::timed_out) continue;
      home.bucket_lock().lock();
      const wake_reason reason = self.reason();
      if (reason == wake_reason::none) {
        home.remove(self);
        if (!has(shared_fault::gives_up_silently)) redistribute(0);
      }
      home.bucket_lock().unlock();
      return reason == wake_reason::owner;
    }
    return true;
  }

  atomic<W, std::uint32_t> word_{0};
};

}  // namespace lockyard::checker
