// SPDX-License-Identifier: Apache-2.0
#pragma once

// When the calling thread lost a processor and got one, by the kernel: it writes that into pages
// which it shares with the process, and overwrites the oldest. A program may have this of its own
// threads without privileges, at kernel.perf_event_paranoid 2 or lower. For the traced world alone.

#include <lockyard/detail/os/linux.hpp>

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace lockyard::inline v0::detail::os {

struct switch_record {
  std::uint64_t raw_ns;  ///< the time by CLOCK_MONOTONIC_RAW
  std::uint32_t cpu;
  bool is_out;
  bool could_go_on;  ///< for a switch-out: the thread was preempted, or yields
};

/// Pages of records. The kernel continues to write records, whether or not a descriptor is open,
/// until the pages are unmapped; the end of their thread ends the records, and not the pages.
struct switch_pages {
  std::byte* begin = nullptr;  ///< the first page, which holds the kernel's control data
  std::uint64_t bytes = 0;     ///< the size of the records, which follow the first page
};

struct switch_pages_or_error {
  switch_pages of;
  int error;                ///< 0 if there are pages
  bool memory_was_refused;  ///< the kernel refused memory, and not the records
};

inline std::size_t page_bytes() noexcept {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Opens at most `most_pages` pages of records, which record the calling thread from now on.
inline switch_pages_or_error open_switch_pages(std::size_t most_pages) noexcept {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_DUMMY;
  wanted.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  wanted.sample_id_all = 1;
  wanted.context_switch = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.write_backward = 1;
  wanted.use_clockid = 1;
  wanted.clockid = CLOCK_MONOTONIC_RAW;
  const long opened = call(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (opened < 0) return {{}, static_cast<int>(-opened), false};
  const int event = static_cast<int>(opened);
  const std::size_t page = page_bytes();
  const int saved = errno;
  int error = 0;
  for (std::size_t bytes = most_pages * page; bytes >= page; bytes /= 2) {
    // Not writable: the kernel then overwrites records that were not read. A fork does not copy it.
    void* const found = mmap(nullptr, page + bytes, PROT_READ, MAP_SHARED, event, 0);
    if (found != MAP_FAILED) {
      close(event);
      return {{static_cast<std::byte*>(found), bytes}, 0, false};
    }
    error = std::exchange(errno, saved);
    if (error != EPERM && error != ENOMEM) break;
  }
  close(event);
  return {{}, error, true};
}

/// Returns the kernel's position in these pages: it begins at 0 and decreases by `switch_bytes` for
/// each record.
inline std::uint64_t* switch_head(switch_pages of) noexcept {
  return reinterpret_cast<std::uint64_t*>(
      &reinterpret_cast<perf_event_mmap_page*>(of.begin)->data_head);
}

/// Returns the pages at this address; no pages for the address 0.
inline switch_pages switch_pages_at(std::uint64_t begin) noexcept {
  auto* const books = reinterpret_cast<perf_event_mmap_page*>(begin);
  return begin == 0 ? switch_pages{}
                    : switch_pages{reinterpret_cast<std::byte*>(books), books->data_size};
}

/// Unmaps pages that no thread reads any longer.
inline void close_switch_pages(switch_pages of) noexcept {
  munmap(of.begin, page_bytes() + of.bytes);
}

/// Blanks pages that their thread may still read: from now on it reads zeros, which take no memory.
/// Does not use mmap(), which ThreadSanitizer treats as a write that no other thread may race with.
inline void blank_switch_pages(switch_pages of) noexcept {
  call(SYS_mmap, of.begin, page_bytes() + of.bytes, PROT_READ,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0L);
}

/// The layout of a record in the pages, as the requested sample_type defines it.
struct switch_bytes_of_record {
  perf_event_header head;
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t time_ns;
  std::uint32_t cpu;
  std::uint32_t nothing;
};
inline constexpr std::uint64_t switch_bytes = sizeof(switch_bytes_of_record);
static_assert(switch_bytes == 32);

/// The position of a reader, which has read all records from this position on.
struct switch_reader {
  std::uint64_t seen = 0;

  static switch_reader after(std::uint64_t records) noexcept {
    return {0 - records * switch_bytes};
  }
  [[nodiscard]] std::uint64_t records() const noexcept { return (0 - seen) / switch_bytes; }

  /// Skips all new records except the latest ones; returns how many it skipped.
  std::uint64_t skip_all_but(switch_pages of, std::uint64_t latest) noexcept {
    // order[switch_skip]: acquire; pairs [kernel]; the kernel's records come before its head.
    const std::uint64_t newest = std::atomic_ref{*switch_head(of)}.load(std::memory_order_acquire);
    const std::uint64_t fresh = (seen - newest) / switch_bytes;
    if (fresh <= latest) return 0;
    seen = newest + latest * switch_bytes;
    return fresh - latest;
  }

  /// Calls `each` with every new record, the oldest first. Before a record that follows overwritten
  /// records it calls `lost`, with their number and the record's time. Stops at pages that are
  /// blanked in the meantime.
  template <class Each, class Lost>
  void read(switch_pages of, Each each, Lost lost) noexcept {
    const std::atomic_ref<std::uint64_t> head{*switch_head(of)};
    // order[switch_head]: acquire; pairs [kernel]; the kernel's records come before its head.
    const std::uint64_t newest = head.load(std::memory_order_acquire);
    if (newest == 0) return;
    std::uint64_t at = seen;
    std::uint64_t missed = 0;
    // The kernel may be writing the next record in one place.
    const auto is_overwritten = [&] {
      // order[switch_again]: acquire; pairs [kernel]; as above.
      const std::uint64_t now = head.load(std::memory_order_acquire);
      return now == 0 || at - now > of.bytes - switch_bytes;
    };
    if (is_overwritten()) {
      const std::uint64_t oldest = newest + of.bytes - switch_bytes;
      missed = (at - oldest) / switch_bytes;
      at = oldest;
    }
    const std::byte* const first = of.begin + page_bytes();
    for (; at != newest; at -= switch_bytes) {
      switch_bytes_of_record found;
      const std::uint64_t place = (at - switch_bytes) & (of.bytes - 1);
      std::memcpy(&found, first + place, sizeof found);
      // order[copied]: acquire; pairs [kernel]; the copy is made before the head is read again.
      std::atomic_thread_fence(std::memory_order_acquire);
      if (is_overwritten() || found.head.type != PERF_RECORD_SWITCH) {
        ++missed;
        continue;
      }
      if (missed != 0) lost(missed, found.time_ns);
      missed = 0;
      const bool is_out = (found.head.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
      each(switch_record{
          .raw_ns = found.time_ns,
          .cpu = found.cpu,
          .is_out = is_out,
          .could_go_on = is_out && (found.head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0});
    }
    seen = newest;
  }
};

/// The level of kernel.perf_event_paranoid; -100 if it cannot be read.
inline int perf_paranoia() noexcept {
  char text[16] = {};
  const int file = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -100;
  const ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  return count > 0 ? std::atoi(text) : -100;
}

}  // namespace lockyard::inline v0::detail::os
