// SPDX-License-Identifier: Apache-2.0
#pragma once

// The choice of the mutexes that are swapped, if not all are: LOCKYARD_ONLY has the addresses of
// variables and functions. A mutex is chosen if it is such a variable, or if such a function is in
// the stack of the call that initialises it or acquires it first. The choice is kept in the mutex,
// because a lock cannot change while threads use it.

#include "../glibc.hpp"

#include <link.h>
#include <unwind.h>

#include <cstdlib>
#include <string_view>

namespace lockyard::preload {

class selection {
 public:
  /// Returns whether only some mutexes are swapped.
  static bool is_active() noexcept {
    if (state_of_ == state::unread) [[unlikely]]
      read();
    return state_of_ == state::active;
  }

  /// Returns whether the mutex, which is plain, is swapped. Its first use decides.
  static bool has(mutex_layout& mutex) noexcept {
    if (!is_active()) return true;
    // order[choice]: acquire; pairs [choice]; the same choice for all threads.
    const std::uint32_t known = std::atomic_ref{mutex.number}.load(std::memory_order_acquire);
    return known != 0 ? known == chosen : decide(mutex);
  }

  /// Keeps the choice if the call that initialises the mutex is enough to choose it.
  static void initialised(mutex_layout& mutex) noexcept {
    if (!is_active() || !(is_in(&mutex) || is_called_from_here())) return;
    mutex.number = chosen;
    // relaxed(atomicity): as below.
    count_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Returns how many mutexes were chosen.
  static std::uint32_t count() noexcept {
    // relaxed(atomicity): a count, read when the process ends.
    return count_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t chosen = 1, left_alone = 2;
  static constexpr int most_frames = 16;
  static constexpr std::size_t most_ranges = 4096;
  enum class state { unread, inactive, active };
  struct range {
    std::uintptr_t begin, end;
  };

  [[gnu::noinline, gnu::cold]] static bool decide(mutex_layout& mutex) noexcept {
    const std::uint32_t mine = is_in(&mutex) || is_called_from_here() ? chosen : left_alone;
    std::uint32_t before = 0;
    // order[choice]: acq_rel; pairs [choice]; the first of several threads decides.
    if (std::atomic_ref{mutex.number}.compare_exchange_strong(
            before, mine, std::memory_order_acq_rel, std::memory_order_acquire)) {
      before = mine;
      // relaxed(atomicity): a count, read when the process ends.
      if (mine == chosen) count_.fetch_add(1, std::memory_order_relaxed);
    }
    return before == chosen;
  }

  static bool is_in(const void* address) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (std::size_t i = 0; i < used_; ++i) {
      if (ranges_[i].begin <= at && at < ranges_[i].end) return true;
    }
    return false;
  }

  [[gnu::noinline]] static bool is_called_from_here() noexcept {
    struct walk {
      int left;
      bool is_found;
    } seen{most_frames, false};
    _Unwind_Backtrace(
        [](_Unwind_Context* at, void* into) {
          auto& of = *static_cast<walk*>(into);
          of.is_found = is_in(reinterpret_cast<const void*>(_Unwind_GetIP(at) - 1));
          return of.is_found || --of.left == 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
        },
        &seen);
    return seen.is_found;
  }

  /// The form of the variable: FILE=BEGIN-END,BEGIN-END;FILE=... in hexadecimal, relative to the
  /// file; the program itself has an empty name.
  [[gnu::noinline, gnu::cold]] static void read() noexcept {
    const char* const text = std::getenv("LOCKYARD_ONLY");
    if (text == nullptr) {
      state_of_ = state::inactive;
      return;
    }
    std::string_view rest{text};
    while (!rest.empty()) {
      const std::string_view module = rest.substr(0, rest.find(';'));
      rest.remove_prefix(module.size() == rest.size() ? rest.size() : module.size() + 1);
      const std::size_t equals = module.find('=');
      if (equals != module.npos) add(module.substr(0, equals), module.substr(equals + 1));
    }
    state_of_ = state::active;
  }

  static void add(std::string_view file, std::string_view ranges) noexcept {
    struct search {
      std::string_view file;
      std::uintptr_t base;
      bool is_found;
    } wanted{file, 0, false};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
          auto& of = *static_cast<search*>(into);
          const std::string_view name{info->dlpi_name};
          of.is_found = name == of.file || (!of.file.empty() && name.ends_with(of.file));
          of.base = info->dlpi_addr;
          return of.is_found ? 1 : 0;
        },
        &wanted);
    if (!wanted.is_found) return;
    const char* at = ranges.data();
    const char* const end = at + ranges.size();
    while (at < end && used_ < most_ranges) {
      char* next = nullptr;
      const std::uintptr_t begin = std::strtoul(at, &next, 16);
      const std::uintptr_t last = *next == '-' ? std::strtoul(next + 1, &next, 16) : begin;
      ranges_[used_++] = {wanted.base + begin, wanted.base + last};
      if (next == at) return;
      at = next + 1;
    }
  }

  static inline constinit state state_of_ = state::unread;
  static inline constinit range ranges_[most_ranges] = {};
  static inline constinit std::size_t used_ = 0;
  static inline constinit std::atomic<std::uint32_t> count_{0};
};

}  // namespace lockyard::preload
