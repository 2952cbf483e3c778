// SPDX-License-Identifier: Apache-2.0

// The scheduler's tracepoints: sched_wakeup reports when a woken thread can run again and, if the
// waker did all of it, which thread that was; sched_migrate_task when a thread changes its
// processor. sched_waking, when a wake-up is sent, is left out: the stamps have that time
// (decision 0060).

#include "../topology.hpp"
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
  std::uint64_t time_ns;
  std::uint32_t raw_bytes;
};
constexpr std::size_t head_bytes = 12;  // without padding
constexpr std::size_t least_raw_bytes = 36;

template <class T>
T field_at(const std::byte* record, std::size_t offset) {
  T found{};
  std::memcpy(&found, record + offset, sizeof found);
  return found;
}

/// Returns the thread that ran while the wake-up arrived; 0 if an interrupt brought it, which may
/// have interrupted any thread.
std::uint32_t waker_of(const std::byte* record, std::size_t current_at) {
  constexpr std::size_t flags_at = 2;
  constexpr unsigned in_interrupt = 0x08 | 0x10;  // TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ
  const auto flags = field_at<std::uint8_t>(record, flags_at);
  return (flags & in_interrupt) != 0 ? 0 : field_at<std::uint32_t>(record, current_at);
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
                         .current_at = offset_of_field(format, "common_pid"),
                         .from_at = offset_of_field(format, "orig_cpu"),
                         .to_at = offset_of_field(format, "dest_cpu")};
  const std::size_t last = std::max({found.pid_at, found.current_at, found.from_at, found.to_at});
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
  const auto wakeup = find(folder, "sched/sched_wakeup");
  const auto migrate = find(folder, "sched/sched_migrate_task");
  if (!wakeup || !migrate) {
    why_not_ =
        "the scheduler's tracepoints cannot be read, so a wake-up in flight cannot be told from a "
        "thread that waits for a processor; " +
        how_to_read_tracepoints();
    return;
  }
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
    wanted.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
    wanted.sample_period = 1;
    return wanted;
  };
  processor made{.cpu = static_cast<std::uint32_t>(cpu),
                 .ring = {open_event(attributes(wakeup_), watched::processor(cpu)), ring_bytes},
                 .migrations = open_event(attributes(migrate_), watched::processor(cpu))};
  made.ring.share_with(made.migrations);
  processors_.push_back(std::move(made));
}

void wakeup_recorder::start(const std::vector<std::uint32_t>& threads) {
  for (const processor& each : processors_) {
    for (const int event : {each.ring.event(), each.migrations.number()}) {
      leave_out_others(event, "pid", threads);
      ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    }
  }
}

void wakeup_recorder::stop() noexcept {
  for (const processor& each : processors_) {
    each.ring.disable();
    ioctl(each.migrations.number(), PERF_EVENT_IOC_DISABLE, 0);
  }
}

void wakeup_recorder::add_to(std::map<std::uint32_t, thread_history>& histories,
                             const std::function<std::uint64_t(std::uint64_t)>& ticks_of) const {
  for (const processor& each : processors_) {
    each.ring.read([&](const kernel_record& record) {
      if (record.type != PERF_RECORD_SAMPLE || record.bytes < head_bytes) return;
      sample_head head{};
      std::memcpy(&head, record.body, head_bytes);
      const std::byte* const raw = record.body + head_bytes;
      if (head.raw_bytes < least_raw_bytes || record.bytes < head_bytes + head.raw_bytes) return;
      const auto at = [raw](std::size_t offset) { return field_at<std::uint32_t>(raw, offset); };
      const bool is_migration = field_at<std::uint16_t>(raw, 0) == migrate_.id;
      const tracepoint& by = is_migration ? migrate_ : wakeup_;
      const auto of = histories.find(at(by.pid_at));
      if (of == histories.end()) return;
      of->second.events.push_back(
          {.ticks = ticks_of(head.time_ns),
           .lock = 0,
           .kind = is_migration ? trace::event_kind::migrated : trace::event_kind::woken,
           .cpu = is_migration ? at(by.to_at) : each.cpu,
           .argument = is_migration ? at(by.from_at) : waker_of(raw, by.current_at)});
    });
  }
  for (auto& [tid, history] : histories) {
    std::ranges::stable_sort(history.events, {}, &trace::event::ticks);
  }
}

}  // namespace lockyard::harness
