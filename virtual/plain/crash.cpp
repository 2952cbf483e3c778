// SPDX-License-Identifier: Apache-2.0
#include "crash.hpp"

#include "places.hpp"
#include "program.hpp"

#include <dlfcn.h>
#include <ucontext.h>
#include <unwind.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

namespace lockyard::plain {

namespace {

constexpr std::array all_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

void (*end_process)(const char* reason) = nullptr;

/// Where the crashed code was: the instruction, and where a function that has just been called
/// would return to.
struct registers {
  std::uintptr_t at = 0;
  std::uintptr_t caller = 0;
};

registers registers_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  const auto& all = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  std::uintptr_t caller = 0;
  std::memcpy(&caller, reinterpret_cast<const void*>(all[REG_RSP]), sizeof caller);
  return {.at = static_cast<std::uintptr_t>(all[REG_RIP]), .caller = caller};
#elif defined(__aarch64__)
  const auto& all = static_cast<const ucontext_t*>(context)->uc_mcontext;
  return {.at = all.pc, .caller = all.regs[30]};
#else
  return {};
#endif
}

bool is_of_checker(std::uintptr_t at) {
  Dl_info mine{};
  Dl_info found{};
  return dladdr(reinterpret_cast<const void*>(&report_crashes), &mine) != 0 &&
         dladdr(reinterpret_cast<const void*>(at), &found) != 0 &&
         found.dli_fbase == mine.dli_fbase;
}

/// The functions that were running, the innermost one first.
struct search {
  bool is_behind_signal = false;
  std::uintptr_t found = 0;  ///< a return address in the module
};

_Unwind_Reason_Code look_at(_Unwind_Context* frame, void* wanted) {
  search& mine = *static_cast<search*>(wanted);
  int is_interrupted = 0;
  const std::uintptr_t at = _Unwind_GetIPInfo(frame, &is_interrupted);
  if (is_interrupted != 0) mine.is_behind_signal = true;
  if (!mine.is_behind_signal) return _URC_NO_REASON;
  // A return address is looked up one byte before.
  if (is_of_module(at)) mine.found = at + (is_interrupted != 0 ? 1U : 0U);
  return mine.found != 0 || is_of_checker(at) ? _URC_END_OF_STACK : _URC_NO_REASON;
}

struct crash {
  model::verdict kind;
  std::string what;
  const void* place = nullptr;  ///< a return address; null if the crash is not the code's own
};

/// Says what the code has done. The code may have called a function of a library that does it.
crash crash_of(int number, const siginfo_t& info, const void* context) {
  using enum model::verdict;
  const registers was = registers_of(context);
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  if (number == SIGSEGV && address == was.at && is_of_module(was.caller)) {
    return {.kind = lifetime,
            .what = address < 4096 ? "a function is called through a null pointer"
                                   : "a function is called at an address without code",
            .place = reinterpret_cast<const void*>(was.caller)};
  }
  search frames;
  _Unwind_Backtrace(&look_at, &frames);
  const auto* const place = reinterpret_cast<const void*>(frames.found);
  switch (number) {
    case SIGFPE:
      return {.kind = assertion,
              .what = "an integer is divided by zero, or the quotient is too large",
              .place = place};
    case SIGILL:
      return {.kind = assertion,
              .what = "an instruction ends the program, such as __builtin_trap()",
              .place = place};
    case SIGABRT: return {.kind = assertion, .what = "a library calls abort()", .place = place};
    default: return {.kind = lifetime, .what = "an address without memory is used", .place = place};
  }
}

/// Ends the process as the signal does by default: a caller of abort() has given its reason.
void end_by(int number) {
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// Runs on the stack for signals, which an execution that fails leaves forever; the next crash
/// finds it empty. The signal stays deliverable (SA_NODEFER), so nothing has to be restored.
void report(int number, siginfo_t* info, void* context) {
  model::execution* const running = model::execution::current();
  if (info->si_code <= 0 && number != SIGABRT) return end_by(number);  // from outside
  if (running == nullptr) {
    if (number == SIGABRT) return end_by(number);
    end_process(
        "the code crashes in its static initialisation, or the checker itself crashed; find the "
        "place with a debugger");
  }
  static_assert(model::fiber_stacks::bytes == 256 * 1024);
  if (number == SIGSEGV &&
      running->is_beyond_a_stack(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
    end_process("a thread needs more than 256 KiB of stack; make its local variables smaller");
  }
  const crash found = crash_of(number, *info, context);
  if (found.place == nullptr) {
    if (number == SIGABRT) return end_by(number);
    end_process(
        "the checker itself crashed, perhaps because the code has changed memory that is not its "
        "own; find the place with a debugger");
  }
  running->fail(found.kind, found.what, place_of(found.place));
}

}  // namespace

void report_crashes(void (*end)(const char* reason)) {
  end_process = end;
  struct sigaction how {};
  how.sa_sigaction = &report;
  how.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int each : all_signals) sigaction(each, &how, nullptr);
}

void prepare_for_crashes() {
  thread_local std::array<std::byte, 64 * 1024> stack;
  thread_local bool is_ready = false;
  if (is_ready) return;
  is_ready = true;
  const stack_t own{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&own, nullptr);
}

}  // namespace lockyard::plain
