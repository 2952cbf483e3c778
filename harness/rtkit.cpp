// SPDX-License-Identifier: Apache-2.0
#include "rtkit.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace lockyard::harness {

namespace {

/// The most that rtkit accepts, in microseconds.
constexpr rlim_t longest_run_us = 200'000;

std::string ended_as(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return "rtkit refused, or does not run here (busctl ended with status " +
         std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)) + ")";
}

}  // namespace

std::string ask_rtkit(unsigned priority) {
  const rlimit limit{.rlim_cur = longest_run_us, .rlim_max = longest_run_us};
  setrlimit(RLIMIT_RTTIME, &limit);  // a limit that is lower already is as good
  const std::string process = std::to_string(getpid());
  const std::string thread = std::to_string(gettid());
  const std::string wanted = std::to_string(priority);
  std::array<const char*, 13> words{"busctl",
                                    "--system",
                                    "--timeout=5",
                                    "call",
                                    "org.freedesktop.RealtimeKit1",
                                    "/org/freedesktop/RealtimeKit1",
                                    "org.freedesktop.RealtimeKit1",
                                    "MakeThreadRealtimeWithPID",
                                    "ttu",
                                    process.c_str(),
                                    thread.c_str(),
                                    wanted.c_str(),
                                    nullptr};
  posix_spawn_file_actions_t quiet{};
  posix_spawn_file_actions_init(&quiet);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&quiet, output, "/dev/null", O_WRONLY, 0);
  }
  pid_t asking = 0;
  const int error = posix_spawnp(&asking, words.front(), &quiet, nullptr,
                                 const_cast<char**>(words.data()), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (error != 0) return std::string{"busctl does not start ("} + std::strerror(error) + ")";
  int status = 0;
  while (waitpid(asking, &status, 0) < 0) {
    if (errno != EINTR) return "the answer of busctl was lost";
  }
  return ended_as(status);
}

}  // namespace lockyard::harness
