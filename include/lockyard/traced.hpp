// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks that record their own events: `lockyard::traced<lockyard::mutex>` is a mutex that writes a
// trace. LOCKYARD_TRACE=FILE in the environment, or lockyard::trace::start(), names the file.
// `lockyard explain` reads the trace, also while the program runs. docs/tracing.md is the manual.

#include <lockyard/trace.hpp>
#include <lockyard/world/in_world.hpp>
#include <lockyard/world/tracing.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace lockyard::inline v0 {

/// A lock, semaphore, condition variable or event of this library that stamps its operations.
/// Without a running trace, a stamp costs a load and two branches.
template <class Lock>
using traced = in_world_t<Lock, tracing>;

namespace trace::detail {

/// Starts the trace before main, or when a library that includes this header is loaded; stops it at
/// the end of the program.
struct started_by_environment {
  started_by_environment(const started_by_environment&) = delete;
  started_by_environment& operator=(const started_by_environment&) = delete;
  ~started_by_environment() { stop(); }
  started_by_environment() noexcept {
    const char* const wanted = std::getenv("LOCKYARD_TRACE");
    if (wanted == nullptr || *wanted == '\0' || is_running()) return;
    const std::string_view file{wanted};
    const std::error_code error = start(file == "1" ? default_file : file);
    if (!error) return;
    std::fprintf(stderr,
                 "lockyard: cannot trace to LOCKYARD_TRACE=%s: %s; the program runs without a "
                 "trace; name a file that can be written, or 1 for /dev/shm\n",
                 wanted, error.message().c_str());
  }
};

[[gnu::visibility("default")]] inline const started_by_environment at_start;

}  // namespace trace::detail

}  // namespace lockyard::inline v0
