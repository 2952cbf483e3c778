// SPDX-License-Identifier: Apache-2.0
#pragma once

// One execution of a client: its threads as fibers, one step after the other; each step is one
// operation on shared memory followed by local code.

#include "choices.hpp"
#include "equal_futures.hpp"
#include "execution_state.hpp"
#include "fiber_stacks.hpp"
#include "memory.hpp"
#include "mutation.hpp"
#include "records.hpp"
#include "reduction.hpp"
#include "settings.hpp"
#include "snapshot.hpp"
#include "symmetry.hpp"
#include "trace.hpp"
#include "waits.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace lockyard::model {

/// A program to check, made anew for each execution. `thread` and `finish` may use only the model
/// world, own nothing that has to be freed, and must do the same whenever they see the same.
class client {
 public:
  virtual ~client() = default;
  /// Clients have their memory in one place, one after the other, so that addresses in it are the
  /// same in every execution. A second one at the same time is somewhere else.
  static void* operator new(std::size_t size);
  static void* operator new(std::size_t size, std::align_val_t alignment);
  static void operator delete(void* memory) noexcept;
  static void operator delete(void* memory, std::align_val_t alignment) noexcept;
  [[nodiscard]] virtual unsigned threads() const = 0;
  virtual void thread(unsigned index) = 0;
  virtual void finish() {}  ///< called when all threads have ended
  /// Threads of one class are interchangeable: exchanged, they make the same executions, but for
  /// the threads' names. symmetry.cpp says what that excludes. By default no two threads are.
  [[nodiscard]] virtual unsigned symmetry_class(unsigned index) const { return index; }
  /// Whether interchangeable threads remain so if they ask the world for their slots, keys and ids.
  [[nodiscard]] virtual bool compares_names_only() const { return false; }
};

class execution : private execution_state {
 public:
  using now_ns = std::uint64_t;

  explicit execution(const settings& chosen);
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;

  /// Returns the execution that this thread of the checker runs now; null in between.
  static execution*& current() noexcept;

  /// Called before each step; false ends the execution, because its future is known.
  using gate = std::function<bool(const reached_state& now)>;

  /// Whether states with one future are one state.
  [[nodiscard]] bool forgets_past() const noexcept { return forgets_past_; }
  /// What the code of the running thread goes on with: registers, and the stack that begins behind.
  void note_caller(const std::uint64_t* saved) noexcept;
  void end_call() noexcept {
    code_runs_ = true;
    clear_dead_stack();  // last, so that nothing of this call is left either
  }
  /// Whether the client's code runs, and not the checker's.
  [[nodiscard]] bool code_runs() const noexcept { return code_runs_; }
  /// The client's code takes memory from the heap. Nothing goes on from where it ends.
  void note_heap() noexcept { uses_heap_ |= !finishes_; }
  /// The next execution does not begin with steps of the last one. The others may go on from
  /// snapshots if `goes_back`: then all that the client takes from the heap has to be noted.
  void begin_part(bool goes_back = false);

  /// Runs the client from its beginning with the choices of `by`. False if the gate ended it.
  bool run(const std::function<std::unique_ptr<client>()>& make, choices& by, const gate& goes_on);

  [[nodiscard]] verdict result() const noexcept { return verdict_; }
  [[nodiscard]] const std::string& what() const noexcept { return what_; }
  [[nodiscard]] unsigned steps() const noexcept { return steps_; }
  /// The caps that took effect in this execution and in all before.
  [[nodiscard]] const cap_set& caps_reached() const noexcept { return reached_; }

