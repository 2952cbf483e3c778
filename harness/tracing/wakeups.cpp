// SPDX-License-Identifier: Apache-2.0

// The scheduler's tracepoints: sched_waking reports which thread wakes a thread, sched_wakeup when
// the woken thread can run again, sched_migrate_task when it changes its processor.

#include "../topology.hpp"
#include "scheduler_events.hpp"
#include "switches.hpp"
#include "tracepoints.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace lockyard::harness {

namespace {

/// The part of a sample before the tracepoint's own record.
struct sample_head {
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t time_ns;
  std::uint32_t cpu;
  std::uint32_t nothing;
  std::uint32_t raw_bytes;
};
constexpr std::size_t head_bytes = 28;  // without padding
constexpr std::size_t least_raw_bytes = 36;

template <class T>
T field_at(const std::byte* record, std::size_t offset) {
  T found{};
  std::memcpy(&found, record + offset, sizeof found);
  return found;
}

}  // namespace

bool is_in_first_pid_namespace() {
  constexpr ino_t first = 0xeffffffc;  // the kernel's PROC_PID_INIT_INO
  struct stat found {};
  return stat("/proc/self/ns/pid", &found) == 0 && found.st_ino == first;
}

std::optional<wakeup_recorder::tracepoint> wakeup_recorder::find(const tracepoint_folder& folder,
                                                                 const std::string& name) {
  const auto id = folder.number_of(name);
  const std::string format = folder.format_of(name);
  if (!id || format.empty()) return std::nullopt;
  const tracepoint found{.id = *id,
                         .pid_at = offset_of_field(format, "pid"),
                         .from_at = offset_of_field(format, "orig_cpu"),
                         .to_at = offset_of_field(format, "dest_cpu")};
  const std::size_t last = std::max({found.pid_at, found.from_at, found.to_at});
  if (last + sizeof(std::uint32_t) > least_raw_bytes) return std::nullopt;
  return found;
}

wakeup_recorder::wakeup_recorder() {
  if (!is_in_first_pid_namespace()) {
    why_not_ =
        "the scheduler's tracepoints use the machine's thread numbers, but this process is in its "
        "own PID namespace; run outside of the container, or with the host's (--pid=host)";
    return;
  }
  const tracepoint_folder folder;
  const auto waking = find(folder, "sched/sched_waking");
  const auto wakeup = find(folder, "sched/sched_wakeup");
  const auto migrate = find(folder, "sched/sched_migrate_task");
  if (!waking || !wakeup || !migrate) {
    why_not_ =
        "the scheduler's tracepoints cannot be read, so a wake-up in flight cannot be told from a "
        "thread that waits for a processor; " +
        how_to_read_tracepoints();
    return;
  }
  waking_ = *waking;
  wakeup_ = *wakeup;
  migrate_ = *migrate;
  try {
    for (const int cpu : usable_cpus()) open(cpu);
  } catch (const std::system_error& error) {
    processors_.clear();
    why_not_ = why_refused(error.code().value(), "wake-ups cannot be recorded");
  }
}

void wakeup_recorder::open(int cpu) {
  const auto attributes = [](const tracepoint& of) {
    perf_event_attr wanted = event_attributes(PERF_TYPE_TRACEPOINT, of.id);
    wanted.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
    wanted.sample_period = 1;
    return wanted;
  };
  processor made{.ring = {open_event(attributes(waking_), watched::processor(cpu)), ring_bytes},
                 .sharing = {}};
  for (const tracepoint& other : {wakeup_, migrate_}) {
    made.sharing.push_back(open_event(attributes(other), watched::processor(cpu)));
    made.ring.share_with(made.sharing.back());
  }
  processors_.push_back(std::move(made));
}

void wakeup_recorder::start(const std::vector<std::uint32_t>& threads) {
  for (const processor& each : processors_) {
    const auto begin = [&](int event) {
      leave_out_others(event, "pid", threads);
      ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    };
    begin(each.ring.event());
    for (const descriptor& other : each.sharing) begin(other.number());
  }
}

void wakeup_recorder::stop() noexcept {
  for (const processor& each : processors_) {
    each.ring.disable();
    for (const descriptor& other : each.sharing) ioctl(other.number(), PERF_EVENT_IOC_DISABLE, 0);
  }
}

void wakeup_recorder::add_to(std::map<std::uint32_t, thread_history>& histories,
                             const std::function<std::uint64_t(std::uint64_t)>& ticks_of) const {
  using enum scheduler_record::tracepoint;
  std::vector<scheduler_record> all;
  for (const processor& each : processors_) {
    each.ring.read([&](const kernel_record& record) {
      if (record.type != PERF_RECORD_SAMPLE || record.bytes < head_bytes) return;
      sample_head head{};
      std::memcpy(&head, record.body, head_bytes);
      const std::byte* const raw = record.body + head_bytes;
      if (head.raw_bytes < least_raw_bytes || record.bytes < head_bytes + head.raw_bytes) return;
      const auto id = field_at<std::uint16_t>(raw, 0);
      const auto at = [raw](std::size_t offset) { return field_at<std::uint32_t>(raw, offset); };
      if (id == migrate_.id) {
        all.push_back({.of = migrate_task,
                       .time_ns = head.time_ns,
                       .thread = at(migrate_.pid_at),
                       .cpu = at(migrate_.to_at),
                       .other = at(migrate_.from_at)});
      } else {
        all.push_back({.of = id == waking_.id ? waking : wakeup,
                       .time_ns = head.time_ns,
                       .thread = at(id == waking_.id ? waking_.pid_at : wakeup_.pid_at),
                       .cpu = head.cpu,
                       .other = head.tid});
      }
    });
  }
  for (auto [thread, event] : events_of(std::move(all))) {
    const auto of = histories.find(thread);
    if (of == histories.end()) continue;
    event.ticks = ticks_of(event.ticks);
    of->second.events.push_back(event);
  }
  for (auto& [tid, history] : histories) {
    std::ranges::stable_sort(history.events, {}, &trace::event::ticks);
  }
}

}  // namespace lockyard::harness
