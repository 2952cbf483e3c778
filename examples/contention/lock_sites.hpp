// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/contention.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <vector>

/// The counts of one place.
struct lock_site {
  std::atomic<std::uintptr_t> caller{0};
  std::atomic<std::uint64_t> waits{0};
  std::atomic<std::int64_t> waited_ns{0};
};

/// Sums up the waits for locks by the place of the lock() call. The table has a fixed size and
/// takes no lock, because a hook runs while its thread holds one.
class lock_sites {
 public:
  static void record(const lockyard::contention& wait) {
    const auto address = reinterpret_cast<std::uintptr_t>(wait.caller);
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      lock_site& at = sites_[(address / 16 + i) % sites_.size()];
      std::uintptr_t found = at.caller.load(std::memory_order_relaxed);
      if (found == 0) {
        at.caller.compare_exchange_strong(found, address, std::memory_order_relaxed);
        if (found == 0) found = address;
      }
      if (found != address) continue;
      at.waits.fetch_add(1, std::memory_order_relaxed);
      at.waited_ns.fetch_add(wait.waited.count(), std::memory_order_relaxed);
      return;
    }
    lost_.fetch_add(1, std::memory_order_relaxed);
  }

  /// The sites that cost most, at any time while the program runs.
  static void print_top(std::FILE* out, std::size_t most) {
    struct row {
      std::uintptr_t caller;
      std::uint64_t waits;
      std::int64_t waited_ns;
    };
    std::vector<row> rows;
    for (const lock_site& each : sites_) {
      const std::uintptr_t caller = each.caller.load(std::memory_order_relaxed);
      if (caller == 0) continue;
      rows.push_back({caller, each.waits.load(std::memory_order_relaxed),
                      each.waited_ns.load(std::memory_order_relaxed)});
    }
    std::ranges::sort(rows, std::greater{}, &row::waited_ns);
    rows.resize(std::min(rows.size(), most));
    std::fprintf(out, "%10s %12s  %s\n", "waits", "waited (ms)", "at");
    for (const row& each : rows) {
      Dl_info found{};
      // The address is behind the call; one byte before it is inside.
      const bool is_known = dladdr(reinterpret_cast<void*>(each.caller - 1), &found) != 0;
      std::fprintf(out, "%10llu %12.1f  %s+%#llx (%s)\n",
                   static_cast<unsigned long long>(each.waits),
                   static_cast<double>(each.waited_ns) / 1e6, is_known ? found.dli_fname : "?",
                   static_cast<unsigned long long>(
                       each.caller - 1 - reinterpret_cast<std::uintptr_t>(found.dli_fbase)),
                   is_known && found.dli_sname != nullptr ? found.dli_sname : "?");
    }
    if (const auto lost = lost_.load(std::memory_order_relaxed); lost != 0) {
      std::fprintf(out, "%llu waits at further sites: the table is full\n",
                   static_cast<unsigned long long>(lost));
    }
  }

 private:
  static inline std::array<lock_site, 1024> sites_{};
  static inline std::atomic<std::uint64_t> lost_{0};
};
