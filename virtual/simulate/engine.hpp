// SPDX-License-Identifier: Apache-2.0
#pragma once

// A machine in virtual time: processors, cache lines, a fiber for each thread, a queue of events.
// The scheduler decides which thread runs; the machine says how long everything takes. At most one
// engine exists at a time.

#include "arena.hpp"
#include "machine.hpp"
#include "random.hpp"
#include "recording.hpp"
#include "scheduler.hpp"
#include "thread.hpp"

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <source_location>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace boost::context::detail {
struct transfer_t;
}

namespace lockyard::simulation {

/// The simulated program cannot go on; the message names the thread and the place.
struct simulation_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What happened in a run.
struct counters {
  std::uint64_t events = 0, context_switches = 0, preemptions = 0, migrations = 0;
  std::uint64_t yields = 0, sleeps = 0, wakes = 0;
  ps transfers = 0;     ///< threads waited for lines on their way
  ps line_queues = 0;   ///< threads waited until a line was free to move
  ps wake_latency = 0;  ///< from wake-ups until the threads were in a queue
  ps owner_off = 0;     ///< the owner of the lock was ready, but not on a processor
};

class engine {
 public:
  engine(const machine& of, const gaps& stops, std::unique_ptr<scheduler> policy,
         std::uint64_t seed);
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  ~engine();

  static engine& current() noexcept { return *current_; }

  /// Starts a thread that is ready on a processor.
  thread& spawn(std::function<void()> body, int on, int group, const rank& own = {});
  /// Runs until the virtual time, until stop(), or until no thread can run any longer. Throws
  /// simulation_error.
  void run(ps until);
  void stop() noexcept { stopped_ = true; }
  /// The running thread cannot go on.
  [[noreturn]] void fail(const std::string& message);

