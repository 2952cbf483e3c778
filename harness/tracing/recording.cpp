// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include "../topology.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>

namespace lockyard::harness {

namespace {

/// A ring in the form of the file.
struct ring_image {
  trace::ring head;
  std::vector<trace::event> events;  ///< what is left of it, oldest first
};

ring_image image_of(const trace::ring& from, std::uint64_t room) {
  ring_image made{.head = from, .events = {}};
  const std::uint64_t kept = std::min(from.written, room);
  made.events.reserve(kept);
  for (std::uint64_t i = from.written - kept; i < from.written; ++i) {
    made.events.push_back(from.events()[i & (room - 1)]);
  }
  return made;
}

ring_image image_of(trace::ring_kind kind, std::uint32_t tid, std::vector<trace::event> events) {
  trace::ring head{};
  head.kind = kind;
  head.tid = tid;
  head.written = events.size();
  return {.head = head, .events = std::move(events)};
}

/// Returns the events that the thread's own ring lacks.
std::vector<trace::event> added_to(const thread_history& of) {
  std::vector<trace::event> found;
  std::ranges::copy_if(of.events, std::back_inserter(found), [](const trace::event& each) {
    return each.kind == trace::event_kind::woken || each.kind == trace::event_kind::migrated;
  });
  return found;
}

void write_bytes(std::ofstream& to, const void* from, std::size_t bytes) {
  to.write(static_cast<const char*>(from), static_cast<std::streamsize>(bytes));
}

/// Parts of a file that are not written take no space on the disk.
void write_ring(std::ofstream& to, const ring_image& from, std::uint64_t room) {
  const auto begin = to.tellp();
  write_bytes(to, &from.head, sizeof from.head);
  const std::uint64_t first = (from.head.written - from.events.size()) & (room - 1);
  const std::uint64_t before_end = std::min<std::uint64_t>(from.events.size(), room - first);
  to.seekp(static_cast<std::streamoff>(first * sizeof(trace::event)), std::ios::cur);
  write_bytes(to, from.events.data(), before_end * sizeof(trace::event));
  to.seekp(begin + static_cast<std::streamoff>(sizeof from.head));
  write_bytes(to, from.events.data() + before_end,
              (from.events.size() - before_end) * sizeof(trace::event));
  to.seekp(begin + static_cast<std::streamoff>(sizeof from.head + room * sizeof(trace::event)));
}

}  // namespace

recording::recording(unsigned threads, std::uint32_t events, std::string_view title) {
  // One more ring for the thread that starts the others and holds the lock before.
  trace::size wanted{.rings = threads + 1, .events = std::bit_ceil(events)};
  wanted.rings += trace::detail::rings_beside(wanted);
  bytes_ = trace::detail::bytes_of(wanted);
  void* const memory = detail::os::map_memory(bytes_);
  if (memory == nullptr) {
    throw condition_error{"there is no memory for a trace of " + std::to_string(threads) +
                          " threads, " + std::to_string(bytes_ >> 20U) +
                          " MiB; ask for fewer threads"};
  }
  const trace::rate rate{.of_counter = clock::source() == clock_source::tsc,
                         .ns_per_tick = clock::ns_per_tick()};
  trace::header* const made = trace::detail::make_header(memory, wanted, rate, title);
  has_switches_ = std::exchange(made->has_switches, 0) != 0;
  if (!trace::detail::begin(made)) {
    detail::os::unmap(memory, bytes_);
    throw std::logic_error{"a trace is already being written"};
  }
  head_ = made;
}

recording::~recording() {
  // The memory stays mapped: this thread's ring is in it, and the process ends soon.
  trace::stop();
}

void recording::take_part() {
  const std::scoped_lock held{guard_};
  threads_.push_back(native::thread_id());
}

void recording::start() {
  head_->has_switches = has_switches_ && !is_by_processor() ? 1 : 0;
  wakeups_.start(threads_);
  processors_.start();
  interrupts_.start(threads_);
}

void recording::record_switches() noexcept {
  trace::detail::join_switches();
}

void recording::stop() {
  wakeups_.stop();
  processors_.stop();
  interrupts_.stop();
  trace::stop();
  histories_ = switches_of(*head_);
  const auto ticks_of = [this](std::uint64_t raw_ns) {
    const double since_ns = static_cast<double>(raw_ns) - static_cast<double>(head_->start_raw_ns);
    return head_->start_ticks +
           static_cast<std::uint64_t>(std::llround(since_ns / head_->ns_per_tick));
  };
  if (is_by_processor()) {
    for (const std::uint32_t tid : threads_) histories_[tid];
    processors_.add_to(histories_, ticks_of);
  }
  for (const idle_time& each : processors_.idle_times()) {
    const ticks begin = ticks_of(each.begin_ns);
    const ticks length = ticks_of(each.begin_ns + each.length_ns) - begin;
    idle_times_.push_back(seen_on(each.cpu, trace::event_kind::idle, begin, length));
  }
  for (const interrupt& each : interrupts_.interrupts()) {
    const ticks begin = ticks_of(each.begin_ns);
    const ticks length = ticks_of(each.begin_ns + each.length_ns) - begin;
    gaps_.push_back(seen_on(each.cpu, trace::event_kind::interrupt, begin, length));
    gaps_.back().what.lock = static_cast<std::uint64_t>(each.kind);
  }
  if (has_wakeups()) {
    wakeups_.add_to(histories_, ticks_of);
  } else {
    for (auto& [tid, history] : histories_) add_migrations(history.events);
  }
}

void recording::add_gap(int cpu, ticks begin, ticks length) {
  const std::scoped_lock held{guard_};
  gaps_.push_back(seen_on(cpu, trace::event_kind::gap, begin, length));
}

recording::gap_seen recording::seen_on(int cpu, trace::event_kind kind, ticks begin,
                                       ticks length) noexcept {
  return {.cpu = cpu,
          .what = {.ticks = begin,
                   .lock = 0,
                   .kind = kind,
                   .cpu = static_cast<std::uint32_t>(cpu),
                   .argument = length}};
}

void recording::save(const std::string& path) const {
  std::vector<ring_image> images;
  for (std::uint32_t i = 0; i < head_->rings_taken; ++i) {
    images.push_back(image_of(*head_->ring_at(i), head_->ring_events));
  }
  for (const auto& [tid, history] : histories_) {
    images.push_back(image_of(trace::ring_kind::switches, tid,
                              is_by_processor() ? history.events : added_to(history)));
  }
  const auto add_of_processors = [&images](trace::ring_kind kind, const std::vector<gap_seen>& seen,
                                           const std::vector<int>& watched) {
    std::map<int, std::vector<trace::event>> by_cpu;
    for (const int cpu : watched) by_cpu[cpu];  // a ring without events: there were none
    for (const gap_seen& each : seen) by_cpu[each.cpu].push_back(each.what);
    for (const auto& [cpu, events] : by_cpu) {
      images.push_back(image_of(kind, 0, events));
      images.back().head.cpu = static_cast<std::uint32_t>(cpu);
    }
  };
  add_of_processors(trace::ring_kind::gaps, gaps_, {});
  add_of_processors(trace::ring_kind::idle, idle_times_, processors_.processors());
  std::uint64_t room = 1;
  for (const ring_image& each : images) {
    room = std::max(room, std::bit_ceil(std::uint64_t{each.events.size()}));
  }
  const auto head = std::make_unique<trace::header>(*head_);
  head->ring_events = static_cast<std::uint32_t>(room);
  head->ring_count = static_cast<std::uint32_t>(images.size());
  head->has_switches = has_switches() ? 1 : 0;
  head->has_wakeups = has_switches() && has_wakeups() ? 1 : 0;
  if (head->has_switches == 0) {
    head->why_no_wakeups = head->why_no_switches;
  } else {
    trace::detail::copy(head->why_no_wakeups, wakeups_.why_not());
  }
  std::ofstream to{path, std::ios::binary | std::ios::trunc};
  write_bytes(to, head.get(), sizeof *head);
  for (std::uint32_t i = 0; i < images.size(); ++i) {
    images[i].head.index = i;
    write_ring(to, images[i], room);
  }
  to.seekp(static_cast<std::streamoff>(head->file_bytes() - 1));
  to.put('\0');
  to.close();
  if (!to) {
    throw std::runtime_error{"the trace cannot be written to " + path +
                             "; free some space there, or choose another place with --out"};
  }
}

std::uint64_t recording::events_made() const {
  std::uint64_t made = 0;
  for (const trace::ring* const each : thread_rings()) {
    made += each->written + each->lost;
  }
  return made;
}

std::uint64_t recording::lost_events() const {
  std::uint64_t lost = 0;
  for (const trace::ring* const each : thread_rings()) {
    const std::uint64_t kept = std::min<std::uint64_t>(each->written, head_->ring_events);
    lost += each->lost + each->written - kept;
  }
  return lost;
}

std::vector<const trace::ring*> recording::thread_rings() const {
  std::vector<const trace::ring*> found;
  for (std::uint32_t i = trace::header::last_switches + 1; i < head_->rings_taken; ++i) {
    found.push_back(head_->ring_at(i));
  }
  return found;
}

std::uint64_t recording::lost_switches() const noexcept {
  std::uint64_t lost = 0;
  for (const auto& [tid, history] : histories_) lost += history.lost;
  return lost;
}

}  // namespace lockyard::harness
