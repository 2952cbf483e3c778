// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an execution records of its threads, of plain data, and of the memory that objects have.

#include "choices.hpp"
#include "memory.hpp"
#include "reduction.hpp"
#include "symmetry.hpp"
#include "waits.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

namespace lockyard::model {

/// A type of states.
struct kind_of_state {
  const void* type;
  std::size_t size;
  std::size_t alignment;
  void (*end)(void* object);
};

/// The state of a thread.
enum class status : std::uint8_t {
  ready,
  awaiting,
  sleeping,
  unnotified,  ///< waits for another value, and no notification comes: never goes on
  queued,
  pausing,
  counting,
  repeating,   ///< a loop that is where it was waits for something new
  giving_way,  ///< reads plain data for long: goes on when no other thread can
  stuck,       ///< never goes on
  ended
};
/// How a thread goes on.
enum class variant : std::uint8_t { run, time_out, spurious };

/// The last change of data: its thread, and the number of the change among all of an execution.
struct last_change {
  thread_index by = 0;
  std::uint64_t number = 0;
};

/// Data that is accessed without atomic operations.
struct plain_record {
  std::source_location where;
  thread_index writer = 0;
  std::uint16_t written = 0;  ///< its end counts as a write
  clock readers;
  place lies{};
  bool is_alive = true;
  last_change changed{};
  std::size_t value_size = 0;  ///< at its beginning, as far as the checker knows it
};
/// A deadline. Its name is like no other number, so that equal_futures.cpp finds it in memory.
inline constexpr std::size_t first_deadline = 0xdead'11fe'0000'0000;
struct end_of_wait {
  passes when;
  bool waits_only = false;  ///< does not pass while the wait could end well
  bool has_passed = false;
};

struct stretch {
  const void* begin = nullptr;
  std::size_t size = 0;
};

/// The registers and the stack with which code goes on after a call.
struct calling_code {
#if defined(__x86_64__)
  static constexpr std::size_t preserved = 6;
#elif defined(__aarch64__)
  static constexpr std::size_t preserved = 19;
#else
  static constexpr std::size_t preserved = 0;
#endif
  /// Registers that a call preserves, and the place that it returns to.
  std::array<std::uint64_t, preserved + 1> registers{};
  const std::byte* stack = nullptr;      ///< its end
  const std::byte* stack_top = nullptr;  ///< where the code of the client begins
};

/// A state of an execution, for the search to know it again.
struct reached_state {
  hash128 name;                  ///< what its future depends on
  std::uint32_t steps_back = 0;  ///< among those that have led there (code_graph.hpp)
};

/// What a key holds of a thread's code, from the end of its last step on.
struct known_code {
  hash128 hash;
  bool is_lasting = false;  ///< until the thread's next step; false if other threads may change it
  std::uint64_t name = 0;   ///< in the graph of the code; 0 before the first step
  std::uint32_t steps_back = 0;  ///< of all threads until then
};

struct thread_record {
  boost::context::detail::fcontext_t context = nullptr;
  knowledge known;
  hash128 history;
  calling_code caller;  ///< at its last operation
  known_code code;      ///< at the end of its last step, if states are to be merged
  std::uint16_t events = 0;
  std::uint16_t created = 0;
  status now = status::ended;
  sleep_end woken_by = sleep_end::woken;
  bool timed_out = false;
  bool undisturbed = false;       ///< its operations are one step together
  bool notes_state = false;       ///< at the next step
  bool notes_plain_turn = false;  ///< at once, and then goes on in the same step
  bool yields = false;            ///< pauses: another thread that runs instead is not a preemption
  bool spins_in_kernel = false;   ///< awaits what ends its sleep (futex.cpp)
  bool rushes = false;            ///< runs a loop to its end, and sees nothing new in it
  std::optional<std::size_t> deadline;
  std::span<const look> looks;
  std::source_location looks_at;  ///< the place of the await
  bool exchanges = false;
  location_index sleeps_on = 0;
  sleep_kind sleeps = sleep_kind::usual;
  bool sleeps_in_time = false;  ///< no longer than a limit, though it has no deadline (futex.cpp)
  bool sleeps_on_what_may_end = false;
  idle_wake may_wake_idly = idle_wake::counted;
  bool has_woken_idly = false;         ///< the last time that it woke up, unless it sleeps
  message_index sleeps_with = 0;       ///< the message that it has read before
  std::uint32_t sleeps_for = any_bit;  ///< bits of the wakes that it may answer
  std::vector<read_before> reads;      ///< since the last pause
  pending next;
  deferral deferred;
  location_index last_change = 0;
  repetition repeats;
  std::optional<knowledge> known_at_sleep;  ///< when it last fell asleep
  hash128 code_at_sleep;
  std::uint16_t alike = 0;           ///< itself and the threads that are interchangeable with it
  std::uint16_t tied = 0;            ///< the threads from which its marks do not differ so far
  std::vector<symmetry_mark> marks;  ///< its accesses to the client's words, while it is tied
};

/// A thread that may make the next step.
struct option {
  thread_index thread;
  variant how;
  bool preempts = false;
  std::uint16_t defers = 0;  ///< the threads that run after something new, one bit each

  /// Converts to a number below unknown_meaning, and back.
  [[nodiscard]] meaning number() const noexcept {
    return {.what = static_cast<std::uint8_t>(thread * 8U + static_cast<unsigned>(how) * 2U +
                                              (preempts ? 1U : 0U)),
            .defers = defers};
  }
  static option of(const meaning& number) noexcept {
    return {.thread = static_cast<thread_index>(number.what / 8U),
            .how = static_cast<variant>(number.what / 2U % 4U),
            .preempts = number.what % 2U == 1,
            .defers = number.defers};
  }
};

/// The object that was made in some memory, alive or not.
struct occupant {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::size_t which;
  bool is_word;  ///< false for plain data

  static occupant of(const place& lies, std::size_t which, bool is_word) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(lies.address);
    return {.begin = begin, .end = begin + lies.size, .which = which, .is_word = is_word};
  }
};

/// A state of the client's, which ends with the execution.
struct state_entry {
  const kind_of_state* kind;
  std::size_t owner;
  void* object;
};

/// Objects in whose memory addresses are named begin at multiples of this, and so have some room
/// behind them: where code has overwritten the lowest byte of an address, the rest still lies
/// there.
inline constexpr std::size_t alignment_of_room = 256;
constexpr std::size_t with_room(std::size_t size) {
  return (size + alignment_of_room - 1) / alignment_of_room * alignment_of_room;
}

/// Memory for a state, which the next execution uses for the same one.
struct room_for_state {
  const kind_of_state* kind;
  std::size_t owner;
  std::unique_ptr<std::byte[]> memory;
  void* begin;
  bool is_taken;
};

}  // namespace lockyard::model
