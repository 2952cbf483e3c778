// SPDX-License-Identifier: Apache-2.0
#include "crash.hpp"

#include <model/execution.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace lockyard::plain {

namespace {

volatile std::sig_atomic_t reports_to = -1;

/// The process cannot go on, so the handler need not be async-signal-safe.
void report(int number, siginfo_t* info, void* /*context*/) {
  const model::execution* const running = model::execution::current();
  const char* reason =
      "the code uses an address that has no memory, or runs code that is not there; correct it, or "
      "find the place with a debugger";
  if (number == SIGFPE) reason = "the code divides by zero; correct it";
  if (number == SIGILL) {
    reason = "the code runs into an instruction that ends it (a builtin trap); correct it";
  }
  if (number == SIGSEGV && running != nullptr && running->is_beyond_a_stack(info->si_addr)) {
    reason = "a thread needs more than 256 KiB of stack; make its local variables smaller";
  }
  static_assert(model::fiber_stack::bytes == 256 * 1024);
  std::array<char, 256> record{};
  const int length = std::snprintf(record.data(), record.size(), "{\"error\":\"%s\"}\n", reason);
  if (running != nullptr && write(reports_to, record.data(), static_cast<std::size_t>(length)) > 0)
    std::_Exit(1);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

void report_crashes(int to) {
  reports_to = to;
  struct sigaction how {};
  how.sa_sigaction = &report;
  how.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(each, &how, nullptr);
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
