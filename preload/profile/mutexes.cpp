// SPDX-License-Identifier: Apache-2.0

#include "mutexes.hpp"

namespace lockyard::preload::record {

constinit thread_local thread_state state{};

namespace {

void finish_pending(const release_note& last) {
  finished_wait& done = state.pending;
  const bool is_of_this_wait = last.ticks >= done.begin && last.ticks <= done.end;
  const u64 length = done.end - done.begin;
  // Ticks and nanoseconds of the same wait give the rate.
  const double ns_per_tick =
      length != 0 ? static_cast<double>(state.wait_ns) / static_cast<double>(length) : 0;
  const u64 late = is_of_this_wait ? done.end - last.ticks : 0;
  done.cause = state.evidence.cause(
      state.wait_ns, static_cast<u64>(static_cast<double>(late) * ns_per_tick), done.others,
      is_of_this_wait && done.others == 0 ? last.mark : holder_mark::unknown);
  done.detail = done.cause == wait_cause::holder_asleep ? state.evidence.system_call() : 0;
  state.pending_mutex = nullptr;
  add_wait(done, is_of_this_wait ? last.stack : 0);
}

void set_attention() {
  state.attention = state.pending_mutex != nullptr ? state.pending_mutex : state.sampled;
}

/// Returns the number of acquisitions until the next sample.
u32 interval() {
  const u32 doublings = state.samples / samples_an_interval;
  return doublings >= 5 ? longest_interval : first_interval << doublings;
}

void end_hold(const void* mutex) {
  const u64 now = ticks();
  ++state.samples;
  const bool was_kept = interruptions() == state.sampled_interruptions;
  state.sampled = nullptr;
  add_hold(mutex, state.sampled_site, {now - state.sampled_since, !was_kept});
  // The next acquisition ends the gap, if it is of this mutex.
  state.gap_mutex = mutex;
  state.gap_tries = most_gap_tries;
  state.until_sample = 1;
  state.gap_interruptions = interruptions();
  state.gap_since = ticks();
}

/// Ends the gap at the thread's call for the mutex.
void end_gap(u64 now) {
  const bool was_kept = interruptions() == state.gap_interruptions;
  add_gap(state.gap_mutex, {now - state.gap_since, !was_kept});
  state.gap_mutex = nullptr;
  state.until_sample = interval();
}

}  // namespace

[[gnu::noinline]] void begin_sample(const void* mutex, const void* site) {
  state.until_sample = interval();
  if (state.sampled != nullptr || own_record() == nullptr) return;
  if (state.gap_mutex == mutex) return end_gap(ticks());
  if (state.gap_mutex != nullptr && --state.gap_tries != 0) {
    state.until_sample = 1;
    return;
  }
  state.gap_mutex = nullptr;
  state.sampled = mutex;
  state.sampled_site = site;
  state.sampled_interruptions = interruptions();
  state.sampled_since = ticks();
  set_attention();
}

[[gnu::noinline]] void after_release(const void* mutex) {
  const kept_errno before;
  if (state.sampled == mutex) end_hold(mutex);
  if (state.pending_mutex == mutex) finish_pending(state.previous);
  set_attention();
  before.restore();
}

[[gnu::noinline]] void note_contended(pthread_mutex_t* m, const void* site) {
  const kept_errno before;
  const mutex_layout& layout = layout_of(m);
  holder_mark seen = holder_mark::unknown;
  if (has_interruptions(layout)) {
    const bool was_kept = interruptions() == static_cast<u32>(layout.spins);
    seen = was_kept ? holder_mark::kept : holder_mark::wiped;
  }
  if (state.pending_mutex == m) state.previous = last_release(m);
  const u64 now = ticks();
  note_release(m, {now, stack_from(site), seen});
  add_wake(m);
  before.restore();
}

void before_condition(pthread_mutex_t* m, const void* site) {
  if (is_contended(layout_of(m))) note_contended(m, site);
  if (state.pending_mutex == m || state.sampled == m) after_release(m);
}

[[gnu::noinline]] int wait_for_mutex(pthread_mutex_t* m, clockid_t clock, const timespec* limit,
                                     const void* site) {
  const auto wait = [&] {
    return limit != nullptr ? real::mutex_clocklock(m, clock, limit) : real::mutex_lock(m);
  };
  thread_block* const own = own_record();
  if (own == nullptr) return wait();
  const kept_errno before;
  if (state.pending_mutex != nullptr) finish_pending(state.previous);
  mutex_layout& layout = layout_of(m);
  const bool has_record = is_plain(layout.kind);
  finished_wait done;
  done.object = m;
  const u32 turn = has_record ? __atomic_load_n(&layout.count, __ATOMIC_RELAXED) : 0;
  if (has_record) done.holder_site = __atomic_load_n(&layout.site, __ATOMIC_RELAXED);
  done.waiter = stack_from(site);
  done.begin = ticks();
  done.holder_tid = static_cast<u32>(owner_of(layout));
  if (state.gap_mutex == m) end_gap(done.begin);
  begin_wait(*own, m, object_kind::mutex, site, done.waiter, limit != nullptr, done.begin);
  if (guarding != guard_mode::off) {
    if (const int refused = guard_wait(m, *own, site, done.begin)) {
      end_wait(*own);
      return refused;
    }
  }
  wait_evidence evidence{monotonic_ns(), turn};
  const auto look = [&] {
    return wait_and_look(
        evidence, [=](auto until) { return real::mutex_clocklock(m, CLOCK_MONOTONIC, until); },
        wait, [&] { return owner_of(layout); },
        [&] { return __atomic_load_n(&layout.count, __ATOMIC_RELAXED); });
  };
  if (has_record) count_waiter(layout, 1);
  const int error = has_record && limit == nullptr ? look() : wait();
  if (has_record) count_waiter(layout, ~u32{0});
  done.end = ticks();
  end_wait(*own);
  if (error == 0) {
    if (has_record) evidence.end(layout.count);
    acquired(m, site);
    done.others = has_record ? layout.count - 1 - turn : 0;
    done.acquisitions = has_record ? layout.count : 0;
    // The rest is done after the release, because it would lengthen the section.
    state.pending = done;
    state.previous = last_release(m);
    state.evidence = evidence;
    state.wait_ns = monotonic_ns() - evidence.begin_ns();
    state.pending_mutex = m;
    set_attention();
  }
  before.restore();
  return error;
}

void forget_thread() {
  state.attention = state.sampled = state.pending_mutex = state.gap_mutex = nullptr;
}

}  // namespace lockyard::preload::record