  [[nodiscard]] ps now() const noexcept { return now_; }
  [[nodiscard]] thread* self() const noexcept { return self_; }
  [[nodiscard]] const machine& costs_of() const noexcept { return machine_; }
  [[nodiscard]] const topology& shape() const noexcept { return machine_.shape; }
  [[nodiscard]] processor& at(int which) noexcept {
    return processors_[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] const processor& at(int which) const noexcept {
    return processors_[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] bool is_idle(int which) const noexcept {
    return at(which).current == nullptr && at(which).queue.empty() && at(which).arriving == 0;
  }
  /// True if no hardware thread of the core has or gets anything to run.
  [[nodiscard]] bool is_core_idle(int which) const noexcept {
    return is_idle(which) && is_idle(machine_.sibling_of(which));
  }
  /// Returns the sum of the weights of a group's runnable threads, or 1 if it has none.
  [[nodiscard]] double load_of(int group) const noexcept {
    const double sum = loads_[static_cast<std::size_t>(group)];
    return sum > least_load ? sum : 1;
  }
  [[nodiscard]] bool has_strict_priorities() const noexcept { return policy_->is_strict(); }
  /// Returns the time for which the thread has had a processor.
  [[nodiscard]] ps processor_time(const thread& of) const noexcept {
    return of.used + (at(of.processor).current == &of ? now_ - of.counted_until : 0);
  }
  random_source& chance() noexcept { return chance_; }
  arena& memory() noexcept { return memory_; }
  [[nodiscard]] const counters& counted() const noexcept { return counted_; }
  /// Records what happens from now on.
  void record_to(recording& to) noexcept { recording_ = &to; }
  /// Records what the running thread does with a lock, or waits for in the kernel.
  void stamp(trace::event_kind kind, const void* lock = nullptr, std::uint64_t argument = 0) {
    if (recording_ == nullptr || self_ == nullptr) return;
    recording_->stamp(self_->id, kind, lock, argument, self_->processor, now_);
  }
  void name_lock(const void* lock, std::string_view name) {
    if (recording_ != nullptr) recording_->name(lock, name);
  }
  /// Tells the engine which thread owns the measured lock, or null.
  void owned_by(thread* owner) noexcept;

  // Called by the running thread. Without one (while objects are made), nothing costs anything.
  void operate(ps length);  ///< cannot be interrupted
  void compute(ps length);  ///< can be
  void read(const void* address);
  void take_exclusively(const void* address);  ///< to be followed by changed()
  void store(void* address, std::uint64_t value, void (*put)(void*, std::uint64_t));
  void drain_stores();
  void changed(const void* address);
  /// Records a use of a word, to find loops that wait without an await.
  void note(const void* address, std::uint64_t value, const std::source_location& where);
  /// The thread is about to wait in the kernel, so its loop need not be an await.
  void permit_repetition() noexcept {
    if (self_ != nullptr) self_->repetitions = 0;
  }
  /// Spins on the words until a look may succeed, another thread wants the processor, or the time
  /// has come; returns whether it was the time.
  bool park(spin_wait& wait, const void* const* words, std::size_t count, ps until);
  void yield();
  bool sleep(const void* futex, ps until);  ///< false if the time came first
  int wake(const void* futex, int count);
  int requeue(const void* from, int wake_count, int move_count, const void* to);
  [[nodiscard]] thread* first_sleeper(const void* futex);
  /// Changes the priority of a thread, which may preempt another one or be preempted.
  void change_priority(thread& of, int priority);
  /// Sleeps, and lends the thread's priority to the owner meanwhile.
  bool sleep_behind(thread& owner, const void* futex, ps until);
  /// Wakes the sleeper with the highest priority, the first of equals, which owns the word from now
  /// on: the others lend it their priority. Returns it, or null if there is none.
  thread* hand_over(const void* futex);
  [[nodiscard]] bool has_company() const noexcept { return !at(self_->processor).queue.empty(); }
  [[nodiscard]] ps yield_length() const { return policy_->yield_length(yielding_); }
  /// The length of work, given what the core's other hardware thread does.
  [[nodiscard]] ps with_sibling(ps length) const;
  /// Counts what a policy does in its first steps, once for each type of policy.
  struct policy_facts {
    double looking_share;
    bool may_yield;
  };
  const policy_facts& facts_of(const void* type, policy_facts (*find)());
  std::vector<state_entry>& process_state() noexcept { return process_state_; }
  thread& thread_with(int id) noexcept { return *threads_[static_cast<std::size_t>(id)]; }

 private:
  enum class event_kind : std::uint8_t { step, tick, timer, gap, arrival, drain };
  struct event {
    ps at;
    std::uint64_t order, generation;
    int which;
    event_kind kind;
    bool operator>(const event& other) const noexcept {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  // engine.cpp
  void push(ps when, event_kind kind, int which, std::uint64_t generation = 0);
  void handle(const event& next);
  void step(int which, std::uint64_t generation);
  void tick(int which);
  void expire(thread& which, std::uint64_t generation);
  void stop_a_processor();
  static void enter(boost::context::detail::transfer_t from);
  static void arrived(boost::context::detail::transfer_t from);
  void switch_out();
  thread* handle_events();
  void watch_progress(ps at);

  void scheduled(const thread& which, trace::event_kind kind, std::uint64_t argument = 0) {
    if (recording_ == nullptr) return;
    recording_->scheduled(which.id, kind, argument, which.processor, now_);
  }

  // processors.cpp
  void step_at(int which, ps when);
  void account_for(int which);
  void reschedule(int which, bool yielded);
  void start(thread& next, int which, bool is_new);
  void preempt(int which);
  void relieve_a_core(int idle);
  void give_way();
  void arrive(thread& which);
  void wake_thread(thread& which, int waker);
  void wake_sleeper(thread& which);
  void add_load(const thread& of, int sign) noexcept {
    loads_[static_cast<std::size_t>(of.group)] += sign * of.weight;
  }
  void collect_priority(thread& of);
  void priority_changed(thread& of);
  [[nodiscard]] std::string name_of(const thread& which) const;

  // lines.cpp
  cache_line& line_of(const void* address);
  void settle(cache_line& line) const;
  ps take(cache_line& line, int processor);
  [[nodiscard]] ps by_chance(ps length);
  [[nodiscard]] ps storm_on(const cache_line& line);
  [[nodiscard]] ps hop_from_owner(const cache_line& line, int to) const;
  void drain(thread& which);

  // spinning.cpp
  void poke(thread& which, ps when);
  ps next_look(const thread& which);
  void changed(cache_line& line);
  void grant(cache_line& line, thread& to);
  void count_spinner(thread& which, int change);

  arena memory_;
  machine machine_;
  gaps gaps_;
  std::unique_ptr<scheduler> policy_;
  random_source chance_;
  ps now_ = 0;
  std::vector<processor> processors_;
  std::vector<std::unique_ptr<thread>> threads_;
  std::vector<state_entry> process_state_;
  std::vector<std::pair<const void*, policy_facts>> facts_;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::unordered_map<std::uintptr_t, cache_line> lines_;
  std::array<std::pair<std::uintptr_t, cache_line*>, 1024> recent_lines_{};
  std::unordered_map<const void*, std::vector<thread*>> sleepers_;
  std::array<std::vector<processor_set>, distances> within_;
  static constexpr double least_load = 1e-6;  ///< less is what rounding has left of nothing
  std::array<double, 16> loads_{};
  std::vector<std::pair<thread*, ps>> fetches_;
  std::uint64_t order_ = 0, events_without_progress_ = 0;
  counters counted_;
  recording* recording_ = nullptr;
  thread* self_ = nullptr;
  thread* resumed_ = nullptr;       ///< goes on after the event
  thread* last_resumed_ = nullptr;  ///< events are handled on its stack
  ps until_ = 0;
  thread* owner_ = nullptr;
  ps owner_off_since_ = never;
  int yielding_ = 0;
  bool stopped_ = false;
  std::string failure_;
  std::exception_ptr thrown_;  ///< by an event that was handled on a thread's stack
  void* loop_ = nullptr;       ///< the context of run()
  static inline engine* current_ = nullptr;
};

}  // namespace lockyard::simulation
