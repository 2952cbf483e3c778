// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an execution knows while it runs, and what follows from that alone.

#include "choices.hpp"
#include "fiber_stacks.hpp"
#include "memory.hpp"
#include "mutation.hpp"
#include "records.hpp"
#include "reduction.hpp"
#include "settings.hpp"
#include "trace.hpp"
#include "waits.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace lockyard::model {

class client;

/// What the steps of an execution change, besides what its threads and its words know, and what
/// lies in the memory of the client's code. A snapshot keeps a copy.
struct progress_so_far {
  std::optional<thread_index> last_;
  unsigned preemptions_ = 0;
  unsigned steps_ = 0;
  bool is_short_of_room_ = false;             ///< for writes of a word
  std::optional<unsigned> takes_turns_from_;  ///< the step
  unsigned turn_left_ = 0;  ///< steps of the thread that ran last, where threads take turns
  unsigned spurious_left_ = 0;
  unsigned sleeps_ = 0;
  std::uint64_t changes_of_data_ = 0;
  unsigned timeouts_left_ = 0;
  std::uint64_t hours_ = 0;  ///< by jumps of the time, and by deadlines that have passed
  unsigned short_spins_left_ = 0;
  unsigned old_reads_left_ = 0;
  bool barriers_lost_ = false;
  origin last_heavy_{};
  std::array<std::uint16_t, max_threads> last_light_{};  ///< the event of each thread's last one
  std::vector<end_of_wait> deadlines_;
  std::vector<plain_record> plains_;
  std::vector<occupant> occupants_;
  std::vector<state_entry> states_;
  std::optional<hash128> previous_;
  std::uint32_t steps_back_ = 0;
  bool has_opaque_data_ = false;  ///< data with contents that the checker does not know
  std::size_t words_known_ = 0;   ///< to lie where addresses are the same in each execution
  std::size_t plains_known_ = 0;
  effects done_;               ///< by the last step
  bool has_given_up_ = false;  ///< a thread has; the execution has no end to look at
  bool program_has_ended_ = false;
};

class execution_state : protected progress_so_far {
 protected:
  execution_state() = default;

  thread_record& me() noexcept { return threads_[running_]; }
  [[nodiscard]] origin this_event() noexcept { return {.thread = running_, .event = me().events}; }
  [[nodiscard]] bool is_set_up() const noexcept { return running_ == setter_; }
  /// Actions between two events of a thread count as done at the next event. All threads know the
  /// actions of the client's maker without an event.
  [[nodiscard]] std::uint16_t moment() noexcept {
    return static_cast<std::uint16_t>(me().events + (is_set_up() ? 0U : 1U));
  }
  [[nodiscard]] bool reduces() const noexcept {
    return conflicts_ != nullptr && !conflicts_->has_unordered;
  }
  [[nodiscard]] bool is_newest(const read_before& each) const {
    return memory_.at(each.where).order.back() == each.which;
  }
  void reach(cap which) { reached_.set(static_cast<std::size_t>(which)); }
  /// Whether a read may take that message, or a write land right behind it, in modification order.
  [[nodiscard]] bool may_follow(location_index at, message_index which) {
    if (old_reads_left_ != 0 || memory_.at(at).order.back() == which) return true;
    reach(cap::old_reads);
    return false;
  }
  /// Whether messages older than that one need a look.
  [[nodiscard]] bool may_read_older(location_index at, message_index which) {
    if (old_reads_left_ != 0) return true;
    if (memory_.at(at).position[which] > memory_.oldest_readable(at, me().known)) {
      reach(cap::old_reads);
    }
    return false;
  }
  void note_followed(location_index at, message_index which) {
    if (settings_.old_reads && memory_.at(at).order.back() != which) --old_reads_left_;
  }

  [[nodiscard]] end_of_wait& end_of(std::size_t deadline) {
    return deadlines_[deadline - first_deadline];
  }

  settings settings_;
  memory memory_;
  std::array<thread_record, max_threads> threads_;
  fiber_stacks stacks_;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  const std::function<std::unique_ptr<client>()>* make_ = nullptr;
  std::unique_ptr<client> client_;
  choices* by_ = nullptr;
  trace* account_ = nullptr;
  bool looks_for_shared_ = false;
  std::vector<shared_part> shared_;
  site_list* sites_ = nullptr;
  thread_index count_ = 0;
  thread_index setter_ = 0;
  thread_index running_ = 0;
  std::vector<option> options_;
  std::vector<option> all_options_;
  std::vector<std::vector<thread_index>> sleepers_ =
      std::vector<std::vector<thread_index>>(max_locations);
  /// No memory is used again before the execution is over: whether it would be is not a choice of
  /// the search.
  std::vector<room_for_state> rooms_;
  std::vector<std::pair<std::uint8_t, message_index>> candidates_;
  stretch client_memory_;  ///< nothing if it is another one in each execution
  stretch frames_below_;   ///< where the checker runs executions, if the system tells
  bool forgets_past_ = false;
  const conflicts* conflicts_ = nullptr;
  std::optional<conflicts> learned_;
  bool has_symmetry_ = false;           ///< some threads of the client are interchangeable
  bool is_last_resort_ = false;         ///< no thread has to go on before a deadline passes
  std::vector<std::uint8_t> left_out_;  ///< candidates for which others stand
  std::vector<std::uint8_t> allowed_;
  std::vector<std::pair<int, thread_index>> awake_;
  cap_set reached_;
  bool compares_states_ = false;  ///< some thread of the client has a loop that may come back
  std::unordered_set<std::uint64_t> endless_;  ///< states in which a loop without end begins
  bool is_redundant_ = false;  ///< an execution without the last step has the same future
  verdict verdict_ = verdict::passed;
  std::string what_;
};

}  // namespace lockyard::model
