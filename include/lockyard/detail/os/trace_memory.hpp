// SPDX-License-Identifier: Apache-2.0
#pragma once

// The system calls of a trace. Only the traced world uses this file: the native world does not
// include it.

#include <lockyard/detail/os/linux.hpp>
#include <lockyard/detail/os/scheduling.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace lockyard::inline v0::detail::os {

/// Memory mapped from a file, or the reason for its absence: then `begin` is null.
struct mapping {
  void* begin;
  int error;
};

/// Whether the name denotes a regular file that begins with these bytes.
inline bool file_begins_with(const char* path, const char* bytes, std::size_t count) noexcept {
  char found[16] = {};
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  struct stat about {};
  const bool is_regular = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const bool begins = is_regular && count <= sizeof found &&
                      read(file, found, count) == static_cast<ssize_t>(count) &&
                      std::memcmp(found, bytes, count) == 0;
  close(file);
  return begins;
}

/// Maps a new file of zero bytes, and allocates all its blocks: a full file system is an error now,
/// and not a signal later. Replaces a file only if it begins with `replaceable`.
inline mapping map_new_file(const char* path, std::size_t bytes, const char* replaceable,
                            std::size_t replaceable_bytes) noexcept {
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int file = open(path, flags, 0600);
  if (file < 0 && errno == EEXIST && file_begins_with(path, replaceable, replaceable_bytes)) {
    unlink(path);
    file = open(path, flags, 0600);
  }
  if (file < 0) return {nullptr, errno};
  int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == EOPNOTSUPP || error == EINVAL) {
    error = ftruncate(file, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  }
  void* begin = MAP_FAILED;
  if (error == 0) {
    begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (begin == MAP_FAILED) error = errno;
  }
  close(file);
  if (error == 0) return {begin, 0};
  unlink(path);
  return {nullptr, error};
}

/// Allocates zero bytes, all of them resident; null if memory is unavailable. `unmap` frees them.
inline void* map_memory(std::size_t bytes) noexcept {
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return begin == MAP_FAILED ? nullptr : begin;
}
inline void unmap(void* begin, std::size_t bytes) noexcept {
  munmap(begin, bytes);
}

/// The clock that perf events can use, too.
inline std::uint64_t monotonic_raw_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// Whether the kernel takes its own time from the processors' counters, which it does only where
/// all counters agree.
inline bool kernel_trusts_counter() noexcept {
  char name[32] = {};
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t count = read(file, name, sizeof name - 1);
  close(file);
  return count > 0 &&
         (std::strcmp(name, "tsc\n") == 0 || std::strcmp(name, "arch_sys_counter\n") == 0);
}

inline std::uint32_t process_id() noexcept {
  return static_cast<std::uint32_t>(getpid());
}

/// Whether a thread of this process with that number is alive.
inline bool thread_lives(std::uint32_t id) noexcept {
  return call(SYS_tgkill, getpid(), id, 0) == 0;
}

/// Stores the kernel's name of the calling thread in `to`: at most 16 bytes, ended by a zero.
inline void thread_name(char* to, std::size_t room) noexcept {
  if (pthread_getname_np(pthread_self(), to, room) != 0 && room > 0) to[0] = '\0';
}

inline void sleep_ns(long length_ns) noexcept {
  const timespec length{.tv_sec = 0, .tv_nsec = length_ns};
  call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &length, nullptr);
}

}  // namespace lockyard::inline v0::detail::os