  /// Finds out in the next execution which threads use memory on another one's stack; its account
  /// then says how the owner uses that memory.
  void look_for_shared_stacks() noexcept { looks_for_shared_ = true; }
  [[nodiscard]] const std::vector<shared_part>& shared_stacks() const noexcept { return shared_; }
  /// Records every step from now on.
  void trace_to(trace* account, std::vector<shared_part> shared = {}) {
    account_ = account;
    looks_for_shared_ = false;
    shared_ = std::move(shared);
  }
  /// Collects the place of each order and each wake in the source.
  void collect_sites(site_list* sites) noexcept { sites_ = sites; }
  /// Leaves out orders of steps that lead to a graph which another order leads to as well.
  void reduce_by(const conflicts* known) noexcept { conflicts_ = known; }
  /// The known conflicts with those that this execution has met; nothing if it has met none.
  [[nodiscard]] const std::optional<conflicts>& learned() const noexcept { return learned_; }
  /// Whether what happens in the execution may become known to other ones.
  [[nodiscard]] bool teaches() const noexcept { return conflicts_ != nullptr; }
  /// Chooses threads without the list of choices: returns one of the runnable ones.
  std::function<unsigned(std::span<const thread_index> runnable)> scheduler;
  /// Tells what a step between two states of a thread's code is (code_graph.hpp).
  std::function<bool(std::uint64_t from, std::uint64_t to)> is_step_back;
  /// Asked now and then where an execution is long: ends it.
  std::function<bool()> is_called_off;

