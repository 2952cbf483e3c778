// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's means for one thread to wake another: files that one writes and the other reads.

#include "../topology.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace lockyard::harness::ways {

[[noreturn]] inline void no_channel(const char* kind) {
  throw condition_error{std::string{"there cannot be "} + kind +
                        " for each worker: " + std::strerror(errno) +
                        "; ask for fewer threads, or raise the limit of open files"};
}

/// Continues after signals; any other error ends the run, since a worker would wait forever.
template <class Call>
void transfer(const char* kind, Call call) {
  while (call() < 0) {
    if (errno != EINTR) no_channel(kind);
  }
}

class eventfd_gate {
 public:
  eventfd_gate() : file_{eventfd(0, EFD_CLOEXEC)} {
    if (file_ < 0) no_channel("an eventfd");
  }
  eventfd_gate(const eventfd_gate&) = delete;
  eventfd_gate& operator=(const eventfd_gate&) = delete;
  ~eventfd_gate() { close(file_); }

  void open() {
    const std::uint64_t one = 1;
    transfer("an eventfd", [&] { return write(file_, &one, sizeof one); });
  }
  void pass() {
    std::uint64_t count = 0;
    transfer("an eventfd", [&] { return read(file_, &count, sizeof count); });
  }

 private:
  int file_;
};

class pipe_gate {
 public:
  pipe_gate() {
    if (pipe(ends_) != 0) no_channel("a pipe");
  }
  pipe_gate(const pipe_gate&) = delete;
  pipe_gate& operator=(const pipe_gate&) = delete;
  ~pipe_gate() {
    close(ends_[0]);
    close(ends_[1]);
  }

  void open() {
    const char byte = 0;
    transfer("a pipe", [&] { return write(ends_[1], &byte, 1); });
  }
  void pass() {
    char byte = 0;
    transfer("a pipe", [&] { return read(ends_[0], &byte, 1); });
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace lockyard::harness::ways
