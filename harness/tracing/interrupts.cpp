// SPDX-License-Identifier: Apache-2.0
#include "interrupts.hpp"

#include "../topology.hpp"
#include "switches.hpp"
#include "tracepoints.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>

namespace lockyard::harness {

namespace {

struct source {
  const char* name;
  trace::interrupt_kind kind;
  bool is_begin;
};
// Reschedule interrupts are left out: they are frequent and short, and a switch follows.
constexpr std::array sources{
    source{"irq_vectors/local_timer_entry", trace::interrupt_kind::timer, true},
    source{"irq_vectors/local_timer_exit", trace::interrupt_kind::timer, false},
    source{"irq_vectors/call_function_entry", trace::interrupt_kind::call, true},
    source{"irq_vectors/call_function_exit", trace::interrupt_kind::call, false},
    source{"irq_vectors/call_function_single_entry", trace::interrupt_kind::call, true},
    source{"irq_vectors/call_function_single_exit", trace::interrupt_kind::call, false},
    source{"irq/irq_handler_entry", trace::interrupt_kind::device, true},
    source{"irq/irq_handler_exit", trace::interrupt_kind::device, false},
    source{"irq/softirq_entry", trace::interrupt_kind::deferred, true},
    source{"irq/softirq_exit", trace::interrupt_kind::deferred, false},
    source{"exceptions/page_fault_user", trace::interrupt_kind::page_fault, true}};

perf_event_attr attributes_of(std::uint16_t id) {
  perf_event_attr wanted = event_attributes(PERF_TYPE_TRACEPOINT, id);
  wanted.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  wanted.sample_period = 1;
  return wanted;
}

}  // namespace

interrupt_recorder::interrupt_recorder() {
  if (!is_in_first_pid_namespace()) {
    why_not_ = "this process is in its own PID namespace, so page faults name other threads";
    return;
  }
  find_tracepoints();
  if (tracepoints_.empty()) {
    why_not_ = "the tracepoints of interrupts cannot be read; " + how_to_read_tracepoints();
    return;
  }
  try {
    for (const int cpu : usable_cpus()) open(cpu);
  } catch (const std::system_error& error) {
    processors_.clear();
    why_not_ = why_refused(error.code().value(), "interrupts cannot be recorded");
  }
}

void interrupt_recorder::find_tracepoints() {
  const tracepoint_folder folder;
  // A kernel without some of them still shows the others.
  for (const source& each : sources) {
    if (const auto id = folder.number_of(each.name)) {
      tracepoints_.push_back({.id = *id, .kind = each.kind, .is_begin = each.is_begin});
    }
  }
}

void interrupt_recorder::open(int cpu) {
  const auto begin = [cpu](const tracepoint& of) {
    return open_event(attributes_of(of.id), watched::processor(cpu));
  };
  processor made{.cpu = cpu, .ring = {begin(tracepoints_.front()), ring_bytes}, .sharing = {}};
  for (std::size_t i = 1; i < tracepoints_.size(); ++i) {
    made.sharing.push_back(begin(tracepoints_[i]));
    made.ring.share_with(made.sharing.back());
  }
  processors_.push_back(std::move(made));
}

void interrupt_recorder::start(const std::vector<std::uint32_t>& threads) {
  for (const processor& each : processors_) {
    for (std::size_t i = 0; i < tracepoints_.size(); ++i) {
      const int event = i == 0 ? each.ring.event() : each.sharing[i - 1].number();
      if (tracepoints_[i].kind == trace::interrupt_kind::page_fault) {
        leave_out_others(event, "common_pid", threads);
      }
      ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    }
  }
}

void interrupt_recorder::stop() noexcept {
  for (const processor& each : processors_) {
    each.ring.disable();
    for (const descriptor& other : each.sharing) ioctl(other.number(), PERF_EVENT_IOC_DISABLE, 0);
  }
}

std::optional<interrupt_edge> interrupt_recorder::edge_of(const kernel_record& record) const {
  struct {
    std::uint64_t time_ns;
    std::uint32_t raw_bytes;
    std::uint16_t id;
  } head{};
  constexpr std::size_t head_bytes = 14;  // without padding
  if (record.type != PERF_RECORD_SAMPLE || record.bytes < head_bytes) return std::nullopt;
  std::memcpy(&head, record.body, head_bytes);
  const auto of = std::ranges::find(tracepoints_, head.id, &tracepoint::id);
  if (of == tracepoints_.end()) return std::nullopt;
  return interrupt_edge{.time_ns = head.time_ns, .kind = of->kind, .is_begin = of->is_begin};
}

std::vector<interrupt> interrupt_recorder::interrupts() const {
  std::vector<interrupt> found;
  for (const processor& each : processors_) {
    std::vector<interrupt_edge> edges;
    each.ring.read([&](const kernel_record& record) {
      if (const auto edge = edge_of(record)) edges.push_back(*edge);
    });
    std::ranges::reverse(edges);  // the ring gives the newest record first
    std::ranges::stable_sort(edges, {}, &interrupt_edge::time_ns);
    const auto of_one = interrupts_of(each.cpu, edges);
    found.insert(found.end(), of_one.begin(), of_one.end());
  }
  return found;
}

}  // namespace lockyard::harness
