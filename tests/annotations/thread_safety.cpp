// SPDX-License-Identifier: Apache-2.0

// Uses of locks for Clang's thread-safety analysis to judge. As it is, all are right; MISUSE adds
// one that is wrong.

#include <lockyard/guard.hpp>
#include <lockyard/lockyard.hpp>

#include <mutex>

namespace {

/// The same use is right for all locks, so that every lock's annotations are checked.
template <class Lock>
class account {
 public:
  void pay_in() {
    lock_.lock();
    ++balance_;
    lock_.unlock();
  }
  void pay_in_if_free() {
    if (lock_.try_lock()) {
      ++balance_;
      lock_.unlock();
    }
  }
  void pay_in_guarded() {
    const lockyard::guard held{lock_};
    ++balance_;
  }
  void pay_in_asserted() {
    lock_.assert_held();
    ++balance_;
  }
  void pay_in_not_held() {
    lock_.assert_not_held();
    pay_in();
  }
  void pay_in_by_pieces() {
    const lockyard::guard held{lock_};
    pay_in_while_held();
  }

#if defined(MISUSE)
  void misuse();
#endif

 private:
  void pay_in_while_held() LOCKYARD_REQUIRES(lock_) { ++balance_; }

  Lock lock_;
  int balance_ LOCKYARD_GUARDED_BY(lock_) = 0;
};

#if defined(MISUSE)
template <class Lock>
void account<Lock>::misuse() {
#if MISUSE == 1
  ++balance_;
#elif MISUSE == 2
  const lockyard::guard held{lock_};
  lock_.lock();
#elif MISUSE == 3
  lock_.lock();
#elif MISUSE == 4
  lock_.unlock();
#elif MISUSE == 5
  static_cast<void>(lock_.try_lock());
  ++balance_;
#elif MISUSE == 8
  const lockyard::guard held{lock_};
  lock_.assert_not_held();
#elif MISUSE == 6 || MISUSE == 7 || MISUSE == 9  // misuses of shared locks and of waits, below
#else
#error "no such misuse"
#endif
}
#endif

template <class Lock>
void use(const lockyard::catalog_entry<Lock>& entry) {
  if constexpr (requires { sizeof(Lock); }) {
    account<Lock> mine;
    mine.pay_in();
    mine.pay_in_if_free();
    mine.pay_in_guarded();
    mine.pay_in_asserted();
    mine.pay_in_not_held();
    mine.pay_in_by_pieces();
#if defined(MISUSE)
    mine.misuse();
#endif
  }
  static_cast<void>(entry);
}

/// Held by readers together.
class shared_account {
 public:
  int balance() {
    const lockyard::shared_guard held{lock_};
    return balance_;
  }
  int balance_asserted() {
    lock_.assert_held_shared();
    return balance_;
  }
  int balance_if_free() {
    if (!lock_.try_lock_shared()) return 0;
    const int found = balance_;
    lock_.unlock_shared();
    return found;
  }
  void pay_in_if_positive() {
    lock_.lock_upgrade();
    if (balance_ < 0) return lock_.unlock_upgrade();
    lock_.unlock_upgrade_and_lock();
    ++balance_;
    lock_.unlock();
  }
  int pay_in() {
    lock_.lock();
    ++balance_;
    lock_.unlock_and_lock_shared();
    const int found = balance_;
    lock_.unlock_shared();
    return found;
  }
#if defined(MISUSE) && MISUSE == 6
  void misuse() {
    const lockyard::shared_guard held{lock_};
    ++balance_;
  }
#elif defined(MISUSE) && MISUSE == 9
  void misuse() {
    lock_.assert_held_shared();
    ++balance_;
  }
#endif

 private:
  lockyard::shared_mutex lock_;
  int balance_ LOCKYARD_GUARDED_BY(lock_) = 0;
};

/// Waited for, with the lock held before and after.
class awaited_account {
 public:
  void pay_in() {
    const lockyard::guard held{lock_};
    ++balance_;
    changed_.notify_one();
    any_changed_.notify_one();
  }
  void pay_out() {
    const lockyard::guard held{lock_};
    while (balance_ == 0) changed_.wait(lock_);
    while (balance_ == 0) any_changed_.wait(lock_);
    --balance_;
  }
#if defined(MISUSE) && MISUSE == 7
  void misuse() { changed_.wait(lock_); }
#endif

 private:
  lockyard::mutex lock_;
  lockyard::condition_variable changed_;
  lockyard::condition_variable_any any_changed_;
  int balance_ LOCKYARD_GUARDED_BY(lock_) = 0;
};

/// With a lock of which the analysis knows nothing.
void wait_with_a_unique_lock(lockyard::condition_variable& changed, lockyard::mutex& mine) {
  std::unique_lock held{mine};
  changed.wait(held);
}

}  // namespace

void use_all() {
  lockyard::mutex free;
  lockyard::condition_variable changed;
  wait_with_a_unique_lock(changed, free);
  awaited_account awaited;
  awaited.pay_in();
  awaited.pay_out();
  shared_account mine;
  mine.pay_in_if_positive();
  static_cast<void>(mine.balance() + mine.balance_asserted() + mine.balance_if_free() +
                    mine.pay_in());
  lockyard::for_each_entry([](const auto& entry) { use(entry); });
}
