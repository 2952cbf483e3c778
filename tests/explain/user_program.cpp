// SPDX-License-Identifier: Apache-2.0

// A user's program with a traced lock, whose holder is preempted: four others share its
// processor. `user_program ENDING`, where ENDING is the end of the trace:
//   stop    a thread that has waited for long ends the trace, while all go on
//   crash   no thread ends it
//   stay    the program goes on until its input ends
//   denied  as stop, in a process that may have no perf events

#include <lockyard/park/mutex.hpp>
#include <lockyard/traced.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace {

lockyard::traced<lockyard::mutex> shared;
std::atomic<bool> is_held{false};
std::atomic<bool> is_wanted{false};
std::atomic<bool> is_over{false};

constexpr long hold_ns = 20'000'000;
constexpr int hogs = 4;

void deny_perf_events() {
  std::array code{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::perror("cannot deny perf events");
    _exit(1);
  }
}

/// All on the first processor that the program may use.
void pin_this_thread() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  sched_setaffinity(0, sizeof one, &one);
}

long used_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000L + now.tv_nsec;
}

void hold() {
  pin_this_thread();
  const std::scoped_lock held{shared};
  is_held = true;
  while (!is_wanted) std::this_thread::yield();
  std::vector<std::thread> company;
  for (int i = 0; i < hogs; ++i) {
    company.emplace_back([] {
      pin_this_thread();
      while (!is_over) {
      }
    });
  }
  for (std::thread& each : company) each.detach();
  const long end = used_ns() + hold_ns;
  while (used_ns() < end) {
  }
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view ending{arguments[1]};
  if (ending == "denied") {
    deny_perf_events();
    std::array<char, 5> stop{"stop"};
    std::array<char*, 3> again{arguments[0], stop.data(), nullptr};
    execv("/proc/self/exe", again.data());
    return 1;
  }
  lockyard::trace::name(&shared, "shared");
  std::thread holder{hold};
  while (!is_held) std::this_thread::yield();
  is_wanted = true;
  shared.lock();
  if (ending == "stop") lockyard::trace::stop();
  is_over = true;
  shared.unlock();
  holder.join();
  if (ending == "crash") std::raise(SIGKILL);
  if (ending == "stay") {
    std::puts("ready");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
  }
  return 0;
}
