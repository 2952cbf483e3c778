// SPDX-License-Identifier: Apache-2.0
#include "processors.hpp"

#include "../topology.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>

namespace lockyard::harness {

namespace {

/// The memory for the records of all processors: 100,000 switches and more for each of a few
/// processors.
constexpr std::size_t all_rings_bytes = std::size_t{64} << 20U;
constexpr std::size_t most_ring_bytes = std::size_t{8} << 20U;

/// A switch record of a processor, with the sample that follows it.
struct switch_record {
  std::uint32_t other_pid;  ///< the thread that comes next, or went before
  std::uint32_t other_tid;
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t time_ns;
};

std::optional<processor_switch> switch_of(const kernel_record& record) {
  if (record.type != PERF_RECORD_SWITCH_CPU_WIDE || record.bytes < sizeof(switch_record)) {
    return std::nullopt;
  }
  switch_record found{};
  std::memcpy(&found, record.body, sizeof found);
  return processor_switch{.time_ns = found.time_ns,
                          .tid = found.tid,
                          .other = found.other_tid,
                          .is_out = (record.flags & PERF_RECORD_MISC_SWITCH_OUT) != 0,
                          .could_go_on = (record.flags & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
}

switches_read read_from(const kernel_ring& ring) {
  switches_read found;
  found.lost_bytes = ring.read([&](const kernel_record& record) {
    if (const auto one = switch_of(record)) found.all.push_back(*one);
  });
  std::ranges::reverse(found.all);  // the ring gives the newest record first
  std::ranges::stable_sort(found.all, {}, &processor_switch::time_ns);
  return found;
}

/// Returns the largest power of two that leaves room for all processors.
std::size_t ring_bytes_for(std::size_t processors) {
  std::size_t bytes = most_ring_bytes;
  while (bytes > ring_bytes && bytes * processors > all_rings_bytes) bytes /= 2;
  return bytes;
}

}  // namespace

processor_recorder::processor_recorder() {
  if (!is_in_first_pid_namespace()) {
    why_not_ = "the kernel's switch records name no threads in a PID namespace";
    return;
  }
  perf_event_attr wanted = event_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  wanted.context_switch = 1;
  wanted.sample_id_all = 1;
  wanted.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  try {
    const auto usable = usable_cpus();
    for (const int cpu : usable) {
      processors_.push_back(
          {.cpu = cpu,
           .ring = {open_event(wanted, watched::processor(cpu)), ring_bytes_for(usable.size())}});
    }
  } catch (const std::system_error& error) {
    processors_.clear();
    why_not_ = why_refused(error.code().value(), "idle processors cannot be recorded");
  }
}

void processor_recorder::start() noexcept {
  for (const processor& each : processors_) each.ring.enable();
}

void processor_recorder::stop() {
  for (const processor& each : processors_) each.ring.disable();
  for (processor& each : processors_) each.read = read_from(each.ring);
}

std::vector<int> processor_recorder::processors() const {
  std::vector<int> cpus;
  cpus.reserve(processors_.size());
  for (const processor& each : processors_) cpus.push_back(each.cpu);
  return cpus;
}

std::vector<idle_time> processor_recorder::idle_times() const {
  std::vector<idle_time> found;
  for (const processor& each : processors_) {
    const auto of_one = idle_times_of(each.cpu, each.read.all);
    found.insert(found.end(), of_one.begin(), of_one.end());
  }
  return found;
}

void processor_recorder::add_to(std::map<std::uint32_t, thread_history>& histories,
                                const std::function<std::uint64_t(std::uint64_t)>& ticks_of) const {
  for (const processor& each : processors_) {
    constexpr std::size_t record_bytes = sizeof(perf_event_header) + sizeof(switch_record);
    const std::uint64_t lost = (each.read.lost_bytes + record_bytes - 1) / record_bytes;
    add_switches(histories, each.cpu, each.read.all, lost, ticks_of);
  }
  for (auto& [tid, history] : histories) {
    std::ranges::stable_sort(history.events, {}, &trace::event::ticks);
  }
}

}  // namespace lockyard::harness
