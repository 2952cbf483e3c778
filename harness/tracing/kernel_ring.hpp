// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the kernel writes down about threads, by perf events: a ring that it overwrites while the
// threads run, so that nobody has to read it meanwhile.

#include <linux/perf_event.h>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace lockyard::harness {

/// A file descriptor that is closed in the end.
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

/// Who is watched: a thread (0: the calling one) wherever it runs, or all on one processor.
struct watched {
  pid_t thread;
  int cpu;

  static constexpr watched calling_thread() { return {.thread = 0, .cpu = -1}; }
  static constexpr watched processor(int cpu) { return {.thread = -1, .cpu = cpu}; }
};

/// Attributes that all our events share: overwritten rings, and times of CLOCK_MONOTONIC_RAW.
perf_event_attr event_attributes(std::uint32_t type, std::uint64_t config);

/// Opens an event; throws std::system_error.
descriptor open_event(perf_event_attr attributes, watched who);

/// A record as the kernel wrote it.
struct kernel_record {
  std::uint32_t type;
  std::uint16_t flags;
  const std::byte* body;  ///< behind the head
  std::size_t bytes;      ///< of the body
};

/// The ring of an event, of which others may share it.
class kernel_ring {
 public:
  /// Takes the largest ring that it is granted, up to so many bytes. Throws std::system_error.
  kernel_ring(descriptor event, std::size_t most_bytes);
  kernel_ring(kernel_ring&& other) noexcept;
  kernel_ring& operator=(kernel_ring&& other) noexcept;
  ~kernel_ring();

  [[nodiscard]] int event() const noexcept { return event_.number(); }
  /// Has another event's records written here.
  void share_with(const descriptor& other) const;
  void enable() const noexcept;
  void disable() const noexcept;

  /// Calls `each` with what the ring still has, newest first; returns how many bytes were
  /// overwritten. The event is disabled, or its thread has ended.
  std::uint64_t read(const std::function<void(const kernel_record&)>& each) const;

 private:
  descriptor event_;
  std::byte* pages_ = nullptr;  ///< the first is the kernel's books
  std::size_t bytes_ = 0;       ///< of the ring, without that
};

/// Why the kernel refuses an event, and what to do about it.
std::string why_refused(int error, std::string_view what);

}  // namespace lockyard::harness
