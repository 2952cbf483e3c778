// SPDX-License-Identifier: Apache-2.0
#include "worker_processes.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace lockyard::model {

namespace {

/// Returns whether it has ended, and notes if it did not end its work.
bool has_ended(pid_t which, int flags, bool& is_lost) {
  int how = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(which, &how, flags);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return false;
  is_lost |= ended < 0 || !WIFEXITED(how) || WEXITSTATUS(how) != 0;
  return true;
}

}  // namespace

worker_processes::~worker_processes() {
  for (const pid_t each : running_) kill(each, SIGKILL);
  join();
}

void worker_processes::start(unsigned count, const std::function<void(unsigned)>& work) {
  const pid_t first = getpid();
  for (unsigned i = 1; i <= count; ++i) {
    const pid_t started = fork();
    if (started < 0) return;
    if (started > 0) {
      running_.push_back(started);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != first) _exit(1);
    work(i);
    _exit(0);
  }
}

bool worker_processes::join() {
  for (const pid_t each : running_) has_ended(each, 0, has_lost_one_);
  running_.clear();
  return !has_lost_one_;
}

bool worker_processes::has_lost_one() {
  std::erase_if(running_, [this](pid_t each) { return has_ended(each, WNOHANG, has_lost_one_); });
  return has_lost_one_;
}

}  // namespace lockyard::model
