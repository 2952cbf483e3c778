// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockyard::model {

/// Events, in the form in which they enter a thread's history.
enum event_kind : std::uint64_t {
  created = 1,
  destroyed,
  loaded,
  stored,
  changed,
  not_changed,
  fenced,
  fenced_lightly,
  barred,
  awaited,
  timed_out,
  paused,
  slept,
  not_slept,
  woke_up,
  woke,
  moved,
  notified,
  asked_time,
  drew,
  ended,
};

}  // namespace lockyard::model
