// SPDX-License-Identifier: Apache-2.0
#pragma once

// The objects protected by the locks that will-it-scale's workloads contend for, with the cache
// lines that the kernel touches there. docs/studies/scale.md says what each stands for.

#include "../job.hpp"
#include "../ownership.hpp"

#include <lockyard/detail/arch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockyard::harness {

inline constexpr unsigned nobody = std::numeric_limits<unsigned>::max();

/// The numbers of a process's open files that are in use, and their users.
class file_table {
 public:
  /// Returns the lowest free number.
  unsigned open(unsigned thread) noexcept {
    books_.enter(thread);
    std::size_t word = 0;
    while (word + 1 < taken_.size() && taken_[word] == all) ++word;
    const unsigned bit = std::min(static_cast<unsigned>(std::countr_one(taken_[word])), bits - 1);
    const unsigned file = static_cast<unsigned>(word) * bits + bit;
    if (entries_[file] != nobody) faults_ = faults_ + 1;
    taken_[word] = taken_[word] | std::uint64_t{1} << bit;
    entries_[file] = thread;
    return file;
  }
  void close(unsigned file, unsigned thread) noexcept {
    books_.enter(thread);
    if (entries_[file] != thread) faults_ = faults_ + 1;
    entries_[file] = nobody;
    taken_[file / bits] = taken_[file / bits] & ~(std::uint64_t{1} << file % bits);
  }
  /// Only reads, if the file is open as it should be.
  void look_up(unsigned file, unsigned thread) noexcept {
    const bool is_open = (taken_[file / bits] >> file % bits & 1) != 0;
    if (!is_open || entries_[file] != thread) faults_ = faults_ + 1;
  }

  [[nodiscard]] const ownership& books() const noexcept { return books_; }
  /// Tells whether every opened file was closed, and no number was used twice at a time.
  [[nodiscard]] bool is_whole() const noexcept {
    return faults_ == 0 && std::ranges::count(taken_, 0U) == std::ssize(taken_);
  }

 private:
  static constexpr unsigned bits = 64;
  static constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

  ownership books_;
  std::uint64_t faults_ = 0;
  alignas(detail::arch::interference_size) std::array<std::uint64_t, max_threads / bits> taken_{};
  std::vector<unsigned> entries_ = std::vector<unsigned>(max_threads, nobody);
};

/// The ranges of one file that a process has locked. All threads lock the same byte, so there is at
/// most one range: a thread that locks it again takes it over.
class range_list {
 public:
  void insert(unsigned thread) noexcept {
    counts_.books.enter(thread);
    range* found = first_;
    if (found == nullptr) {
      first_ = found = &range_;
      counts_.inserted = counts_.inserted + 1;
    }
    found->owner = thread;
  }
  void remove(unsigned thread) noexcept {
    counts_.books.enter(thread);
    range* const found = first_;
    if (found == nullptr) return;
    found->owner = nobody;
    first_ = nullptr;
    counts_.removed = counts_.removed + 1;
  }

  [[nodiscard]] const ownership& books() const noexcept { return counts_.books; }
  /// Tells whether the list is empty again and has lost nothing.
  [[nodiscard]] bool is_whole() const noexcept {
    return first_ == nullptr && range_.owner == nobody && counts_.inserted == counts_.removed;
  }

 private:
  struct alignas(detail::arch::interference_size) range {
    unsigned owner = nobody;
  };
  struct alignas(detail::arch::interference_size) counts {
    ownership books;
    std::uint64_t inserted = 0;
    std::uint64_t removed = 0;
  };

  alignas(detail::arch::interference_size) range* first_ = nullptr;
  range range_;
  counts counts_;
};

/// A directory in which files are opened; all of it is in one cache line.
class directory {
 public:
  void take_reference(unsigned thread) noexcept {
    books_.enter(thread);
    references_ = references_ + 1;
  }
  void look_up(unsigned thread) noexcept {
    books_.enter(thread);
    found_ = found_ + 1;
  }
  void drop_reference(unsigned thread) noexcept {
    books_.enter(thread);
    references_ = references_ - 1;
  }

  [[nodiscard]] const ownership& books() const noexcept { return books_; }
  /// Tells whether every reference was dropped again.
  [[nodiscard]] bool is_whole() const noexcept {
    return references_ == 0 && books_.counter == 3 * found_;
  }

 private:
  ownership books_;
  std::uint64_t references_ = 0;
  std::uint64_t found_ = 0;
};

}  // namespace lockyard::harness