  // Requests of the model world, from within a thread.
  location_index create(std::uint64_t value, std::source_location where, std::uint64_t name,
                        const place& lies);
  void destroy(location_index which, std::source_location where);
  /// A use of a word that neither reads nor writes it.
  void use(location_index which, std::source_location where) { check_alive(which, where); }
  /// Returns the living word of that type at that address: what a pointer reaches there now, even
  /// if it was meant for a word that has ended. `hint` comes from memory and may be nonsense.
  location_index find_word(location_index hint, const void* address, const void* type,
                           std::source_location where);
  location_index find_word(const word_place& at, std::source_location where) {
    return find_word(0, at.address, at.type, where);
  }
  std::uint64_t load(location_index from, std::memory_order order, std::source_location where);
  void store(location_index to, std::uint64_t value, std::memory_order order,
             std::source_location where);
  std::uint64_t exchange_by(location_index on, const change& by, std::memory_order order,
                            std::source_location where);
  /// The same for a word that the running thread owns: until then no other thread changes it.
  std::uint64_t release_by(location_index on, const change& by, std::memory_order order,
                           std::source_location where);
  bool compare_exchange(location_index on, std::uint64_t& expected, std::uint64_t desired,
                        std::memory_order success, std::memory_order failure, bool weak,
                        std::source_location where);
  void fence(std::memory_order order, std::source_location where);
  void light_fence(std::source_location where);
  /// A light fence of code that has learned from barriers_are_there() that it may cost nothing.
  void registered_light_fence(std::source_location where);
  bool heavy_fence(std::source_location where);
  /// Makes everything that the running thread does one step, until it says otherwise. The step has
  /// begun with the operation on the word that the thread has changed last, or on `first`.
  void undisturbed(bool from_now_on);
  void undisturbed(bool from_now_on, location_index first);
  /// A wait for the first of these words will begin such a step, which changes all of them.
  void note_step_on(std::span<const location_index> words) {
    learn(&conflicts::sections, words.front());
    for (const location_index each : words) note_attempt(each);
  }
  [[nodiscard]] bool is_undisturbed() noexcept { return me().undisturbed; }
  /// Tells whether light fences may be omitted.
  bool barriers_are_there();
  /// Returns nullopt if the deadline passed first. With a change, makes it at the look that holds.
  std::optional<seen> await(std::span<const look> looks, std::optional<std::size_t> deadline,
                            std::optional<change> changes, std::source_location where);
  void pause(std::source_location where);
  /// The turn was futile. The thread waits until another one would read something new, or until
  /// time passes.
  void repeat(const turn& last, std::source_location where);
  [[nodiscard]] std::size_t reads_made() noexcept { return me().repeats.all_reads.size(); }
  /// The memory of the word that the thread has read then.
  [[nodiscard]] const place& place_of_read(std::size_t number) noexcept {
    return memory_.at(me().repeats.all_reads[number].where).lies;
  }
  [[nodiscard]] read_before read_number(std::size_t number) noexcept {
    return me().repeats.all_reads[number];
  }
  /// Whether the word has another value by now.
  [[nodiscard]] bool is_outdated(std::size_t number) noexcept {
    const read_before read = read_number(number);
    const location& at = memory_.at(read.where);
    return at.messages[read.which].value != at.newest().value;
  }
  /// Whether a thread that could wait for a change makes another turn before.
  [[nodiscard]] bool goes_on(std::source_location where) {
    return choose(choice_kind::time, 2, where) == 1;
  }
  /// Whether the search leaves out turns of loops that lead back to where they began.
  [[nodiscard]] bool leaves_turns_out() const;
  /// Another execution has the same faults as this one.
  [[noreturn]] void leave_out() {
    is_redundant_ = true;
    for (;;) switch_out();  // never continued
  }
  /// The number of changes of data in this execution, and the last change of data.
  [[nodiscard]] std::uint64_t changes_of_data() const noexcept { return changes_of_data_; }
  [[nodiscard]] const last_change& last_change_of(std::size_t data) const {
    return plains_[data].changed;
  }
  /// The number of the change by which data became the word.
  [[nodiscard]] std::uint64_t change_to_word(location_index which) const {
    return memory_.at(which).adopted;
  }
  /// The record of the data is no longer the one of its memory.
  void note_replaced(std::size_t data) noexcept { plains_[data].is_alive = false; }
  /// Whether a loop may wait so.
  [[nodiscard]] bool may_repeat() noexcept;
  /// A loop begins that counts, and is run far without anything new.
  long_run begin_long_run(std::uint64_t state);
  /// Whether it has run so many turns that it counts as endless.
  bool has_no_end(const long_run& run, std::uint32_t turns);
  sleep_end sleep(const futex_wait& of, std::source_location where);
  /// Returns how many it wakes, if the result matters.
  std::uint32_t wake(const futex_wake& of, std::source_location where);
  std::optional<std::uint32_t> requeue(location_index from, std::uint64_t expected,
                                       std::uint32_t count, std::uint32_t move, location_index to,
                                       std::source_location where);
  std::optional<std::uint32_t> requeue(const word_place& from, std::uint64_t expected,
                                       std::uint32_t count, std::uint32_t move,
                                       const word_place& to, std::source_location where);
  /// Called where the thread has read the value that it waits to see changed, and before it looks
  /// again, unless the deadline has passed. The result says so if the thread has not slept.
  sleep_end wait_for_another_value(location_index on, std::optional<std::size_t> deadline,
                                   std::source_location where);
  /// Wakes one or all of the threads that wait so.
  void notify(const void* address, bool all, std::source_location where);
  /// The threads that are asleep on a word.
  [[nodiscard]] std::span<const thread_index> sleepers_on(location_index which) const noexcept {
    return sleepers_[which];
  }
  [[nodiscard]] std::uint32_t pi_id() noexcept { return name_of_self() + 1U; }
  /// Returns false if the deadline passed first.
  bool pi_lock(location_index on, std::optional<std::size_t> deadline, std::source_location where);
  void pi_unlock(location_index on, std::source_location where);
  std::size_t new_deadline(passes when, bool waits_only = false);
  bool has_passed(std::size_t deadline, std::source_location where);
  bool time_jumps(std::source_location where);
  /// Returns the hours that have passed, which may be one more than before. The time is the same
  /// for all threads: no clock shows less than a thread has seen before in the order of steps.
  std::uint64_t hours_passed(std::source_location where);
  /// `value_size`: what the data holds, from its beginning; nothing if the checker cannot know.
  std::size_t new_plain(std::source_location where, bool of_process, const place& lies,
                        std::optional<std::size_t> value_size);
  void end_plain(std::size_t hint, const void* address, const void* type,
                 std::source_location where);
  void read_plain(std::size_t hint, const void* address, const void* type,
                  std::source_location where);
  void write_plain(std::size_t hint, const void* address, const void* type,
                   std::source_location where);
  unsigned random(unsigned count, std::source_location where);

  // Requests of programs that are not written against a world (virtual/plain): memory that the
  // execution learns of when it is used first, and that may be plain data and a word in turn.

