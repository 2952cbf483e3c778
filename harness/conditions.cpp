// SPDX-License-Identifier: Apache-2.0
#include "conditions.hpp"

#include "schedule.hpp"
#include "topology.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

namespace lockyard::harness {

namespace {

/// A run ends soon after its limit; the kernel's limit is this much later, so that the supervisor,
/// which reports what happened, comes first.
constexpr double spare_s = 30;

constexpr char started = '.';

/// Both ends of a pipe, closed at the end of the scope.
struct pipe_ends {
  int read_end = -1;
  int write_end = -1;

  pipe_ends() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw condition_error{std::string{"a pipe cannot be created ("} + std::strerror(errno) +
                            "), so nothing was measured; raise the limit of open files"};
    }
    read_end = ends[0];
    write_end = ends[1];
  }
  pipe_ends(const pipe_ends&) = delete;
  pipe_ends& operator=(const pipe_ends&) = delete;
  ~pipe_ends() {
    close_one(read_end);
    close_one(write_end);
  }

  static void close_one(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

void limit_cpu_time(decltype(RLIMIT_CPU) resource, double limit) {
  const auto units = static_cast<rlim_t>(std::ceil(limit));
  const rlimit both{.rlim_cur = units, .rlim_max = units};
  setrlimit(resource, &both);  // a limit that is lower already is as good
}

[[noreturn]] void stay_busy(int report_to) {
  if (write(report_to, &started, 1) != 1) _exit(1);
  for (volatile std::uint64_t turns = 0;;) turns = turns + 1;
}

/// Runs in its own session, as another program would: if the kernel groups processes by session,
/// the neighbour is a separate group.
[[noreturn]] void be_the_neighbour(const conditions_request& wanted, pid_t parent, int report_to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  setsid();
  try {
    run_under({.of = policy::other, .nice = wanted.load_nice});
  } catch (const condition_error&) {
    _exit(1);  // the pipe closes before any thread has reported
  }
  limit_cpu_time(RLIMIT_CPU, (wanted.limit_s + spare_s) * wanted.load);
  std::vector<std::jthread> others;
  try {
    for (unsigned i = 1; i < wanted.load; ++i) others.emplace_back(stay_busy, report_to);
  } catch (const std::system_error&) {
    _exit(1);  // the pipe closes before all threads have reported
  }
  stay_busy(report_to);
}

void end(pid_t process) {
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
}

void join(const std::string& cgroup) {
  const std::string path = cgroup + "/cgroup.procs";
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool joined = file >= 0 && write(file, "0", 1) == 1;  // 0 means the writer
  const int error = errno;
  if (file >= 0) close(file);
  if (!joined) {
    throw condition_error{
        "the control group " + cgroup + " cannot be joined (" + std::strerror(error) +
        "), so nothing was measured; run as root or in a group that is delegated to "
        "you, or drop --quota"};
  }
}

}  // namespace

void set_timer_slack(std::uint64_t slack_ns) {
  prctl(PR_SET_TIMERSLACK, slack_ns);
  const int found = prctl(PR_GET_TIMERSLACK);
  if (found < 0 || static_cast<std::uint64_t>(found) != slack_ns) {
    throw condition_error{"a timer slack of " + std::to_string(slack_ns) +
                          " ns was requested and " + std::to_string(found) +
                          " ns granted; ask for one from 1 ns to 2 s"};
  }
}

busy_neighbour::busy_neighbour(const conditions_request& wanted) {
  if (wanted.load == 0) return;
  pipe_ends reports;
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    pipe_ends::close_one(reports.read_end);
    be_the_neighbour(wanted, parent, reports.write_end);
  }
  if (process_ < 0) {
    throw condition_error{std::string{"the background load cannot be started ("} +
                          std::strerror(errno) +
                          "), so nothing was measured; raise the limit of processes"};
  }
  pipe_ends::close_one(reports.write_end);
  for (unsigned i = 0; i < wanted.load; ++i) {
    if (char report{}; read(reports.read_end, &report, 1) == 1) continue;
    end(process_);
    throw condition_error{
        "a background load of " + std::to_string(wanted.load) + " threads with nice " +
        std::to_string(wanted.load_nice) +
        " under policy other is unavailable; ask for fewer threads, or for a nice "
        "value that is not below our own, which needs CAP_SYS_NICE or ulimit -e"};
  }
}

void busy_neighbour::check_alive() {
  if (process_ <= 0 || waitpid(process_, nullptr, WNOHANG) == 0) return;
  process_ = 0;
  throw condition_error{
      "the background load ended before the run did, so the run's figures mean nothing; measure "
      "again, "
      "and find out what kills processes here (memory, limits)"};
}

busy_neighbour::~busy_neighbour() {
  if (process_ > 0) end(process_);
}

enforced_conditions::enforced_conditions(const conditions_request& wanted) : neighbour_{wanted} {
  limit_cpu_time(RLIMIT_RTTIME, (wanted.limit_s + spare_s) * 1e6);
  if (wanted.cgroup) join(*wanted.cgroup);  // the neighbour stays outside
}

}  // namespace lockyard::harness
