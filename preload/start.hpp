// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every preloaded library does when it is loaded: it looks whether glibc is one whose layouts
// are known, ends the program if not, and reports to the command that started the program. None of
// this is called from an entry.

#include "confinement.hpp"
#include "glibc.hpp"

#include <fcntl.h>
#include <gnu/libc-version.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace lockyard::preload {

/// Exit status of the command where a capability is missing.
inline constexpr int missing_capability = 3;

struct glibc_version {
  int major = 0, minor = 0;
  friend auto operator<=>(const glibc_version&, const glibc_version&) = default;
};
/// Before the oldest, pthread is another library and dlsym takes pthread's locks.
inline constexpr glibc_version oldest_known{2, 34}, newest_known{2, 41};

inline glibc_version running_version() noexcept {
  glibc_version found;
  const char* const text = gnu_get_libc_version();
  char* end = nullptr;
  found.major = static_cast<int>(std::strtol(text, &end, 10));
  if (*end == '.') found.minor = static_cast<int>(std::strtol(end + 1, &end, 10));
  return found;
}

/// Returns whether the running glibc keeps in a mutex what mutex_layout says: asks it.
inline bool has_known_mutexes() noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_t mutex;
  std::memset(&mutex, -1, sizeof mutex);
  real::mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  const mutex_layout& layout = layout_of(&mutex);
  const auto spare_is_zero = [&] {
    return layout.number == 0 && layout.count == 0 && layout.site == nullptr;
  };
  const bool starts_well = layout.kind == PTHREAD_MUTEX_RECURSIVE && layout.owner == 0 &&
                           layout.state == std::array<std::uint8_t, 8>{} && spare_is_zero();
  real::mutex_lock(&mutex);
  const bool is_owned = layout.owner == static_cast<std::int32_t>(syscall(SYS_gettid)) &&
                        layout.state[0] != 0 && spare_is_zero();
  real::mutex_unlock(&mutex);
  return starts_well && is_owned && layout.owner == 0;
}

/// Appends a line to the file that the variable names, if it names one; by one write, because other
/// processes do the same.
[[gnu::format(printf, 1, 2)]] inline void report(const char* format, ...) noexcept {
  const char* const path = std::getenv("LOCKYARD_PRELOAD_REPORT");
  if (path == nullptr || is_confined()) return;
  std::array<char, 512> line;
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  if (length <= 0 || static_cast<std::size_t>(length) >= line.size()) return;
  const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written =
      write(file, line.data(), static_cast<std::size_t>(length));
  close(file);
}

/// Ends the program before its main function, because `consequence` would come true.
[[noreturn]] inline void refuse(const char* what, const char* remedy) noexcept {
  std::fprintf(stderr, "lockyard: %s; %s\n", what, remedy);
  report("{\"event\": \"refused\", \"pid\": %d, \"glibc\": \"%s\"}\n", static_cast<int>(getpid()),
         gnu_get_libc_version());
  _exit(missing_capability);
}

/// Checks glibc, and reports that the process has been reached. `purpose` is what the library is
/// for: a word or two.
inline void start(const char* purpose) noexcept {
  const glibc_version version = running_version();
  if (version < oldest_known || newest_known < version) {
    std::array<char, 200> what;
    std::snprintf(
        what.data(), what.size(),
        "the layouts of glibc %d.%d to %d.%d are known, and this program runs with %s, so "
        "its locks were left alone and it was ended before main",
        oldest_known.major, oldest_known.minor, newest_known.major, newest_known.minor,
        gnu_get_libc_version());
    refuse(what.data(), "run it without lockyard, or in a container with one of these versions");
  }
  if (!has_known_mutexes() || find_condition_flags() < 0) {
    refuse(
        "this glibc has a known version number and unknown layouts of mutexes or condition "
        "variables, so the program's locks were left alone and it was ended before main",
        "run it without lockyard");
  }
  report("{\"event\": \"start\", \"pid\": %d, \"glibc\": \"%s\", \"purpose\": \"%s\"}\n",
         static_cast<int>(getpid()), gnu_get_libc_version(), purpose);
}

}  // namespace lockyard::preload
