// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the engine knows of threads, processors and cache lines.

#include "machine.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <vector>

namespace lockyard::simulation {

struct cache_line;

/// What a spinning thread waits for, and how it passes the time. Lives on the thread's stack.
struct spin_wait {
  bool (*holds)(const spin_wait& self);    ///< tests the words as they are now, at no cost
  ps (*step)(spin_wait& self);             ///< one step of the policy: how long it takes
  bool (*repeats)(const spin_wait& self);  ///< the policy is as it was when parked
  double looking_share = 1;                ///< share of its time; the rest passes in yields
  bool may_yield = false;
  bool writes = false;  ///< each look takes the line away from others
  ps last_look = 0;
  std::array<cache_line*, 4> lines{};
  std::size_t line_count = 0;
};

enum class activity : std::uint8_t {
  none,
  operation,  ///< indivisible; takes effect at its end
  work,       ///< can be interrupted at any time
  parked,     ///< spins; has no event until a line changes
};

/// A store that has retired and is not visible yet.
struct pending_store {
  cache_line* line;
  void* address;
  std::uint64_t value;
  void (*put)(void* address, std::uint64_t value);
};

/// An object that `thread_state` or `process_state` has made.
struct state_entry {
  const void* type;
  void* object;
  void (*destroy)(void* object);
};

/// What schedulers remember of a thread.
struct account {
  ps vruntime = 0, deadline = 0, lag = 0, protected_until = 0;
  ps slice_left = 0, slice_used = 0;
  int level = 0;
  bool yielded = false;
};

/// How urgent a thread is. Each scheduler reads one of the two.
struct rank {
  int priority = 1;  ///< under SCHED_FIFO and SCHED_RR; 0: an ordinary thread
  int nice = 0;      ///< under the other schedulers: -20 to 19
};

struct thread {
  int id = 0, group = 0, processor = 0;
  rank own;
  int lent_priority = 0;        ///< the highest priority of threads that wait for it
  double weight = 1;            ///< by its nice value
  thread* waits_for = nullptr;  ///< the owner to which it lends its priority
  int pinned_to = -1;
  std::function<void()> body;
  void* context = nullptr;  ///< the fiber

  bool runnable = false, finished = false, timed_out = false;
  bool poked = false;  ///< parked, with an event that is about to end that
  activity doing = activity::none;
  ps work_left = 0;                ///< the rest of interrupted work
  ps stores_done = 0;              ///< when the last of its stores is visible
  ps used = 0, counted_until = 0;  ///< processor time, and until when it is counted
  spin_wait* spin = nullptr;
  cache_line* granted = nullptr;  ///< an exchange of a spin loop already owns this line
  const void* futex = nullptr;    ///< the word on which it sleeps
  std::uint64_t timer = 0;        ///< generation of its deadline
  std::vector<pending_store> stores;
  std::vector<state_entry> state;
  account scheduling;

  // To find loops that the engine cannot park.
  std::source_location where;
  const void* last_address = nullptr;
  std::uint64_t last_value = 0;
  std::uint_least32_t last_line = 0;
  int repetitions = 0;

  [[nodiscard]] int priority() const noexcept { return std::max(own.priority, lent_priority); }
};

struct processor {
  thread* current = nullptr;
  bool must_reschedule = false;
  int arriving = 0;              ///< woken threads on their way
  std::uint64_t generation = 0;  ///< number of its pending step; older ones are void
  ps step_at = 0, idle_since = 0;
  ps min_vruntime = 0;
  std::vector<thread*> queue;  ///< ready threads without `current`, in order of arrival
};

struct cache_line {
  int owner = -1;
  bool exclusive = false;
  processor_set sharers;
  processor_set fetching;  ///< spinners whose fetch arrives at shared_from
  ps shared_from = never;
  ps busy_until = 0, readers_until = 0;
  std::vector<thread*> watchers;  ///< parked threads, on a processor or not
  int stormers = 0;               ///< watchers that write and are on a processor
};

}  // namespace lockyard::simulation
