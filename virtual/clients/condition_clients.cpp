// SPDX-License-Identifier: Apache-2.0
#include "condition_clients.hpp"

#include <lockyard/park/mutex.hpp>

#include <string_view>
#include <vector>

#include "clients.hpp"

namespace lockyard::checker {

namespace {

template <class Condition, class Lock, turn... Turns>
checked_client of_condition(std::string_view name, std::string_view summary,
                            const model::settings& how) {
  return {.name = name,
          .of = group::client,
          .summary = summary,
          .make = &client_of<condition_client<Condition, Lock, Turns...>>,
          .size = {.threads = sizeof...(Turns)},
          .how = how};
}

}  // namespace

/// The condition variable with its mutex; the one for any lock with a spinlock, which has less to
/// search.
std::vector<checked_client> condition_clients() {
  using model::barriers;
  using enum turn;
  using mutex = basic_mutex<model::model>;
  using condition = basic_condition_variable<model::model>;
  using batchwise = model::model_in_small_batches;
  using spinlock = basic_ttas_spinlock<model::model>;
  using any = basic_condition_variable_any<model::model>;
  constexpr auto whole = model::unbounded();
  // For the size of the search. Nothing wakes for no reason.
  constexpr model::settings in_time{.spurious_wakes = 0, .timeouts = 0, .short_spins = 1};
  constexpr model::settings late{.spurious_wakes = 0, .timeouts = 1, .short_spins = 1};
  constexpr model::settings late_by_turns{
      .preemptions = 0, .spurious_wakes = 0, .timeouts = 1, .short_spins = 1};
  return {
      of_condition<condition, mutex, takes, gives>("condition_held",
                                                   "a notification under the mutex", late),
      of_condition<condition, mutex, takes, gives_after>("condition_free",
                                                         "a notification after the mutex", whole),
      of_condition<condition, mutex, takes, gives_after>(
          "condition_fences", "the same where both fences are ordinary",
          model::unbounded({.asymmetric = barriers::fences})),
      of_condition<condition, mutex, takes, gives_after>(
          "condition_lost", "the same if barriers become unavailable",
          {.spurious_wakes = 0, .timeouts = 0, .asymmetric = barriers::may_be_lost}),
      of_condition<condition, mutex, takes, gives_after, locks>(
          "condition_third", "and a third thread that may wait for the mutex meanwhile",
          {.preemptions = 0, .spurious_wakes = 0, .timeouts = 0, .short_spins = 1}),
      of_condition<condition, mutex, waits, notifies, tries>(
          "condition_tried", "a third thread may own the mutex when a sleeper is moved to it",
          in_time),
      of_condition<condition, mutex, takes, takes, gives_all>(
          "condition_all_held",
          "two waiters, and a notification for all under the mutex; few old reads",
          {.preemptions = 1, .spurious_wakes = 0, .timeouts = 0, .short_spins = 1, .old_reads = 2}),
      of_condition<condition, mutex, takes, takes, gives_all_after>(
          "condition_all_free", "the same after the mutex; both spin",
          {.spurious_wakes = 0, .timeouts = 0, .short_spins = 0}),
      of_condition<condition, mutex, takes, gives_all_after>(
          "condition_all_asleep", "the same; one waiter, which may sleep", whole),
      of_condition<condition, mutex, takes, gives, takes, gives_after>(
          "condition_two_each", "two waiters, and a notification for each; few old reads",
          {.preemptions = 0, .spurious_wakes = 0, .timeouts = 0, .short_spins = 1, .old_reads = 2}),
      client(
          "condition_two_rounds",
          "a notification in batches, and waiters with another mutex meanwhile",
          &client_of<
              two_rounds_client<basic_condition_variable<batchwise>, basic_mutex<batchwise>>>,
          {.threads = 3},
          {.preemptions = 2, .spurious_wakes = 0, .timeouts = 0, .short_spins = 1, .old_reads = 0}),
      of_condition<condition, mutex, waits_a_while, waits, notifies>(
          "condition_timed", "the thread that gives up is not the notified one", late_by_turns),
      of_condition<condition, mutex, waits_a_while, waits, notifies_held>(
          "condition_timed_held", "the same under the mutex", late_by_turns),
      of_condition<condition, mutex, waits_to_destroy, notifies>(
          "condition_ended", "a waiter ends it after its wait", whole),
      of_condition<condition, mutex, waits_for_stop, stops>("condition_stopped",
                                                            "a stop ends the wait", whole),
      of_condition<condition, mutex, waits_a_while_for_stop, stops>(
          "condition_stopped_timed", "a stop, or the deadline", whole),
      of_condition<condition, mutex, waits_for_stop, stops, notifies_to_destroy>(
          "condition_stopped_ended", "a stop that comes when the condition variable has ended",
          in_time),
      of_condition<any, spinlock, takes, takes, gives_all_after>(
          "condition_any", "two waiters, and a notification for all after the lock", whole),
      of_condition<any, spinlock, waits_a_while, waits, notifies>(
          "condition_any_timed", "the thread that gives up is not the notified one", whole),
      of_condition<any, spinlock, waits_to_destroy, notifies>(
          "condition_any_ended", "a waiter ends it after its wait", whole),
      of_condition<any, spinlock, waits_for_stop, stops>("condition_any_stopped",
                                                         "a stop ends the wait", whole),
      of_condition<any, spinlock, waits_a_while_for_stop, stops>("condition_any_stopped_timed",
                                                                 "a stop, or the deadline", whole),
      of_condition<any, spinlock, waits_for_stop, stops, notifies_to_destroy>(
          "condition_any_stopped_ended", "a stop that comes when the condition variable has ended",
          whole),
  };
}

}  // namespace lockyard::checker
