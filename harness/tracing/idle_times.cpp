// SPDX-License-Identifier: Apache-2.0
#include "idle_times.hpp"

#include "../topology.hpp"
#include "switches.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <system_error>

namespace lockyard::harness {

namespace {

constexpr std::uint32_t idle_thread = 0;

/// A switch record of a processor, with the sample that follows it.
struct switch_record {
  std::uint32_t other_pid;  ///< the thread that comes next, or went before
  std::uint32_t other_tid;
  std::uint32_t pid;
  std::uint32_t tid;
  std::uint64_t time_ns;
};

/// Something that a processor did at a moment.
struct change {
  std::uint64_t time_ns;
  bool to_idle;
};

std::optional<change> change_of(const kernel_record& record) {
  if (record.type != PERF_RECORD_SWITCH_CPU_WIDE || record.bytes < sizeof(switch_record)) {
    return std::nullopt;
  }
  switch_record found{};
  std::memcpy(&found, record.body, sizeof found);
  if (found.other_tid != idle_thread) return std::nullopt;
  return change{.time_ns = found.time_ns,
                .to_idle = (record.flags & PERF_RECORD_MISC_SWITCH_OUT) != 0};
}

}  // namespace

idle_recorder::idle_recorder() {
  if (!is_in_first_pid_namespace()) {
    why_not_ = "the kernel's switch records do not tell idle processors in a PID namespace";
    return;
  }
  perf_event_attr wanted = event_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  wanted.context_switch = 1;
  wanted.sample_id_all = 1;
  wanted.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  try {
    for (const int cpu : usable_cpus()) {
      processors_.push_back(
          {.cpu = cpu, .ring = {open_event(wanted, watched::processor(cpu)), ring_bytes}});
    }
  } catch (const std::system_error& error) {
    processors_.clear();
    why_not_ = why_refused(error.code().value(), "idle processors cannot be recorded");
  }
}

void idle_recorder::start() noexcept {
  for (const processor& each : processors_) each.ring.enable();
}

void idle_recorder::stop() noexcept {
  for (const processor& each : processors_) each.ring.disable();
}

std::vector<int> idle_recorder::processors() const {
  std::vector<int> cpus;
  cpus.reserve(processors_.size());
  for (const processor& each : processors_) cpus.push_back(each.cpu);
  return cpus;
}

std::vector<idle_time> idle_recorder::found() const {
  std::vector<idle_time> all;
  for (const processor& each : processors_) {
    std::vector<change> changes;
    each.ring.read([&](const kernel_record& record) {
      if (const auto one = change_of(record)) changes.push_back(*one);
    });
    std::ranges::stable_sort(changes, {}, &change::time_ns);
    std::optional<std::uint64_t> since_ns;
    for (const change& one : changes) {
      if (!one.to_idle && since_ns) {
        all.push_back(
            {.cpu = each.cpu, .begin_ns = *since_ns, .length_ns = one.time_ns - *since_ns});
      }
      since_ns = one.to_idle ? std::optional{one.time_ns} : std::nullopt;
    }
  }
  return all;
}

}  // namespace lockyard::harness
