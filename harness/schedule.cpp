// SPDX-License-Identifier: Apache-2.0
#include "schedule.hpp"

#include "rtkit.hpp"
#include "topology.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace lockyard::harness {

namespace {

/// The structure of sched_setattr and sched_getattr in its first version (Linux 3.14). The C
/// library has neither the type nor the calls before glibc 2.41.
struct kernel_schedule {
  std::uint32_t size = sizeof(kernel_schedule);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  ///< the slice, under other and batch
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

constexpr std::uint64_t reset_on_fork = 1;
constexpr int deadline_number = 6;

struct named_policy {
  policy which;
  std::string_view name;
  int number;  ///< the kernel's number of the policy
};

constexpr named_policy policies[] = {
    {policy::other, "other", SCHED_OTHER}, {policy::batch, "batch", SCHED_BATCH},
    {policy::idle, "idle", SCHED_IDLE},    {policy::fifo, "fifo", SCHED_FIFO},
    {policy::rr, "rr", SCHED_RR},          {policy::deadline, "deadline", deadline_number},
};

const named_policy& entry_of(policy which) noexcept {
  return *std::ranges::find(policies, which, &named_policy::which);
}

/// A thread under deadline can start another thread only if that does not inherit the policy.
kernel_schedule as_kernel_wants(const schedule& wanted) noexcept {
  kernel_schedule to{.policy = static_cast<std::uint32_t>(entry_of(wanted.of).number),
                     .nice = wanted.nice,
                     .priority = wanted.priority};
  if (wanted.of == policy::deadline) {
    to.flags = reset_on_fork;
    to.runtime_ns = wanted.runtime_ns;
    to.deadline_ns = wanted.deadline_ns;
    to.period_ns = wanted.period_ns;
  } else {
    to.runtime_ns = wanted.slice_ns;
  }
  return to;
}

std::string described(const schedule& wanted) {
  std::string name{"policy " + std::string{name_of(wanted.of)}};
  if (wanted.is_real_time()) return name + " with priority " + std::to_string(wanted.priority);
  if (wanted.of == policy::deadline) return name;
  return name + " with nice " + std::to_string(wanted.nice);
}

std::string limit_of(decltype(RLIMIT_NICE) resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

std::string not_permitted(const schedule& wanted) {
  const std::string start = "this process may not use " + described(wanted) + ", so nothing " +
                            "was measured: it lacks the capability CAP_SYS_NICE, ";
  if (wanted.is_real_time()) {
    return start + "ulimit -r is " + limit_of(RLIMIT_RTPRIO) +
           ", its control group has no real-time budget (cpu.rt_runtime_us), or its container "
           "filters the call; run as root, or "
           "let root add '@GROUP - rtprio " +
           std::to_string(wanted.priority) + "' to /etc/security/limits.d and log in again";
  }
  if (wanted.of == policy::deadline) {
    return start +
           "or it is confined to some of the processors, which deadline excludes; run as "
           "root, and without taskset or --pin";
  }
  return start + "ulimit -e is " + limit_of(RLIMIT_NICE) +
         " (nice n needs 20 - n), or its container filters the call; run as root, or let root add "
         "'@GROUP - nice " +
         std::to_string(wanted.nice) + "' to /etc/security/limits.d and log in again";
}

/// If a container filters the call that changes a policy, a policy that is in force already will
/// do.
bool is_in_force(const schedule& wanted) {
  if (wanted.slice_ns != 0 || wanted.of == policy::deadline) return false;
  sched_param found{};
  sched_getparam(0, &found);
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, 0);
  const bool keeps_nice = wanted.of == policy::other || wanted.of == policy::batch;
  return sched_getscheduler(0) == entry_of(wanted.of).number && errno == 0 &&
         found.sched_priority == static_cast<int>(wanted.priority) &&
         (!keeps_nice || nice == wanted.nice);
}

/// The reservation of a deadline thread lasts until its period is over, even after the thread's
/// end.
int set_schedule(const kernel_schedule& asked) {
  constexpr timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
  const std::uint64_t patience_ns = 2 * asked.period_ns;
  for (std::uint64_t waited_ns = 0;; waited_ns += static_cast<std::uint64_t>(pause.tv_nsec)) {
    if (syscall(SYS_sched_setattr, 0, &asked, 0) == 0) return 0;
    if (errno != EBUSY || asked.policy != deadline_number || waited_ns > patience_ns) return errno;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
}

std::string refusal(const schedule& wanted, int error) {
  if (error == EPERM) return not_permitted(wanted);
  if (error == EBUSY && wanted.of == policy::deadline) {
    return "the kernel admits no further deadline thread of " + std::to_string(wanted.runtime_ns) +
           " ns in each " + std::to_string(wanted.period_ns) +
           " ns, because all together would exceed kernel.sched_rt_runtime_us; ask for a shorter "
           "runtime with --deadline, or for fewer threads";
  }
  return "the kernel refuses " + described(wanted) + ": " + std::strerror(error) +
         "; choose another policy or other parameters";
}

kernel_schedule granted() {
  kernel_schedule found;
  if (syscall(SYS_sched_getattr, 0, &found, sizeof found, 0) != 0) {
    throw condition_error{std::string{"the scheduling policy cannot be read back: "} +
                          std::strerror(errno)};
  }
  return found;
}

/// Returns a number from a file of the kernel's, or the default if there is none.
long number_in(const char* path, long otherwise) {
  std::ifstream file{path};
  long value = otherwise;
  return file >> value ? value : otherwise;
}

bool is_throttled() {
  const long runtime_us = number_in("/proc/sys/kernel/sched_rt_runtime_us", -1);
  const long period_us = number_in("/proc/sys/kernel/sched_rt_period_us", 1'000'000);
  return runtime_us >= 0 && runtime_us < period_us;
}

}  // namespace

std::string_view name_of(policy which) noexcept {
  return entry_of(which).name;
}

void run_under(const schedule& wanted) {
  if (is_in_force(wanted)) return;
  const kernel_schedule asked = as_kernel_wants(wanted);
  if (const int error = set_schedule(asked); error != 0) {
    if (error != EPERM || !wanted.is_real_time()) throw condition_error{refusal(wanted, error)};
    const std::string why_not = wanted.of == policy::rr ? ask_rtkit(wanted.priority)
                                                        : "rtkit could grant rr, and never fifo";
    if (!why_not.empty()) throw condition_error{refusal(wanted, error) + "; " + why_not};
  }
  const kernel_schedule found = granted();
  if (found.policy != asked.policy || found.priority != asked.priority ||
      (wanted.of != policy::idle && found.nice != asked.nice)) {
    throw condition_error{"the kernel granted another policy than " + described(wanted)};
  }
  if (wanted.slice_ns != 0 && found.runtime_ns != wanted.slice_ns) {
    throw condition_error{
        "a slice of " + std::to_string(wanted.slice_ns) + " ns was requested and " +
        std::to_string(found.runtime_ns) +
        " ns granted (0: the kernel has no slices per thread, which came with Linux 6.12); ask for "
        "0.1 to 100 ms, or drop --slice"};
  }
}

void leave_room(const schedule& wanted, unsigned threads, unsigned processors) {
  const auto online = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const double share = wanted.of == policy::deadline ? static_cast<double>(wanted.runtime_ns) /
                                                           static_cast<double>(wanted.period_ns)
                                                     : 1.0;
  const bool leaves_one =
      std::min(threads * share, static_cast<double>(processors)) <= online - 1.0;
  if (!wanted.outranks_others() || leaves_one || is_throttled()) return;
  throw condition_error{
      std::to_string(threads) + " threads under " + std::string{name_of(wanted.of)} +
      " could occupy every processor, and the machine would hang, because the real-time throttle "
      "is "
      "off; ask for fewer threads than the " +
      std::to_string(online) + " processors, or: sysctl -w kernel.sched_rt_runtime_us=950000"};
}

std::uint64_t default_slice_ns() noexcept {
  kernel_schedule found;
  if (syscall(SYS_sched_getattr, 0, &found, sizeof found, 0) != 0) return 0;
  return found.policy == SCHED_OTHER || found.policy == SCHED_BATCH ? found.runtime_ns : 0;
}

}  // namespace lockyard::harness
