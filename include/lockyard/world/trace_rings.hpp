// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rings of the traced world's stamps: each thread writes its own ring, in a mapping that the
// whole process shares. A stamp is a clock read and a store of 32 bytes. No stamp waits for another
// thread, allocates, or fails: a thread that gets no ring is counted.

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/detail/os/switch_records.hpp>
#include <lockyard/detail/os/trace_memory.hpp>
#include <lockyard/detail/trace_format.hpp>
#include <lockyard/world/native.hpp>
#include <lockyard/world/trace_state.hpp>
#include <lockyard/world/trace_switches.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::trace::detail {

/// Claims an unused ring, or the ring of a thread that has ended; returns null if there is none.
inline ring* claim(header& of, std::uint32_t tid) noexcept {
  const std::atomic_ref<std::uint32_t> taken{of.rings_taken};
  // relaxed(atomicity): no index is claimed twice.
  std::uint32_t index = taken.load(std::memory_order_relaxed);
  while (index < of.ring_count) {
    // relaxed(atomicity): as above.
    if (taken.compare_exchange_weak(index, index + 1, std::memory_order_relaxed,
                                    std::memory_order_relaxed)) {
      ring* const fresh = of.ring_at(index);
      fresh->index = index;
      // relaxed(atomicity): other threads read only the owner's number.
      std::atomic_ref{fresh->tid}.store(tid, std::memory_order_relaxed);
      return fresh;
    }
  }
  for (index = 0; index < of.ring_count; ++index) {
    ring* const used = of.ring_at(index);
    const std::atomic_ref<std::uint32_t> owner{used->tid};
    // order[kind_seen]: acquire; pairs [kind]; the owner's number is set, too.
    const ring_kind kind = std::atomic_ref{used->kind}.load(std::memory_order_acquire);
    // relaxed(revalidated): the exchange below decides.
    std::uint32_t before = owner.load(std::memory_order_relaxed);
    if (kind != ring_kind::stamps || os::thread_lives(before)) continue;
    // relaxed(atomicity): one thread takes it over; [inherit] orders.
    if (!owner.compare_exchange_strong(before, tid, std::memory_order_relaxed,
                                       std::memory_order_relaxed))
      continue;
    // order[inherit]: acquire; pairs [trace_state.hpp:written]; the ended thread's events come
    // before this one's.
    const std::uint64_t had = std::atomic_ref{used->written}.load(std::memory_order_acquire);
    used->lost += had < of.ring_events ? had : of.ring_events;
    // The ring's thread has ended: no thread reads the pages.
    if (const auto pages = take_switch_pages(*used); pages.begin != nullptr) {
      os::close_switch_pages(pages);
    }
    // relaxed(owner): the events are written again before they are counted.
    std::atomic_ref{used->written}.store(0, std::memory_order_relaxed);
    return used;
  }
  return nullptr;
}

/// Finds the calling thread a ring of the trace that is being written now.
[[gnu::noinline, gnu::cold]] inline void find_ring(own_ring& mine, header* now) noexcept {
  mine = {.of = now};
  if (now == nullptr) return;
  ring* const found = claim(*now, native::thread_id());
  if (found == nullptr) {
    // relaxed(atomicity): a count.
    std::atomic_ref{now->threads_without_ring}.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  os::thread_name(found->name.data(), found->name.size());
  std::uint32_t* const cpu = os::cpu_of_thread(arch::thread_pointer());
  mine.cpu = cpu != nullptr ? cpu : &no_cpu;
  mine.last = now->ring_events - 1;
  mine.uses_counter = now->uses_counter != 0;
  start_switches(mine, *found);
  // order[kind]: release; pairs [kind_seen]; as there.
  std::atomic_ref{found->kind}.store(ring_kind::stamps, std::memory_order_release);
  mine.to = found;
}

/// Finds the calling thread's ring, if the trace that is being written has a ring for it.
inline void join() noexcept {
  auto& mine = native::thread_state<own_ring>();
  if (header* const now = current(); now != mine.of) find_ring(mine, now);
}

/// Starts the calling thread's switches in a trace that did not have switches at first, although
/// the thread may already have its ring.
inline void join_switches() noexcept {
  join();
  auto& mine = native::thread_state<own_ring>();
  if (mine.to == nullptr || mine.switch_head != &no_switches) return;
  mine.is_writing = true;
  // order[writing_first]: seq_cst; pairs [done_first]; for the compiler alone, no test: as
  // [writing].
  std::atomic_signal_fence(std::memory_order_seq_cst);
  start_switches(mine, *mine.to);
  // order[done_first]: seq_cst; pairs [writing_first]; for the compiler alone, no test: as
  // [writing].
  std::atomic_signal_fence(std::memory_order_seq_cst);
  mine.is_writing = false;
}

inline void stamp(event_kind kind, const void* lock, std::uint64_t argument,
                  reading how = reading::early) noexcept {
  auto& mine = native::thread_state<own_ring>();
  if (mine.is_writing) [[unlikely]] {
    ++mine.to->lost;
    return;
  }
  if (header* const now = current(); now != mine.of) [[unlikely]]
    find_ring(mine, now);
  if (mine.to == nullptr) return;
  mine.is_writing = true;
  // order[writing]: seq_cst; pairs [done]; for the compiler alone, no test: a signal handler sees
  // the flag before anything is written.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // relaxed(hint): the kernel keeps it while the thread does not run.
  const std::uint32_t cpu = std::atomic_ref{*mine.cpu}.load(std::memory_order_relaxed);
  const std::uint64_t ticks = ticks_now(mine.uses_counter, how);
  // relaxed(hint): the kernel writes there while the thread does not run.
  if (std::atomic_ref{*mine.switch_head}.load(std::memory_order_relaxed) != mine.reader.seen)
      [[unlikely]] {
    add_switches(mine, ticks);
  }
  write(*mine.to, mine.last,
        {.ticks = ticks,
         .lock = reinterpret_cast<std::uintptr_t>(lock),
         .kind = kind,
         .cpu = cpu,
         .argument = argument});
  mine.pauses = 0;
  // order[done]: seq_cst; pairs [writing]; for the compiler alone, no test: as above.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  mine.is_writing = false;
}

/// Counts a pause: an acquisition without any since the last stamp did not wait.
inline void count_pause() noexcept {
  ++native::thread_state<own_ring>().pauses;
}

/// Returns the argument of an `acquired` or `failed`: the attempt, and the pauses since the last
/// stamp plus 1, so that 0 stands for unknown.
inline std::uint64_t attempt_with_pauses(std::uint64_t attempt) noexcept {
  return attempt | (std::uint64_t{native::thread_state<own_ring>().pauses} + 1) << 8U;
}

/// Makes all threads write to `to` from now on. Returns false if another trace is being written.
inline bool begin(header* to) noexcept {
  auto& state = native::process_state<current_trace>();
  header* none = nullptr;
  // order[begin]: release; pairs [trace_state.hpp:current, end]; publishes the header.
  // relaxed(hint): a failure says that there is another trace.
  return state.is.compare_exchange_strong(none, to, std::memory_order_release,
                                          std::memory_order_relaxed);
}

/// Ends the trace: from now on no thread begins a write. Returns the trace, or null if there was
/// none.
inline header* end() noexcept {
  // order[end]: seq_cst; pairs [begin, trace_switches.hpp:ended]; the header may have been another
  // thread's; and see [trace_switches.hpp:ended] for the cycle.
  return native::process_state<current_trace>().is.exchange(nullptr, std::memory_order_seq_cst);
}

}  // namespace lockyard::inline v0::trace::detail
