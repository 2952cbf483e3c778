// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace lockyard::simulation {

namespace {

template <std::size_t N>
void copy(std::array<char, N>& to, std::size_t at, std::string_view text) {
  const std::size_t room = at < N ? N - at - 1 : 0;
  std::memcpy(to.data() + std::min(at, N - 1), text.data(), std::min(room, text.size()));
}

}  // namespace

void recording::add(trace::ring_kind kind, int of, const trace::event& what) {
  const ring_key key{kind, of};
  auto& events = rings_[key];
  std::uint64_t& written = written_[key];
  if (events.size() < most_events) {
    events.push_back(what);
  } else {
    events[written % most_events] = what;
  }
  ++written;
}

void recording::write(const std::string& path, std::string_view title, ps end) const {
  std::size_t longest = std::max<std::size_t>(names_.size(), 1);
  for (const auto& [key, events] : rings_) longest = std::max(longest, events.size());
  const auto head = std::make_unique<trace::header>();
  head->magic = trace::header::right_magic;
  head->version = trace::header::right_version;
  head->header_bytes = trace::header::bytes;
  head->event_bytes = sizeof(trace::event);
  head->ring_events = static_cast<std::uint32_t>(std::bit_ceil(longest));
  head->ring_count = head->rings_taken = static_cast<std::uint32_t>(rings_.size()) + 1;
  head->ns_per_tick = 1.0 / ns;
  head->has_switches = head->has_wakeups = 1;
  head->ends_ticks = ticks(end);
  copy(head->title, 0, title);

  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  const std::vector<char> blank(std::size_t{head->ring_events} * sizeof(trace::event));
  const auto put = [&](const trace::ring& ring, const std::vector<trace::event>& events) {
    const std::size_t bytes = events.size() * sizeof(trace::event);
    file.write(reinterpret_cast<const char*>(&ring), sizeof ring);
    file.write(reinterpret_cast<const char*>(events.data()), static_cast<std::streamsize>(bytes));
    file.write(blank.data(), static_cast<std::streamsize>(blank.size() - bytes));
  };

  std::vector<trace::event> named;
  std::size_t at = 0;
  for (const auto& [lock, text] : names_) {
    copy(head->all_names, at, text);
    at += text.size() + 1;
    named.push_back({0, lock, trace::event_kind::named, trace::unknown_cpu, named.size()});
  }
  head->names = static_cast<std::uint32_t>(named.size());
  file.write(reinterpret_cast<const char*>(head.get()), sizeof *head);

  std::uint32_t index = 0;
  for (const auto& [key, events] : rings_) {
    trace::ring ring{};
    ring.kind = key.kind;
    ring.index = index++;
    ring.written = written_.at(key);
    if (key.kind == trace::ring_kind::gaps) {
      ring.cpu = number(key.of);
    } else {
      ring.tid = number_of(key.of);
      if (const auto of = threads_.find(key.of); of != threads_.end())
        copy(ring.name, 0, of->second);
    }
    put(ring, events);
  }
  trace::ring ring{};
  ring.kind = trace::ring_kind::names;
  ring.index = index;
  ring.written = named.size();
  put(ring, named);
  if (!file.flush()) throw std::runtime_error{"the trace cannot be written to " + path};
}

}  // namespace lockyard::simulation
