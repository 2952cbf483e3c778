// SPDX-License-Identifier: Apache-2.0
#pragma once

// The reports of the debug mode (LOCKYARD_DEBUG) and their handlers. docs/debugging.md is the
// manual.

#include <lockyard/detail/os/call_stack.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace lockyard::inline v0::debug {

enum class problem : std::uint8_t {
  recursive_lock,          ///< the thread is about to wait for a lock that it holds itself
  unlock_not_held,         ///< no thread holds the lock
  unlock_by_other_thread,  ///< another thread holds the lock
  destroyed_while_held,
  destroyed_while_waited_for,
  asserted_held,      ///< the thread asserts that it holds the lock, and does not hold it
  asserted_not_held,  ///< the thread asserts that it does not hold the lock, and holds it
  lock_order,         ///< locks were acquired in orders that can end in a deadlock
  overflow,  ///< too many locks or orders to remember: from here on some problems are not seen
};

/// A lock: its address, and its type as the compiler writes it.
struct lock_id {
  const void* address;
  std::string_view type;
};

/// A thread and its call stack.
struct place {
  int thread;  ///< the thread's id in the kernel; 0: no thread
  detail::os::call_stack stack;
};

/// An operation on `lock`, and the lock that is held meanwhile: in a lock order the first lock of
/// the order, otherwise `lock` itself. `since.thread` is 0 where no thread holds that lock.
struct step {
  lock_id lock;
  place at;
  lock_id held;
  place since;
};

/// The first step is the calling thread's next operation. In a lock order the other steps are
/// earlier operations of threads: each step acquired the lock that the step above holds, and the
/// last step held the lock that the calling thread is about to acquire.
struct report {
  problem kind;
  std::span<const step> steps;
  std::size_t left_out;  ///< steps for which there was no room
};

/// Called by the thread that has the problem, before the thread continues; the report is valid
/// until the handler returns. If the handler returns, the program continues. A handler's own use of
/// locks is not watched.
using handler = void (*)(const report&) noexcept;

inline constexpr bool is_misuse(problem kind) noexcept {
  return kind < problem::lock_order;
}

inline constexpr std::string_view text_of(problem kind) noexcept {
  switch (kind) {
    case problem::recursive_lock:
      return "is locked again by the thread that holds it, which would wait for itself";
    case problem::unlock_not_held: return "is unlocked, and no thread holds it";
    case problem::unlock_by_other_thread: return "is unlocked by a thread that does not hold it";
    case problem::destroyed_while_held: return "is destroyed while it is held";
    case problem::destroyed_while_waited_for: return "is destroyed while a thread waits for it";
    case problem::asserted_held: return "is asserted to be held by a thread that does not hold it";
    case problem::asserted_not_held: return "is asserted not to be held by a thread that holds it";
    case problem::lock_order:
      return "is acquired in an order that can deadlock: agree on one order of the locks below";
    case problem::overflow:
      return "is one too many to watch: from here on some problems will not be seen";
  }
  return "";
}

/// Prints the name by which users know a type: `ticket_spinlock`, where the compiler writes
/// `lockyard::v0::basic_ticket_spinlock<lockyard::v0::debugging>`.
inline void print_name(std::FILE* out, std::string_view type) noexcept {
  constexpr std::array<std::string_view, 6> noise{"lockyard::",  "v0::",        "basic_",
                                                  "<debugging>", "debugging, ", "<>"};
  while (!type.empty()) {
    const auto* const word = std::ranges::find_if(
        noise, [type](std::string_view each) { return type.starts_with(each); });
    if (word == noise.end()) std::fputc(type.front(), out);
    type.remove_prefix(word == noise.end() ? 1 : word->size());
  }
}

inline void print_lock(std::FILE* out, lock_id lock) noexcept {
  print_name(out, lock.type);
  std::fprintf(out, " %p", lock.address);
}

inline void print_stack(std::FILE* out, const place& where) noexcept {
  if (where.stack.calls.front() == nullptr) std::fputs("      (place unknown)\n", out);
  for (const void* const call : where.stack.calls) {
    if (call == nullptr) break;
    std::fputs("      ", out);
    detail::os::print_call(out, call);
    std::fputc('\n', out);
  }
}

/// A handler: prints the report to stderr, and lets the program continue.
inline void print(const report& found) noexcept {
  std::FILE* const out = stderr;
  const auto text = text_of(found.kind);
  std::fputs("lockyard: ", out);
  print_lock(out, found.steps.front().lock);
  std::fprintf(out, " %.*s\n", static_cast<int>(text.size()), text.data());
  for (const step& each : found.steps) {
    std::fprintf(out, "  thread %d, ", each.at.thread);
    print_lock(out, each.lock);
    std::fputs(", at\n", out);
    print_stack(out, each.at);
    if (each.since.thread == 0) continue;
    std::fputs("    while ", out);
    print_lock(out, each.held);
    std::fprintf(out, " was held by thread %d since\n", each.since.thread);
    print_stack(out, each.since);
  }
  if (found.left_out != 0) std::fprintf(out, "  and %zu more steps\n", found.left_out);
}

/// The default handler: prints the report; ends the process by std::abort, as assert does, if the
/// program has broken a lock's precondition. A lock order does not end the process, because the
/// opposite order may never run at the same time.
inline void abort_on_misuse(const report& found) noexcept {
  print(found);
  if (is_misuse(found.kind)) std::abort();
}

/// A handler: prints the report, and ends the process by std::abort.
inline void abort_always(const report& found) noexcept {
  print(found);
  std::abort();
}

namespace detail {
[[gnu::visibility("default")]] inline constinit std::atomic<handler> current_handler{
    &abort_on_misuse};
}  // namespace detail

/// Sets the handler of all reports from now on, in all threads, and returns the previous handler.
/// Without LOCKYARD_DEBUG there are no reports.
inline handler set_handler(handler next) noexcept {
  // order[set]: acq_rel; pairs [deliver, set]; publishes all that the handler relies on.
  return detail::current_handler.exchange(next, std::memory_order_acq_rel);
}

namespace detail {
inline void deliver(const report& found) noexcept {
  // order[deliver]: acquire; pairs [set]; as in [set].
  current_handler.load(std::memory_order_acquire)(found);
}
}  // namespace detail

}  // namespace lockyard::inline v0::debug