  /// Returns what each thread may use, because it existed before all threads; or what was written
  /// then.
  std::size_t new_bytes(std::source_location where, const place& lies,
                        std::optional<origin> written = std::nullopt);
  /// Returns a part of plain data, with the same uses so far.
  std::size_t copy_bytes(std::size_t which, const place& lies);
  /// Called before the bytes change.
  void write_bytes(std::size_t which, const void* address, const void* type,
                   std::source_location where);
  /// A use that no other thread can see, which leaves a loop where it was.
  void write_own_bytes(std::size_t which, std::source_location where);
  void leave_bytes(std::size_t which, std::source_location where);
  /// Makes a word of plain data, with the last plain value as its first one.
  location_index adopt_word(std::span<const std::size_t> bytes, std::uint64_t value,
                            std::source_location where, std::uint64_t name, const place& lies);
  /// Returns the last value, which no other thread may change at the same time.
  std::uint64_t read_word_as_plain(location_index which, std::source_location where);
  void end_word_by_plain_write(location_index which, std::source_location where);
  /// For a caller that reads the word as plain data before it does anything else.
  [[nodiscard]] std::uint64_t newest_value(location_index which) const {
    return memory_.at(which).newest().value;
  }
  /// How many values the word has had, with the first one.
  [[nodiscard]] std::size_t messages_of(location_index which) const {
    return memory_.at(which).messages.size();
  }
  /// Whether only the message that the word was made with has the value.
  [[nodiscard]] bool is_first_value(location_index which, std::uint64_t value) const;
  struct stack_place {
    thread_index thread;
    std::size_t from_top;
    bool is_live;  ///< false below the last frame
  };
  [[nodiscard]] std::optional<stack_place> find_on_stack(const void* address) const;
  void note_cap(cap which) { reach(which); }
  /// The thread looks at a word again, and sees what it has written there itself.
  void note_skipped_look(location_index word);
  /// The thread does something whose outcome may depend on the order of steps that lead to the same
  /// graph, so one order does not stand for the others.
  void note_unordered();
  /// The same, for all threads of the client.
  void leave_nothing_out();
  /// From now on no thread writes the word, or tries to.
  void note_last_write(location_index where);
  /// An execution that the search has left out may count after all.
  void search_anew();
  /// Whether the running thread comes after the ends of the others, out of the first threads.
  [[nodiscard]] bool runs_alone(std::size_t of_first) noexcept;
  /// The point of the running thread's work, and whether the thread comes after such a point.
  [[nodiscard]] origin here_and_now() noexcept { return {.thread = running_, .event = moment()}; }
  [[nodiscard]] bool comes_after(const origin& point) noexcept {
    return point.thread == running_ || me().known.current.happened.of[point.thread] >= point.event;
  }
  /// Whether a thread is where it was before, as it seems: what was found when this execution ran
  /// first counts, because unused bytes of a stack may differ when it runs again.
  [[nodiscard]] bool is_repeated(bool seems_repeated);
  /// Ends the thread's part in the execution, for example because the program does not ask about
  /// what follows. Other threads go on; if they cannot, the execution ends without a verdict.
  [[noreturn]] void give_up(std::source_location where,
                            const char* why = "the program does not ask about what follows");
  /// The code may keep a state that is not in the graph: two states with the same graph may differ,
  /// and so may two orders of steps.
  void note_unseen();
  /// The threads that are left may wait forever without a hang: the end of the program ends them.
  void note_program_end() noexcept { program_has_ended_ = true; }
  /// Whether an address is just beyond the end of a thread's stack.
  [[nodiscard]] bool is_beyond_a_stack(std::uintptr_t address) const {
    return stacks_.is_in_guard(address);
  }
  /// Names memory in reports; empty text for memory without a name.
  static inline std::string (*name_of_memory)(const void* address) = nullptr;
  /// Takes back what random executions have done besides. True if the client has turned out to be
  /// another one, so that its search is of no use.
  static inline bool (*take_back)() = nullptr;
  /// Writes a value of a word of that size, for reports.
  static inline std::string (*text_of_value)(std::uint64_t value, std::size_t size) = nullptr;

