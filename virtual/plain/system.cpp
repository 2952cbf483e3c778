// SPDX-License-Identifier: Apache-2.0

// What a module's code asks of the system: futexes, time, its identity; and what the checker cannot
// follow, which ends the search.

#include "futexes.hpp"
#include "membarrier.hpp"
#include "unread_results.hpp"
#include "wrapped.hpp"

#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>

namespace lockyard::plain {

namespace {

/// For a message: the name of a call that code for threads makes, or else the number.
std::string name_of_call(long number) {
  switch (number) {
    case SYS_rseq: return "rseq";
    case SYS_getcpu: return "getcpu";
    case SYS_eventfd2: return "eventfd2";
    case SYS_tgkill: return "tgkill";
    case SYS_nanosleep: return "nanosleep";
    case SYS_clock_nanosleep: return "clock_nanosleep";
    case SYS_mmap: return "mmap";
    default: return std::to_string(number);
  }
}

void give_way(std::source_location where) {
  spins& loop = worker::mine().loop();
  if (!loop.is_excused()) loop.pause(where);
}

std::int64_t time_ns(std::source_location where) {
  constexpr std::int64_t hour = 3'600'000'000'000;
  worker::mine().loop().note_time();
  const auto hours = static_cast<std::int64_t>(now().hours_passed(where));
  clear_dead_stack();
  return (hours + 1) * hour;
}

using arguments = std::array<long, 6>;

[[gnu::noinline]] long call_system(long number, const arguments& words, bool is_read,
                                   const void* pc) {
  const auto where = place_of(pc);
  switch (number) {
    case SYS_futex:
      return futex({.word = reinterpret_cast<const std::uint32_t*>(words[0]),
                    .operation = static_cast<int>(words[1]),
                    .value = static_cast<std::uint32_t>(words[2]),
                    .limit = reinterpret_cast<const std::timespec*>(words[3]),
                    .second = reinterpret_cast<const std::uint32_t*>(words[4]),
                    .third = static_cast<std::uint32_t>(words[5]),
                    .result_matters = is_read},
                   where);
    case SYS_gettid: return now().self() + 1L;
    case SYS_membarrier:
      return membarrier(static_cast<int>(words[0]), static_cast<unsigned>(words[1]), where);
    case SYS_sched_yield: give_way(where); return 0;
    default:
      refuse("the checker does not have the system call " + name_of_call(number),
             "leave it out under a macro given by --flags", where);
  }
}

void sleep_without_files(const char* name, bool has_none, std::source_location where) {
  if (!has_none) {
    refuse(std::string{"the checker has "} + name + "() without files only, as a sleep",
           "leave the call out under a macro given by --flags", where);
  }
  give_way(where);
}

/// The time as the code sees it.
std::timespec time_of(clockid_t clock, const void* pc) {
  std::timespec found{};
  if (is_active()) {
    const std::int64_t ns = time_ns(place_of(pc));
    found = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  } else {
    clock_gettime(clock, &found);
  }
  return found;
}

/// Writes a result to the code's memory, if it wants one.
template <class T>
void give(T* to, T value, const void* pc) {
  if (to == nullptr) return;
  if (is_active()) write_bytes(to, sizeof *to, pc);
  *to = value;
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl50-cpp): the names are the linker's, and the
// kernel's call takes any arguments.
extern "C" {

/// The C library says so, by which std::shared_ptr decides whether it needs atomic counts.
extern const char __wrap___libc_single_threaded;
const char __wrap___libc_single_threaded = 0;

using lockyard::plain::is_active;

int* __wrap___errno_location() {
  if (!is_active()) return __errno_location();
  return &lockyard::plain::worker::mine().storage[lockyard::plain::now().self()].error;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (!is_active()) {
    const bool registers =
        number == SYS_membarrier && a == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    if (registers) lockyard::plain::worker::mine().barriers.make_early();
    return syscall(number, a, b, c, d, e, f);
  }
  const void* const frame = __builtin_frame_address(0);
  const bool is_read = lockyard::plain::is_result_read(LOCKYARD_PC, frame);
  const long result =
      lockyard::plain::call_system(number, {a, b, c, d, e, f}, is_read, LOCKYARD_PC);
  lockyard::plain::clear_dead_stack();
  return result;
}

int __wrap_sched_yield() {
  if (is_active()) lockyard::plain::give_way(LOCKYARD_HERE);
  return 0;
}
int __wrap_sleep(unsigned /*length*/) {
  if (is_active()) lockyard::plain::give_way(LOCKYARD_HERE);
  return 0;
}
int __wrap_pthread_yield() {
  if (is_active()) lockyard::plain::give_way(LOCKYARD_HERE);
  return 0;
}
int __wrap_nanosleep(const std::timespec* /*length*/, std::timespec* /*left*/) {
  if (is_active()) lockyard::plain::give_way(LOCKYARD_HERE);
  return 0;
}
int __wrap_usleep(unsigned /*length*/) {
  if (is_active()) lockyard::plain::give_way(LOCKYARD_HERE);
  return 0;
}
int __wrap_clock_nanosleep(clockid_t /*clock*/, int /*flags*/, const std::timespec* /*length*/,
                           std::timespec* /*left*/) {
  if (is_active()) lockyard::plain::give_way(LOCKYARD_HERE);
  return 0;
}
// Without a file, a sleep.
int __wrap_poll(pollfd* /*files*/, nfds_t count, int /*milliseconds*/) {
  if (is_active()) lockyard::plain::sleep_without_files("poll", count == 0, LOCKYARD_HERE);
  return 0;
}
int __wrap_select(int /*count*/, fd_set* in, fd_set* out, fd_set* others, timeval* /*length*/) {
  const bool has_none = in == nullptr && out == nullptr && others == nullptr;
  if (is_active()) lockyard::plain::sleep_without_files("select", has_none, LOCKYARD_HERE);
  return 0;
}
// Calls that read a thread's name or processors are refused, and so is pthread_cancel().
int __wrap_pthread_setname_np(pthread_t /*thread*/, const char* /*name*/) {
  return 0;
}
int __wrap_pthread_setaffinity_np(pthread_t /*thread*/, std::size_t /*size*/,
                                  const cpu_set_t* /*set*/) {
  return 0;
}
// A priority changes no execution that the checker looks at: each thread may run at any time.
int __wrap_pthread_setschedparam(pthread_t /*thread*/, int /*policy*/,
                                 const sched_param* /*parameters*/) {
  return 0;
}
int __wrap_pthread_setschedprio(pthread_t /*thread*/, int /*priority*/) {
  return 0;
}
int __wrap_sched_setscheduler(pid_t /*thread*/, int /*policy*/, const sched_param* /*parameters*/) {
  return 0;
}
int __wrap_sched_setaffinity(pid_t /*thread*/, std::size_t /*size*/, const cpu_set_t* /*set*/) {
  return 0;
}
int __wrap_mlockall(int /*flags*/) {
  return 0;
}
int __wrap_pthread_setcancelstate(int /*state*/, int* old) {
  lockyard::plain::give(old, int{PTHREAD_CANCEL_ENABLE}, LOCKYARD_PC);
  return 0;
}
int __wrap_pthread_setcanceltype(int /*type*/, int* old) {
  lockyard::plain::give(old, int{PTHREAD_CANCEL_DEFERRED}, LOCKYARD_PC);
  return 0;
}
void __wrap_pthread_testcancel() {}
pthread_t __wrap_pthread_self() {
  return is_active() ? lockyard::plain::now().self() + pthread_t{1} : pthread_self();
}
int __wrap_pthread_equal(pthread_t a, pthread_t b) {
  return a == b ? 1 : 0;
}
int __wrap_gettid() {
  return is_active() ? lockyard::plain::now().self() + 1 : gettid();
}

/// The processor's counter of cycles, as if each took a nanosecond.
unsigned long long lockyard_cycles() noexcept {
  if (!is_active()) return 0;
  return static_cast<unsigned long long>(lockyard::plain::time_ns(LOCKYARD_HERE));
}
int __wrap_clock_gettime(clockid_t clock, std::timespec* to) {
  if (!is_active()) return clock_gettime(clock, to);
  lockyard::plain::give(to, lockyard::plain::time_of(clock, LOCKYARD_PC), LOCKYARD_PC);
  return 0;
}
int __wrap_timespec_get(std::timespec* to, int base) {
  lockyard::plain::give(to, lockyard::plain::time_of(CLOCK_REALTIME, LOCKYARD_PC), LOCKYARD_PC);
  return base;
}
int __wrap_gettimeofday(timeval* to, void* /*zone*/) {
  const std::timespec found = lockyard::plain::time_of(CLOCK_REALTIME, LOCKYARD_PC);
  lockyard::plain::give(to, timeval{found.tv_sec, found.tv_nsec / 1000}, LOCKYARD_PC);
  return 0;
}
std::time_t __wrap_time(std::time_t* to) {
  const std::timespec found = lockyard::plain::time_of(CLOCK_REALTIME, LOCKYARD_PC);
  lockyard::plain::give(to, found.tv_sec, LOCKYARD_PC);
  return found.tv_sec;
}
std::int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  if (!is_active()) return std::chrono::steady_clock::now().time_since_epoch().count();
  return lockyard::plain::time_ns(LOCKYARD_HERE);
}
std::int64_t __wrap__ZNSt6chrono3_V212system_clock3nowEv() {
  if (!is_active()) return std::chrono::system_clock::now().time_since_epoch().count();
  return lockyard::plain::time_ns(LOCKYARD_HERE);
}

void __wrap___assert_fail(const char* claim, const char* /*file*/, unsigned /*line*/,
                          const char* /*function*/) {
  if (!is_active()) std::abort();
  lockyard::plain::now().fail(lockyard::model::verdict::assertion, claim, LOCKYARD_HERE);
}
void __wrap___assert(const char* claim, const char* /*file*/, int /*line*/) {
  if (!is_active()) std::abort();
  lockyard::plain::now().fail(lockyard::model::verdict::assertion, claim, LOCKYARD_HERE);
}
/// Programs of the competition on software verification assume by a function of that name, which
/// ends the execution: it is one that the program does not ask about.
void __wrap_abort() {
  if (!is_active()) std::abort();
  if (lockyard::plain::is_in_function(LOCKYARD_PC, "assume_abort_if_not")) {
    lockyard::plain::now().give_up(LOCKYARD_HERE);
  }
  lockyard::plain::now().fail(lockyard::model::verdict::assertion, "it calls abort()",
                              LOCKYARD_HERE);
}

void __wrap__ZSt9terminatev() {
  if (!is_active()) std::abort();
  const bool is_of_thread = lockyard::plain::is_in_function(LOCKYARD_PC, "_ZNSt6threadD") ||
                            lockyard::plain::is_in_function(LOCKYARD_PC, "_ZNSt6threadaS");
  lockyard::plain::now().fail(
      lockyard::model::verdict::assertion,
      is_of_thread ? "a std::thread ends, or gets another value, before join() or detach()"
                   : "it calls std::terminate()",
      LOCKYARD_HERE);
}

// What model checkers for C offer to a program.
void __wrap___VERIFIER_assume(int holds) {
  if (is_active() && holds == 0) lockyard::plain::now().give_up(LOCKYARD_HERE);
}
void __wrap___VERIFIER_error() {
  lockyard::plain::now().fail(lockyard::model::verdict::assertion, "__VERIFIER_error() is reached",
                              LOCKYARD_HERE);
}
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl50-cpp)
