// SPDX-License-Identifier: Apache-2.0

// Uses of locks for Clang's thread-safety analysis to judge. As it is, all are right; MISUSE adds
// one that is wrong.

#include <lockyard/guard.hpp>
#include <lockyard/lockyard.hpp>

namespace {

/// What is right for one lock is right for all, so every lock's annotations are looked at.
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
    mine.pay_in_by_pieces();
#if defined(MISUSE)
    mine.misuse();
#endif
  }
  static_cast<void>(entry);
}

}  // namespace

void use_all() {
  lockyard::for_each_entry([](const auto& entry) { use(entry); });
}
