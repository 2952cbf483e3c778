// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's records about threads, by perf events: a ring that the kernel overwrites while the
// threads run, so that no thread has to read it meanwhile.

#include <linux/perf_event.h>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace lockyard::harness {

/// The size of a ring for all threads of a processor.
inline constexpr std::size_t ring_bytes = std::size_t{1} << 20U;

/// A file descriptor that is closed in the destructor.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_{number} {}
  descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor();
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// The watched thread (0: the caller) on any processor, or all threads on one processor.
struct watched {
  pid_t thread;
  int cpu;

  static constexpr watched calling_thread() { return {.thread = 0, .cpu = -1}; }
  static constexpr watched processor(int cpu) { return {.thread = -1, .cpu = cpu}; }
};

/// Returns the attributes that all our events share: overwritten rings, CLOCK_MONOTONIC_RAW times.
perf_event_attr event_attributes(std::uint32_t type, std::uint64_t config);

/// Opens an event; throws std::system_error.
descriptor open_event(perf_event_attr attributes, watched who);

/// Has a tracepoint's event record these threads alone, which `field` of its records names. With
/// more threads than the kernel takes, there is more to read, and nothing else changes.
void leave_out_others(int event, const char* field, const std::vector<std::uint32_t>& threads);

/// A record as the kernel wrote it.
struct kernel_record {
  std::uint32_t type;
  std::uint16_t flags;
  const std::byte* body;  ///< after the head
  std::size_t bytes;      ///< of the body
};

/// The ring of an event, which other events may share.
class kernel_ring {
 public:
  /// Takes the largest ring that is granted, up to this many bytes. Throws std::system_error.
  kernel_ring(descriptor event, std::size_t most_bytes);
  kernel_ring(kernel_ring&& other) noexcept;
  kernel_ring& operator=(kernel_ring&& other) noexcept;
  ~kernel_ring();

  [[nodiscard]] int event() const noexcept { return event_.number(); }
  /// Makes another event write its records here.
  void share_with(const descriptor& other) const;
  void enable() const noexcept;
  void disable() const noexcept;

  /// Calls `each` with the records left in the ring, newest first; returns how many bytes were
  /// overwritten. The event must be disabled, or its thread must have ended.
  std::uint64_t read(const std::function<void(const kernel_record&)>& each) const;

 private:
  descriptor event_;
  std::byte* pages_ = nullptr;  ///< the first page holds the kernel's indices
  std::size_t bytes_ = 0;       ///< of the ring, without that page
};

/// Returns why the kernel refuses an event, and what to do about it.
std::string why_refused(int error, std::string_view what);

}  // namespace lockyard::harness
