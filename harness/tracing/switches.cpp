// SPDX-License-Identifier: Apache-2.0
#include "switches.hpp"

#include <lockyard/world/native.hpp>

#include <sys/ioctl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace lockyard::harness {

namespace {

/// Of all rings together: what a thread without privileges may lock in memory is little more.
constexpr std::size_t all_bytes = std::size_t{16} << 20U;
constexpr std::size_t most_bytes = std::size_t{2} << 20U;
constexpr std::size_t record_bytes = 32;

/// What every record ends with, by the sample_type that we ask for.
struct sample_id {
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t time_ns;
  std::uint32_t cpu;
  std::uint32_t nothing;
};
static_assert(sizeof(sample_id) + sizeof(perf_event_header) == record_bytes);

}  // namespace

void add_migrations(std::vector<trace::event>& events) {
  std::vector<trace::event> moves;
  std::uint32_t left = trace::unknown_cpu;
  for (const trace::event& each : events) {
    if (each.kind == trace::event_kind::switch_out) left = each.cpu;
    if (each.kind != trace::event_kind::switch_in) continue;
    if (left != trace::unknown_cpu && left != each.cpu) {
      moves.push_back({.ticks = each.ticks,
                       .lock = 0,
                       .kind = trace::event_kind::migrated,
                       .cpu = each.cpu,
                       .argument = left});
    }
  }
  events.insert(events.end(), moves.begin(), moves.end());
  std::ranges::stable_sort(events, {}, &trace::event::ticks);
}

switch_recorder::switch_recorder(unsigned threads)
    : bytes_each_{std::clamp(std::bit_floor(all_bytes / threads), std::size_t{4096}, most_bytes)} {}

void switch_recorder::record_calling_thread() noexcept {
  const std::scoped_lock held{guard_};
  try {
    perf_event_attr wanted = event_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    wanted.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    wanted.sample_id_all = 1;
    wanted.context_switch = 1;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    kernel_ring ring{open_event(wanted, watched::calling_thread()), bytes_each_};
    ring.enable();
    rings_.insert_or_assign(native::thread_id(), std::move(ring));
  } catch (const std::system_error& error) {
    why_not_ = why_refused(error.code().value(), "context switches cannot be recorded");
  }
}

std::string switch_recorder::why_not() const {
  const std::scoped_lock held{guard_};
  return why_not_;
}

std::map<std::uint32_t, thread_history> switch_recorder::histories() const {
  const std::scoped_lock held{guard_};
  std::map<std::uint32_t, thread_history> found;
  for (const auto& [tid, ring] : rings_) {
    ring.disable();
    thread_history& of = found[tid];
    const std::uint64_t lost = ring.read([&of](const kernel_record& each) {
      if (each.type != PERF_RECORD_SWITCH || each.bytes < sizeof(sample_id)) return;
      sample_id at{};
      std::memcpy(&at, each.body, sizeof at);
      const bool is_out = (each.flags & PERF_RECORD_MISC_SWITCH_OUT) != 0;
      const bool could_go_on = (each.flags & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
      of.events.push_back(
          {.ticks = at.time_ns,
           .lock = 0,
           .kind = is_out ? trace::event_kind::switch_out : trace::event_kind::switch_in,
           .cpu = at.cpu,
           .argument = is_out && could_go_on ? 1U : 0U});
    });
    of.lost = lost / record_bytes;
    std::ranges::reverse(of.events);
  }
  return found;
}

}  // namespace lockyard::harness
