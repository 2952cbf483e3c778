// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ck_pr.h>

// These headers are C: they assign the pointer to void that this function returns to a pointer of
// the type that was passed in.
#define ck_pr_fas_ptr(target, value) static_cast<decltype(value)>(ck_pr_fas_ptr(target, value))
#include <spinlock/anderson.h>
#include <spinlock/clh.h>
#include <spinlock/fas.h>
#include <spinlock/mcs.h>
#include <spinlock/ticket.h>
#undef ck_pr_fas_ptr

#include <peers/names.hpp>
#include <peers/team_size.hpp>
#include <peers/thread_nodes.hpp>

#include <bit>
#include <memory>

namespace lockyard::inline v0::peers {

/// Adds nothing.
class ck_fas {
 public:
  void lock() noexcept { ck_spinlock_fas_lock(&lock_); }
  bool try_lock() noexcept { return ck_spinlock_fas_trylock(&lock_); }
  void unlock() noexcept { ck_spinlock_fas_unlock(&lock_); }

 private:
  ck_spinlock_fas_t lock_ = CK_SPINLOCK_FAS_INITIALIZER;
};

/// Adds nothing except try_lock on processors for which the library has none: it acquires a lock
/// that looks free, so it may wait for a thread that came in between.
class ck_ticket {
 public:
  void lock() noexcept { ck_spinlock_ticket_lock(&lock_); }
  bool try_lock() noexcept {
#ifdef CK_F_SPINLOCK_TICKET_TRYLOCK
    return ck_spinlock_ticket_trylock(&lock_);
#else
    if (ck_spinlock_ticket_locked(&lock_)) return false;
    lock();
    return true;
#endif
  }
  void unlock() noexcept { ck_spinlock_ticket_unlock(&lock_); }

 private:
  ck_spinlock_ticket_t lock_ = CK_SPINLOCK_TICKET_INITIALIZER;
};

/// Adds the cost of thread_nodes.
class ck_mcs {
 public:
  void lock() noexcept { ck_spinlock_mcs_lock(&queue_, &nodes::take(this).node()); }
  bool try_lock() noexcept {
    auto& mine = nodes::take(this);
    const bool taken = ck_spinlock_mcs_trylock(&queue_, &mine.node());
    if (!taken) nodes::give_back(mine);
    return taken;
  }
  void unlock() noexcept {
    auto& mine = nodes::of(this);
    ck_spinlock_mcs_unlock(&queue_, &mine.node());
    nodes::give_back(mine);
  }

 private:
  using nodes = thread_nodes<ck_spinlock_mcs_context_t>;

  ck_spinlock_mcs_t queue_ = CK_SPINLOCK_MCS_INITIALIZER;
};

/// Adds the cost of thread_nodes, and the access to a node that the thread left behind earlier:
/// with this lock the node of an acquisition stays behind, and its predecessor's is returned. The
/// library has no try_lock; this one works like ck_ticket's.
class ck_clh {
 public:
  ck_clh() { ck_spinlock_clh_init(&queue_, new node); }
  ck_clh(const ck_clh&) = delete;
  ck_clh& operator=(const ck_clh&) = delete;

  void lock() {
    node* const mine = spare_ != nullptr ? spare_ : new node;
    spare_ = static_cast<node*>(mine->previous);
    held::take(this).node() = mine;
    ck_spinlock_clh_lock(&queue_, mine);
  }
  bool try_lock() {
    if (ck_spinlock_clh_locked(&queue_)) return false;
    lock();
    return true;
  }
  void unlock() noexcept {
    auto& place = held::of(this);
    ck_spinlock_clh_t* mine = place.node();
    ck_spinlock_clh_unlock(&mine);
    held::give_back(place);
    mine->previous = spare_;
    spare_ = static_cast<node*>(mine);
  }

 private:
  // Never deleted: a thread that asks whether the lock is free may read a node that its thread left
  // long ago.
  struct alignas(detail::arch::interference_size) node : ck_spinlock_clh_t {
    node() : ck_spinlock_clh_t{} {}
  };
  using held = thread_nodes<node*>;

  static inline constinit thread_local node* spare_ = nullptr;  // a list linked by `previous`
  ck_spinlock_clh_t* queue_;
};

/// Adds the cost of thread_nodes. It has a slot for each thread of a team. The library has no
/// try_lock; this one works like ck_ticket's.
class ck_anderson {
 public:
  ck_anderson() { ck_spinlock_anderson_init(&lock_, slots_.get(), count_); }
  ck_anderson(const ck_anderson&) = delete;
  ck_anderson& operator=(const ck_anderson&) = delete;

  void lock() noexcept { ck_spinlock_anderson_lock(&lock_, &held::take(this).node()); }
  bool try_lock() noexcept {
    if (ck_spinlock_anderson_locked(&lock_)) return false;
    lock();
    return true;
  }
  void unlock() noexcept {
    auto& place = held::of(this);
    ck_spinlock_anderson_unlock(&lock_, place.node());
    held::give_back(place);
  }

 private:
  using held = thread_nodes<ck_spinlock_anderson_thread_t*>;

  // A power of two: the library then counts without a loop.
  unsigned count_ = std::bit_ceil(team_size);
  std::unique_ptr<ck_spinlock_anderson_thread_t[]> slots_ =
      std::make_unique<ck_spinlock_anderson_thread_t[]>(count_);
  ck_spinlock_anderson_t lock_;
};

}  // namespace lockyard::inline v0::peers