  [[nodiscard]] thread_index self() const noexcept { return running_; }
  /// The same for code that may tell threads apart by it.
  [[nodiscard]] thread_index name_of_self() noexcept;
  [[nodiscard]] thread_index number_of_self() noexcept;
  [[noreturn]] void fail(verdict kind, std::string text, std::source_location where) {
    fail(kind, std::move(text), where, nullptr, std::nullopt);
  }

  /// Returns a state that lives as long as the execution, per thread or shared (owner max_threads).
  void*& state_of(const kind_of_state& kind, std::size_t owner);
  [[nodiscard]] void* memory_for(const kind_of_state& kind, std::size_t owner);

 private:
  friend class equal_futures;

  /// A failure of an access to plain data or to a word.
  [[noreturn]] void fail(verdict kind, std::string text, std::source_location where,
                         const plain_record* data, std::optional<location_index> word);
  static void enter(boost::context::detail::transfer_t from);
  void begin();
  void end();
  void reset();
  void start(thread_index thread);
  // snapshots.cpp
  [[nodiscard]] bool may_take_snapshot();
  [[nodiscard]] std::size_t facts_found() const noexcept {
    return endless_.size() * 2 + (compares_states_ ? 1U : 0U);
  }
  void take_snapshot();
  [[nodiscard]] bool go_back();
  void resume(thread_index thread);
  void end_states(std::size_t owner);
  void step_point(const pending& next);
  void block(status why);
  [[nodiscard]] bool may_pass(const end_of_wait& which) const;
  void pass(end_of_wait& which);
  void forget_old(thread_record& thread);
  void forget_old(thread_record& thread, const read_before& read);
  bool gives_up(end_of_wait& which, std::source_location where);
  enum class stepped : std::uint8_t { on, nowhere, cut };
  [[nodiscard]] stepped step(const gate& goes_on);
  [[nodiscard]] bool is_worth_going_on(const gate& goes_on);
  [[nodiscard]] bool is_possible(const option& next) const;
  void take(const option& next);
  void list_options();
  bool put_last_first();
  [[nodiscard]] option pick();
  [[nodiscard]] option pick_in_turn();
  // dependence.cpp
  [[nodiscard]] upcoming upcoming_of(const thread_record& of) const;
  [[nodiscard]] bool depends_on_step(const thread_record& of) const;
  [[nodiscard]] bool section_depends_on_step(location_index begins) const;
  void wake_after_step(thread_index ran);
  void use_up(cap which);
  void note_newest(location_index where);
  void note_attempt(location_index where) { learn_user(&word_users::writers, where); }
  void note_write(location_index where);
  void note_read_within(location_index where);
  void note_queue(const void* address, queue_use how);
  void note_heavy_fence();
  void note_loop();
  void learn(std::vector<std::uint64_t> conflicts::*list, location_index where);
  void learn(bool conflicts::*fact);
  /// The running thread uses the word in that way.
  void learn_user(std::uint16_t word_users::*list, location_index where);
  location_index with_known_users(location_index fresh);
  [[nodiscard]] bool others_are_in(std::uint16_t threads, const thread_record& of) const;
  [[nodiscard]] std::uint16_t users_met_by(upcoming next, const thread_record& of) const;
  [[nodiscard]] bool may_meet_others(upcoming next, const thread_record& of) const;
  [[nodiscard]] bool is_in(const std::vector<std::uint64_t>& list, location_index where) const;
  // dead_ends.cpp
  [[nodiscard]] std::uint16_t helpers_if_deferred(const thread_record& of);
  [[nodiscard]] std::uint16_t helpers_of(const thread_record& of);
  [[nodiscard]] waits_for_steps list_waits(bool always);
  [[nodiscard]] bool some_stay_deferred(const waits_for_steps& of) const;
  // notified.cpp
  [[nodiscard]] read_before last_read_of(location_index word);
  [[nodiscard]] bool has_to_be_woken(const read_before& sleeper) const;
  [[nodiscard]] bool counts_order_of_sleeps(location_index on) const;
  void learn_beside_waiters(std::uint16_t word_users::*list, location_index on);
  message_index note_notified(location_index on);
  void check_unnotified(location_index on);
  void end_notification(location_index on, message_index known, std::uint64_t woken);
  void note_taken(const thread_record& sleeper, std::size_t of_sleepers);
  std::uint32_t wake_older(location_index on, message_index known, bool all,
                           std::source_location where);
  // futex.cpp
  [[nodiscard]] bool sleeps_free(location_index on) const;
  sleep_end sleep_or_spin(const futex_wait& of, std::source_location where);
  std::optional<std::uint32_t> requeue_now(location_index from, std::uint64_t expected,
                                           std::uint32_t count, std::uint32_t move,
                                           location_index to, std::source_location where);
  void look_as_kernel(const futex_wait& of);
  [[nodiscard]] std::optional<message_index> find_expected(const futex_wait& of, bool newest,
                                                           std::source_location where);
  [[nodiscard]] bool wakes_by_chance(const futex_wait& of, std::source_location where);
  [[nodiscard]] bool falls_asleep(const futex_wait& of, sleep_kind kind, bool in_order,
                                  std::source_location where);
  // reduction.cpp
  [[nodiscard]] bool is_awake(thread_record& of);
  [[nodiscard]] bool has_news(const thread_record& of, std::size_t look, location_index where);
  [[nodiscard]] std::optional<option> pick_reduced();
  [[nodiscard]] option choose_option();
  void defer(thread_record& thread);
  std::size_t choose_candidate(std::source_location where);
  std::size_t choose_of_allowed(std::size_t count, std::source_location where);
  void mix_deferrals(hash128& all) const;
  void translate(const option& next);
  // equal_reads.cpp
  void leave_out_equal_reads(location_index from, std::memory_order order, std::uint8_t which = 0);
  // symmetry.cpp
  void tie_threads();
  void mark_access(access_kind kind, location_index where, message_index which);
  [[nodiscard]] std::strong_ordering compare(const symmetry_mark& a, const symmetry_mark& b);
  void note_told_apart();
  [[nodiscard]] bool pause_is_over(const thread_record& of);
  [[nodiscard]] bool is_satisfied_by_newest(const thread_record& of) const;
  [[nodiscard]] bool list_runnable();
  void list_last_resorts();
  [[nodiscard]] static bool waits_in_library(const thread_record& of);
  void note_hang();
  static void clear_dead_stack();
  void note_state(thread_index thread);
  void note_pause(thread_record& thread);
  // futile_sleeps.cpp
  [[gnu::noinline]] sleep_end sleep_now(const futex_wait& of, std::source_location where);
  void begin_sleep();
  void note_sleep(thread_record& thread);
  void end_sleep_idly(thread_record& thread);
  void disturb_sleeps(const void* address);
  void count_sleep();
  // plain_loops.cpp
  [[nodiscard]] bool is_plain_turn(const void* address);
  void end_plain_turn(std::source_location where);
  [[nodiscard]] bool note_plain_turn(thread_record& thread);
  [[nodiscard]] static bool waits_for_plain_data(const thread_record& thread);
  void read_plain_now(std::size_t hint, const void* address, const void* type,
                      std::source_location where);
  [[nodiscard]] hash128 state_of_stack(const thread_record& thread) const;
  void act(thread_record& thread);
  void note_rewrite(const place& lies);
  void refresh(thread_record& thread, std::source_location where);
  void rush(std::source_location where);
  void note_read(location_index from, message_index which);
  [[nodiscard]] bool has_news_of_loop(const thread_record& of) const;
  [[nodiscard]] bool has_changed_data(const thread_record& of) const;
  std::optional<std::uint64_t> load_again(location_index from);
  std::optional<std::uint64_t> fail_again(location_index on, std::uint64_t expected);
  [[nodiscard]] bool may_fail_for_no_reason(std::uint64_t site);
  void note_failure(std::uint64_t site);
  void end_failures_in_a_row(std::uint64_t site);
  [[nodiscard]] bool is_satisfiable(const thread_record& of);
  [[nodiscard]] static std::optional<location_index> word_of_spin(const thread_record& of);
  [[nodiscard]] hash128 prefix() const;
  void event(std::uint64_t kind, std::uint64_t a, std::uint64_t b);
  // calling_code.cpp
  [[nodiscard]] static bool can_look_at_code() noexcept;
  [[nodiscard]] bool searches_states() const noexcept;
  [[nodiscard]] bool may_forget_past() const noexcept;
  void check_alive(location_index which, std::source_location where);
  void end_word(location_index which, const char* how, std::source_location where,
                verdict unless = verdict::lifetime);
  void check_plain_readers(location_index which, std::source_location where);
  void change_plain(plain_record& data, std::source_location where);
  [[nodiscard]] static std::string described(const plain_record& data);
  void end_plain(plain_record& data, const char* how, std::source_location where);
  void take_memory(const occupant& by, std::source_location where);
  plain_record& find_plain(std::size_t hint, const void* address, const void* type,
                           std::source_location where);
  [[nodiscard]] std::memory_order order_at(std::memory_order written, unsigned argument,
                                           std::source_location where);
  unsigned choose(choice_kind kind, std::size_t count, std::source_location where);
  template <class Choose>
  unsigned guarded(Choose choose_one, std::source_location where);
  void switch_out();
  void check_room(location_index to);
  std::uint64_t exchange_now(location_index on, const change& by, std::memory_order order,
                             bool releases, std::source_location where);
  std::uint64_t load_now(location_index from, std::memory_order order, std::source_location where);
  bool compare_exchange_now(location_index on, std::uint64_t& expected, std::uint64_t desired,
                            std::memory_order success, std::memory_order failure, bool weak,
                            std::source_location where);
  /// What a line of the account says besides its text.
  struct facts {
    std::string_view kind{};
    std::optional<std::memory_order> order{};
    std::optional<location_index> word{};
    std::optional<message_index> read{};
    std::optional<std::uint64_t> written{};
    std::optional<std::uint8_t> look{};  ///< takes only the candidates that belong to this look
    const plain_record* data = nullptr;
  };
  /// An object begins or ends at the address.
  void note_object_at(const void* address) noexcept;
  [[nodiscard]] bool gives_account() const { return account_ != nullptr || looks_for_shared_; }
  void note_shared(const plain_record& data);
  [[nodiscard]] bool is_shared(const stack_place& at, std::size_t size) const;
  [[nodiscard]] bool is_worth_a_line(const plain_record& data) const;
  void tell(std::source_location where, const std::string& text) { tell(where, text, {}); }
  void tell(std::source_location where, const std::string& text, const facts& more);
  void note_edges(trace_line& line) const;
  void note_others(trace_line& line, const facts& more) const;
  [[nodiscard]] std::optional<std::size_t> line_of(const origin& by) const;
  [[nodiscard]] std::string text_of(location_index word, std::uint64_t value) const;
  [[nodiscard]] bool knows_writer(const plain_record& data);
  [[nodiscard]] std::string described(location_index which);
  [[nodiscard]] std::string by_whom(const message& read) const;
  [[nodiscard]] bool drops_wake(std::source_location where);
  std::uint32_t take_sleepers(location_index from, std::uint32_t count, std::uint32_t bits,
                              std::optional<location_index> to, std::source_location where);
  void replace(location_index on, message_index read, std::uint64_t value, std::memory_order order,
               std::source_location where);
  std::optional<seen> await_now(std::span<const look> looks, std::optional<std::size_t> deadline,
                                std::optional<change> changes, std::source_location where);
  void list_candidates(const thread_record& of);

  equal_futures futures_{*this};
  snapshot_list snapshots_;
  bool goes_back_ = false;
  bool code_runs_ = false;
  bool uses_heap_ = false;
  bool finishes_ = false;  ///< all threads have ended
};

/// Whether calling_code.cpp has the assembly for this processor.
#if defined(__x86_64__) || defined(__aarch64__)
#define LOCKYARD_MODEL_KNOWS_CALLERS 1
#else
#define LOCKYARD_MODEL_KNOWS_CALLERS 0
#endif

/// Called in place of execution::current() by code with a world (calling_code.cpp).
extern "C" execution* lockyard_model_enter() noexcept;
/// Called at the end of such a call.
extern "C" void lockyard_model_leave() noexcept;

}  // namespace lockyard::model
