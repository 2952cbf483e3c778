// SPDX-License-Identifier: Apache-2.0
#include "faults.hpp"

#include "clients/asymmetric_unlock.hpp"
#include "clients/clients.hpp"
#include "clients/condition_clients.hpp"
#include "clients/parking_clients.hpp"
#include "clients/seqlock.hpp"
#include "faulty_conditions.hpp"
#include "faulty_mutex.hpp"

namespace lockyard::checker {

namespace {

using model::client_size;
using model::verdict;

constexpr client_size two{.threads = 2};
constexpr client_size three{.threads = 3};
constexpr client_size two_destroying{.threads = 2, .destroys = true};

checked_client mutant(std::string_view name, verdict expected, const client_size& size, maker make,
                      std::string_view summary) {
  return {.name = name,
          .of = group::mutant,
          .summary = summary,
          .make = make,
          .size = size,
          .expected = expected};
}

template <mutex_fault Fault, part... Parts>
constexpr maker held_mutex =
    &client_of<held_locks_client<faulty_mutex<model::model, Fault>, Parts...>>;

/// In the clients of the mutex; without a fault their copy of it is checked among those.
std::vector<checked_client> mutex_mutants() {
  using enum mutex_fault;
  const auto found = [](checked_client each, model::settings how) {
    how.spurious_wakes = 0;
    each.how = how;
    return each;
  };
  return {
      found(mutant("mutex_looks_once", verdict::hang, two, held_mutex<looks_once, releases, waits>,
                   "a sleeper that came between the look and the release is not woken"),
            {.preemptions = 2}),
      found(mutant("mutex_has_no_barrier", verdict::hang, two,
                   held_mutex<has_no_barrier, releases, waits>,
                   "unlock may look before the registration, and the sleeper before the "
                   "release"),
            {.preemptions = 2}),
      found(mutant("mutex_arms_without", verdict::hang, two,
                   held_mutex<arms_without, releases, waits>,
                   "a barrier that failed is taken for one that succeeded"),
            {.preemptions = 2, .asymmetric = model::barriers::may_be_lost}),
      found(mutant("mutex_ends_by_fence", verdict::hang, three,
                   held_mutex<ends_by_fence, waits, waits, comes_back>,
                   "unlock counts on an active waiter that finds the lock held, and sleeps"),
            {.preemptions = 2}),
      found(mutant("mutex_hands_on_without_barrier", verdict::hang, three,
                   held_mutex<hands_on_without_barrier, waits_a_while, waits, comes_back>,
                   "unlock counts on an active waiter that finds the lock held, and gives up"),
            {.preemptions = 2, .timeouts = 1}),
      found(mutant("mutex_hands_on_without_fence", verdict::hang, three,
                   held_mutex<hands_on_without_barrier, waits_a_while, waits, comes_back>,
                   "the same, where unlock has a fence"),
            {.preemptions = 1, .timeouts = 1, .asymmetric = model::barriers::fences}),
      found(mutant("mutex_keeps_designation", verdict::hang, three,
                   held_mutex<keeps_designation, waits_a_while, waits, comes_back>,
                   "unlock goes on counting on a waiter that has given up"),
            {.preemptions = 2, .timeouts = 1}),
      found(mutant("mutex_leaves_uncovered", verdict::hang, three,
                   held_mutex<leaves_uncovered, waits_a_while, waits, comes_back>,
                   "the same, if barriers became unavailable"),
            {.preemptions = 0, .timeouts = 2, .asymmetric = model::barriers::may_be_lost}),
      found(mutant("mutex_frees_before_owner", verdict::race, two,
                   held_mutex<frees_before_owner, comes_back, waits>,
                   "a newcomer takes what is handed to the first sleeper"),
            {.preemptions = 2}),
      mutant("mutex_looks_late", verdict::lifetime, two_destroying,
             &model::exclusion_of<faulty_mutex<model::model, looks_late>>,
             "unlock reads the lock after it has released it"),
  };
}

template <condition_fault Fault, turn... Turns>
checked_client condition_mutant(std::string_view name, verdict expected, std::string_view summary,
                                model::settings how = {
                                    .preemptions = 2, .timeouts = 1, .short_spins = 1}) {
  checked_client each =
      mutant(name, expected, {.threads = sizeof...(Turns)},
             &client_of<condition_client<faulty_condition<model::model, Fault>,
                                         faulty_mutex<model::model, mutex_fault::none>, Turns...>>,
             summary);
  each.how = how;
  each.how.spurious_wakes = 0;
  return each;
}
template <any_fault Fault, turn... Turns>
checked_client any_mutant(std::string_view name, verdict expected, std::string_view summary) {
  checked_client each =
      mutant(name, expected, {.threads = sizeof...(Turns)},
             &client_of<condition_client<faulty_condition_any<model::model, Fault>,
                                         basic_ttas_spinlock<model::model>, Turns...>>,
             summary);
  each.how.preemptions = 2;
  each.how.timeouts = 1;
  each.how.spurious_wakes = 0;
  return each;
}

/// In the clients of condition variables; without a fault the copy is checked among those.
std::vector<checked_client> condition_mutants() {
  using enum condition_fault;
  using enum turn;
  return {
      condition_mutant<links_late, takes, gives>("condition_links_late", verdict::hang,
                                                 "the notifier looks before the waiter is linked"),
      condition_mutant<moves_silently, takes, gives>(
          "condition_moves_silently", verdict::hang,
          "unlock does not look for threads that a notification has moved to the mutex"),
      condition_mutant<expects_silently, takes, gives_after, locks>(
          "condition_expects_silently", verdict::hang,
          "an owner without a fence misses a thread that a notification has moved to the mutex"),
      condition_mutant<looks_first, takes, gives_after, locks>(
          "condition_looks_first", verdict::hang,
          "the mutex is released between the look and the move"),
      condition_mutant<never_looks, takes, gives_after>(
          "condition_never_looks", verdict::hang, "a waiter is moved to a mutex that is free"),
      condition_mutant<forgets_others, takes, takes, gives, gives>(
          "condition_forgets_others", verdict::hang,
          "the next notification finds no thread, although one still waits"),
      condition_mutant<gives_up_moved, waits_a_while, waits, notifies_held>(
          "condition_gives_up_moved", verdict::hang,
          "a notification is lost on a thread that gives up", {.preemptions = 1, .timeouts = 1}),
      condition_mutant<trusts_deadline, waits_a_while, waits, notifies_held>(
          "condition_trusts_deadline", verdict::hang,
          "a thread that was notified reports a time-out", {.preemptions = 1, .timeouts = 1}),
      condition_mutant<touches_late, waits_to_destroy, notifies>(
          "condition_touches_late", verdict::lifetime,
          "a notifier comes back to a condition variable that has ended"),
      condition_mutant<ignores_stop, waits_for_stop, stops>(
          "condition_ignores_stop", verdict::hang,
          "a stop between the last look and the wait is missed"),
      condition_mutant<stops_late, waits_for_stop, stops, notifies_to_destroy>(
          "condition_stops_late", verdict::lifetime,
          "a stop comes back to a condition variable that has ended",
          {.preemptions = 1, .timeouts = 0}),
      any_mutant<any_fault::links_late, takes, gives>(
          "condition_any_links_late", verdict::hang,
          "the notifier looks before the waiter is linked"),
      any_mutant<any_fault::forgets, takes, takes, gives, gives>(
          "condition_any_forgets", verdict::hang,
          "the next notification finds no thread, although one still waits"),
      any_mutant<any_fault::gives_up, waits_a_while, waits, notifies_held>(
          "condition_any_gives_up", verdict::hang,
          "a notification is lost on a thread that gives up"),
      any_mutant<any_fault::touches_late, waits_to_destroy, notifies>(
          "condition_any_touches_late", verdict::lifetime,
          "a notifier comes back to a condition variable that has ended"),
  };
}

std::vector<checked_client> other_mutants() {
  return {
      mutant("asymmetric_unlock_counted", verdict::hang, three,
             &client_of<asymmetric_unlock_client<barrier_rule::unless_counted>>,
             "the barrier is skipped while an registration still lacks its own"),
      {.name = "asymmetric_unlock_trusts_barrier",
       .of = group::mutant,
       .summary = "a barrier that failed is taken for one that succeeded",
       .make = &client_of<asymmetric_unlock_client<barrier_rule::trusted>>,
       .size = two,
       .expected = verdict::hang,
       .how = {.asymmetric = model::barriers::may_be_lost}},
      mutant("seqlock_without_fence", verdict::assertion, two, &client_of<seqlock_client<false>>,
             "the reader's second look at the sequence may come first"),
  };
}

}  // namespace

std::vector<checked_client> lock_faults() {
  std::vector<checked_client> all = mutex_mutants();
  for (const auto& more : {condition_mutants(), other_mutants()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace lockyard::checker
