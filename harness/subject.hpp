// SPDX-License-Identifier: Apache-2.0
#pragma once

// The lock under test without its type. Only what is measured is compiled once for each lock; all
// around it is compiled once.

#include <lockyard/concepts.hpp>
#include <lockyard/detail/arch.hpp>
#include <lockyard/lock_traits.hpp>

#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace lockyard::harness {

/// Locks lie so far apart that none shares a cache line, or a pair of lines that are fetched
/// together, with another one or with what it protects.
inline constexpr std::size_t lock_spacing = detail::arch::interference_size;

/// How far apart locks of a type lie: at least that far.
template <class Lock>
inline constexpr std::size_t spacing_of =
    (sizeof(Lock) + lock_spacing - 1) / lock_spacing * lock_spacing;

/// Memory in whole pages.
class pages {
 public:
  static constexpr std::size_t size = 4096;

  explicit pages(std::size_t count)
      : first_{static_cast<std::byte*>(::operator new(size* count, std::align_val_t{size}))} {}

  [[nodiscard]] std::byte* first() const noexcept { return first_.get(); }

 private:
  struct deleter {
    void operator()(std::byte* page) const noexcept {
      ::operator delete(page, std::align_val_t{size});
    }
  };

  std::unique_ptr<std::byte, deleter> first_;
};

/// What can be done with a lock through a pointer to it.
struct lock_operations {
  std::size_t spacing;
  void (*construct)(void* place);
  void (*destroy)(void* lock);
  void (*lock)(void* lock);
  bool (*try_lock)(void* lock);  ///< null if the lock cannot be tried
  void (*unlock)(void* lock);
  /// Whether two locks wait in one bucket of a table of the process; null if they know of none.
  bool (*shares_bucket)(const void* lock, const void* other);
};

template <class Lock>
constexpr bool (*bucket_question())(const void*, const void*) {
  if constexpr (requires(const Lock& lock) {
                  { Lock::shares_bucket(lock, lock) } noexcept -> std::same_as<bool>;
                }) {
    return [](const void* lock, const void* other) {
      return Lock::shares_bucket(*static_cast<const Lock*>(lock), *static_cast<const Lock*>(other));
    };
  } else {
    return nullptr;
  }
}

template <class Lock>
constexpr bool (*attempt_on())(void*) {
  if constexpr (lockable<Lock>) {
    return [](void* lock) { return static_cast<bool>(static_cast<Lock*>(lock)->try_lock()); };
  } else {
    return nullptr;
  }
}

template <class Lock>
inline constexpr lock_operations operations_on{
    .spacing = spacing_of<Lock>,
    .construct =
        [](void* place) {
          static_assert(spacing_of<Lock> < pages::size && alignof(Lock) <= lock_spacing);
          ::new (place) Lock;
        },
    .destroy = [](void* lock) { static_cast<Lock*>(lock)->~Lock(); },
    .lock = [](void* lock) { static_cast<Lock*>(lock)->lock(); },
    .try_lock = attempt_on<Lock>(),
    .unlock = [](void* lock) { static_cast<Lock*>(lock)->unlock(); },
    .shares_bucket = bucket_question<Lock>()};

/// A lock of the catalogue, to be measured.
struct subject {
  const lock_traits& traits;
  const lock_operations& operations;
};

/// Keeps a lock and what it protects in cache lines of their own, at a place that the seed chooses
/// within a page, because the place alone can change a figure.
template <class Protected>
class arena {
  static_assert(sizeof(Protected) <= pages::size);

 public:
  arena(const subject& of, std::uint64_t seed)
      : operations_{of.operations},
        lock_{pages_.first() + seed % (pages::size / lock_spacing) * lock_spacing},
        protected_{::new(lock_ + operations_.spacing) Protected} {
    operations_.construct(lock_);
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() {
    operations_.destroy(lock_);
    protected_->~Protected();
  }

  [[nodiscard]] void* lock() const noexcept { return lock_; }
  [[nodiscard]] Protected& data() const noexcept { return *protected_; }

 private:
  const lock_operations& operations_;
  pages pages_{3};  // the lock begins in the first, and is smaller than one
  std::byte* lock_;
  Protected* protected_;
};

/// So many locks in a row, each their spacing from the next.
class lock_row {
 public:
  lock_row(const subject& of, std::size_t count);
  lock_row(const lock_row&) = delete;
  lock_row& operator=(const lock_row&) = delete;
  ~lock_row();

  [[nodiscard]] void* first() const noexcept { return pages_.first(); }

 private:
  const lock_operations& operations_;
  std::size_t count_;
  pages pages_;
};

/// Whether a lock refuses everybody while it is held: the starter holds it, each thread tries.
/// Certain on any number of cores, where a lost update needs luck. A lock that does not claim to
/// exclude, or that cannot be tried, is not tried.
class refusal_check {
 public:
  refusal_check(const subject& of, void* lock);
  refusal_check(const refusal_check&) = delete;
  refusal_check& operator=(const refusal_check&) = delete;
  ~refusal_check();

  /// By each thread of the team, while the starter holds the lock. A lock that admits it may hang
  /// later; a line on standard error is then all that is heard of the cause.
  void probe();
  /// By the starter, when every thread has probed.
  void finish();
  /// Whether the lock is tried at all.
  [[nodiscard]] bool applies() const noexcept;
  /// By the starter, when no thread is left.
  [[nodiscard]] bool passed() const;

 private:
  const lock_operations& operations_;
  void* lock_;
  bool claimed_;
  bool finished_ = false;
  std::atomic<bool> admitted_{false};
};

/// The checks of a lock that claims to exclude, and null for one that does not.
nlohmann::ordered_json checks_of(const subject& of, const refusal_check& refusal,
                                 bool counter_is_exact);

}  // namespace lockyard::harness
