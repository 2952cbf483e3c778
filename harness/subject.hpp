// SPDX-License-Identifier: Apache-2.0
#pragma once

// The lock under test, type-erased. Only the measured code is compiled for each lock; everything
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

/// Locks are placed so far apart that none shares a cache line, or a pair of lines that are fetched
/// together, with another lock or with the data that it protects.
inline constexpr std::size_t lock_spacing = detail::arch::interference_size;

/// The distance between locks of a type: at least lock_spacing.
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

/// The operations on a lock, through a pointer to it.
struct lock_operations {
  std::size_t spacing;
  void (*construct)(void* place);
  void (*destroy)(void* lock);
  void (*lock)(void* lock);
  bool (*try_lock)(void* lock);  ///< null if the lock cannot be tried
  void (*unlock)(void* lock);
  /// Tells whether two locks wait in one bucket of a table of the process; null if they use none.
  bool (*share_bucket)(const void* lock, const void* other);
  std::size_t size;
  std::size_t alignment;
};

template <class Lock>
constexpr bool (*bucket_question())(const void*, const void*) {
  if constexpr (requires(const Lock& lock) {
                  { share_bucket(lock, lock) } noexcept -> std::same_as<bool>;
                }) {
    return [](const void* lock, const void* other) {
      return share_bucket(*static_cast<const Lock*>(lock), *static_cast<const Lock*>(other));
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
    .share_bucket = bucket_question<Lock>(),
    .size = sizeof(Lock),
    .alignment = alignof(Lock)};

/// A lock of the catalogue that is to be measured.
struct subject {
  const lock_traits& traits;
  const lock_operations& operations;
};

/// Where the data lie that a lock protects.
enum class layout : std::uint8_t {
  padded,        ///< on cache lines that the lock does not touch
  next_to_data,  ///< directly behind the lock, so on its line if there is room
};

/// Keeps a lock and the data that it protects, by default in separate cache lines, at a place
/// within a page that the seed chooses, because the place alone can change a figure. The lock
/// begins a line in either layout.
template <class Protected>
class arena {
  static_assert(sizeof(Protected) <= pages::size);

 public:
  arena(const subject& of, std::uint64_t seed, layout data_at = layout::padded)
      : operations_{of.operations},
        lock_{pages_.first() + seed % (pages::size / lock_spacing) * lock_spacing},
        protected_{::new(lock_ + distance_to_data(data_at)) Protected} {
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
  [[nodiscard]] std::size_t distance_to_data(layout data_at) const noexcept {
    if (data_at == layout::padded) return operations_.spacing;
    return (operations_.size + alignof(Protected) - 1) / alignof(Protected) * alignof(Protected);
  }

  const lock_operations& operations_;
  pages pages_{3};  // the lock begins in the first page, and is smaller than a page
  std::byte* lock_;
  Protected* protected_;
};

/// Several locks in a row, at their spacing.
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

/// Checks that a lock refuses every thread while it is held: the starter holds it, each thread
/// tries. Certain with any number of cores, whereas a lost update depends on luck. A lock that does
/// not claim to exclude, or has no try_lock, is not checked.
class refusal_check {
 public:
  refusal_check(const subject& of, void* lock);
  refusal_check(const refusal_check&) = delete;
  refusal_check& operator=(const refusal_check&) = delete;
  ~refusal_check();

  /// Called by each thread of the team while the starter holds the lock. A lock that admits the
  /// thread may hang later; a line on standard error is then the only report of the cause.
  void probe();
  /// Called by the starter when every thread has probed.
  void finish();
  /// Tells whether the lock is checked at all.
  [[nodiscard]] bool applies() const noexcept;
  /// Called by the starter when no thread is left.
  [[nodiscard]] bool passed() const;

 private:
  const lock_operations& operations_;
  void* lock_;
  bool claimed_;
  bool finished_ = false;
  std::atomic<bool> admitted_{false};
};

/// Returns the checks of a lock that claims to exclude, and null for others.
nlohmann::ordered_json checks_of(const subject& of, const refusal_check& refusal,
                                 bool counter_is_exact);

}  // namespace lockyard::harness
