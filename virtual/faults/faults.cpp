// SPDX-License-Identifier: Apache-2.0
#include "faults.hpp"

#include "clients/asymmetric_unlock.hpp"
#include "clients/clients.hpp"
#include "clients/condition_clients.hpp"
#include "clients/event.hpp"
#include "clients/event_clients.hpp"
#include "clients/mcs_lock.hpp"
#include "clients/parking_clients.hpp"
#include "clients/seqlock.hpp"
#include "clients/shared_clients.hpp"
#include "clients/small_queued_lock.hpp"
#include "faulty_conditions.hpp"
#include "faulty_events.hpp"
#include "faulty_locks.hpp"
#include "faulty_mutex.hpp"
#include "faulty_parking_locks.hpp"
#include "faulty_shared_mutex.hpp"

namespace lockyard::checker {

namespace {

using model::client_size;
using model::verdict;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr client_size two{.threads = 2};
constexpr client_size three{.threads = 3};
constexpr client_size four{.threads = 4};
constexpr client_size two_one_tries{.threads = 2, .tries = true};
constexpr client_size three_one_tries{.threads = 3, .tries = true};
constexpr client_size three_one_timed{.threads = 3, .timed = true};
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

template <mcs_rules Rules>
constexpr maker mcs = &model::exclusion_of<mcs_lock<model::model, Rules>>;
template <queued_rules Rules>
constexpr maker queued = &model::exclusion_of<small_queued_lock<model::model, Rules>>;
template <futex_fault Fault>
constexpr maker futex = &model::exclusion_of<faulty_futex_mutex<model::model, Fault>>;

template <spinner_fault Fault>
constexpr maker spinner = &model::exclusion_of<faulty_spinner_mutex<model::model, Fault>>;
template <ticket_fault Fault>
constexpr maker ticket = &model::exclusion_of<faulty_ticket_mutex<model::model, Fault>>;

std::vector<checked_client> queue_mutants() {
  return {
      mutant("mcs_enqueue_acquire", verdict::hang, two,
             mcs<{.enqueue = std::memory_order_acquire, .nodes_in_thread = false}>,
             "the node's emptying may overwrite the successor's link"),
      mutant("mcs_enqueue_release", verdict::race, two,
             mcs<{.enqueue = std::memory_order_release, .nodes_in_thread = false}>,
             "a thread that finds the queue empty does not see the last owner's work"),
      mutant("mcs_dequeue_relaxed", verdict::race, two,
             mcs<{.dequeue = relaxed, .nodes_in_thread = false}>,
             "the last owner does not publish its work"),
      mutant("mcs_skips_link", verdict::hang, two,
             mcs<{.waits_for_link = false, .nodes_in_thread = false}>,
             "a successor that is on its way is forgotten"),
      mutant("mcs_stores_tail", verdict::hang, two,
             mcs<{.compares = false, .nodes_in_thread = false}>,
             "a thread that has just enqueued is cut off"),
      mutant("mcs_link_relaxed", verdict::hang, two,
             mcs<{.link = relaxed, .nodes_in_thread = false}>,
             "the mark to wait may overwrite the hand-over"),
      mutant("mcs_hand_over_relaxed", verdict::race, two,
             mcs<{.hand_over = relaxed, .nodes_in_thread = false}>,
             "the successor does not see the owner's work"),
      mutant("mcs_abandons_node", verdict::hang, three_one_tries, mcs<{.nodes_in_thread = false}>,
             "a timed-out waiter stays in the queue"),
      mutant("mcs_abandons_own_node", verdict::lifetime, two_one_tries, mcs<{}>,
             "a timed-out waiter ends its node while it is in the queue"),
  };
}

std::vector<checked_client> queued_mutants() {
  return {
      mutant("queued_keeps_pending", verdict::hang, four, queued<{.undoes_pending = false}>,
             "a thread that enqueues keeps its claim to be next, and the head waits for it"),
      mutant("queued_pending_hurries", verdict::race, two, queued<{.pending_waits = false}>,
             "the pending waiter does not wait for the owner"),
      mutant("queued_head_hurries", verdict::hang, three, queued<{.head_waits_for_pending = false}>,
             "the head of the queue and the pending waiter both take the lock"),
      mutant("queued_enqueue_acquire", verdict::hang, four,
             queued<{.enqueue = std::memory_order_acquire}>,
             "the node's emptying may overwrite the successor's link"),
      mutant("queued_link_relaxed", verdict::hang, four, queued<{.link = relaxed}>,
             "the mark to wait may overwrite the hand-over"),
      mutant("queued_timeout_keeps_pending", verdict::hang, three_one_tries,
             queued<{.timeout_undoes_pending = false}>,
             "a pending waiter that has timed out holds up the queue"),
  };
}

std::vector<checked_client> futex_mutants() {
  return {
      mutant("futex_never_wakes", verdict::hang, two, futex<futex_fault::never_wakes>,
             "unlock wakes no thread"),
      mutant("futex_wakes_first", verdict::hang, two, futex<futex_fault::wakes_before_release>,
             "the woken thread finds the lock held and sleeps for good"),
      mutant("futex_forgets_third", verdict::hang, three, futex<futex_fault::forgets_third>,
             "a woken thread takes the lock as if no other thread slept"),
      mutant("futex_trusts_wake", verdict::race, two, futex<futex_fault::trusts_wake>,
             "a return from sleep is taken for ownership"),
      mutant("futex_tries_by_exchange", verdict::hang, three_one_tries,
             futex<futex_fault::tries_by_exchange>, "a failed try erases the mark for sleepers"),
      mutant("futex_forgets_at_deadline", verdict::hang, three_one_timed,
             &model::exclusion_of<forgetful_futex_mutex<model::model>>,
             "a waiter that gives up wipes out that another one sleeps"),
      mutant("counting_mutex", verdict::lifetime, two_destroying,
             &model::exclusion_of<counting_mutex<model::model>>,
             "unlock reads the lock after it has released it"),
      mutant("event_looks_first", verdict::hang, two, &client_of<event_client<true>>,
             "a thread that comes between the look and the store is not woken"),
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
  };
}

std::vector<checked_client> parking_mutants() {
  return {
      mutant(
          "spinner_keeps_mark", verdict::hang, three_one_timed, spinner<spinner_fault::keeps_mark>,
          "a thread that is woken to take a spinner's place finds the spinner's mark, and sleeps"),
      mutant("spinner_sleeps_as_first", verdict::hang, two, spinner<spinner_fault::sleeps_as_first>,
             "unlock may erase the mark of a thread that then sleeps"),
      mutant("spinner_comes_back_alone", verdict::hang, three,
             spinner<spinner_fault::comes_back_alone>,
             "the spinner becomes the owner, and wakes no thread when it leaves"),
      mutant("ticket_mutex_wakes_one", verdict::hang, three, ticket<ticket_fault::wakes_one>,
             "a thread is woken whose number is not the one that was called"),
      mutant("ticket_mutex_forgets_number", verdict::hang, three_one_timed,
             ticket<ticket_fault::forgets>, "a number is called that no thread waits for any more"),
      mutant("ticket_mutex_looks_late", verdict::lifetime, two_destroying,
             ticket<ticket_fault::looks_late>, "unlock reads the lock after it has released it"),
      mutant("pi_mutex_frees", verdict::hang, two,
             &model::exclusion_of<freeing_pi_mutex<model::model>>,
             "the kernel's waiter is never handed the word"),
  };
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
            {.preemptions = 1, .timeouts = 1}),
      found(mutant("mutex_hands_on_without_fence", verdict::hang, three,
                   held_mutex<hands_on_without_barrier, waits_a_while, waits, comes_back>,
                   "the same, where unlock has a fence"),
            {.preemptions = 1, .timeouts = 1, .asymmetric = model::barriers::fences}),
      found(mutant("mutex_keeps_designation", verdict::hang, three,
                   held_mutex<keeps_designation, waits_a_while, waits, comes_back>,
                   "unlock goes on counting on a waiter that has given up"),
            {.preemptions = 1, .timeouts = 1}),
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

template <shared_fault Fault, role... Roles>
checked_client shared_mutant(std::string_view name, verdict expected, std::string_view summary) {
  checked_client each = mutant(
      name, expected, {.threads = sizeof...(Roles)},
      &client_of<shared_client<faulty_shared_mutex<model::model, Fault>, Roles...>>, summary);
  each.how.preemptions = 2;
  each.how.timeouts = 1;
  each.how.spurious_wakes = 0;
  return each;
}

/// In the clients of shared_mutex; without a fault their copy of it is checked among those.
std::vector<checked_client> shared_mutants() {
  using enum shared_fault;
  using enum role;
  return {
      shared_mutant<leaves_silently, leaves, writes>("shared_leaves_silently", verdict::hang,
                                                     "the last reader does not hand the lock on"),
      shared_mutant<comes_silently, leaves, writes, reads>(
          "shared_comes_silently", verdict::hang,
          "the last reader finds another reader, which failed to enter and leaves"),
      shared_mutant<looks_first, writes, reads>("shared_looks_first", verdict::hang,
                                                "a release between the look and the mark"),
      shared_mutant<gives_up_silently, leaves, writes_a_while, reads>(
          "shared_gives_up_silently", verdict::hang,
          "readers sleep for a writer that has given up"),
      shared_mutant<counts_no_sleepers, writes, reads, writes>(
          "shared_counts_no_sleepers", verdict::hang,
          "a woken reader leaves without having been counted"),
      shared_mutant<wakes_one_reader, writes, reads, reads>(
          "shared_wakes_one_reader", verdict::hang, "of several readers that slept"),
      shared_mutant<upgrades_at_once, upgrades, reads>("shared_upgrades_at_once", verdict::race,
                                                       "the upgrader writes while readers read"),
      shared_mutant<trusts_the_lock, leaves, destroys>(
          "shared_trusts_the_lock", verdict::lifetime,
          "the last reader looks at a lock that a writer has had and ended"),
      shared_mutant<keeps_flag_of_writer, leaves, writes, reads>(
          "shared_keeps_flag_of_writer", verdict::hang,
          "readers sleep for a writer that has come and gone"),
  };
}

template <class Count>
constexpr maker two_conditions = &client_of<two_conditions_client<Count>>;
template <count_fault Fault>
constexpr maker event_count = two_conditions<faulty_event_count<model::model, Fault>>;
template <event_fault Fault>
constexpr maker manual_event =
    &client_of<manual_event_client<faulty_manual_event<model::model, Fault>>>;
template <event_fault Fault>
constexpr maker auto_event = &model::exclusion_of<faulty_auto_event_lock<model::model, Fault>>;

std::vector<checked_client> event_mutants() {
  const auto bounded = [](checked_client each,
                          model::barriers behaviour = model::barriers::membarrier) {
    each.how.preemptions = 2;
    each.how.spurious_wakes = 0;
    each.how.asymmetric = behaviour;
    return each;
  };
  return {
      mutant(
          "event_count_has_no_barrier", verdict::hang, two,
          two_conditions<basic_event_count<without_barrier>>,
          "the notifier's look may come before the count, and the waiter's before the condition"),
      bounded(mutant("event_count_trusts_barrier", verdict::hang, two,
                     &client_of<two_conditions_client<basic_event_count<trusting_barrier>, true>>,
                     "a barrier that failed is taken for one that succeeded"),
              model::barriers::may_be_lost),
      bounded(mutant("event_count_has_no_fence", verdict::hang, three,
                     two_conditions<basic_event_count<without_fence>>,
                     "where both fences are ordinary, one of two waiters has none"),
              model::barriers::fences),
      bounded(mutant("event_count_opens_anyway", verdict::hang, two,
                     two_conditions<basic_event_count<without_registration>>,
                     "where both fences are ordinary, the notifier leaves its own out"),
              model::barriers::fences),
      bounded(mutant("event_count_trusts_count", verdict::hang, three,
                     event_count<count_fault::trusts_count>,
                     "the barrier is left out while another one is still to come")),
      bounded(mutant("event_count_keeps_armed", verdict::hang, three,
                     event_count<count_fault::keeps_armed>,
                     "the barrier is left out though its waiter has gone")),
      mutant("event_count_forgets_key", verdict::hang, two, event_count<count_fault::forgets_key>,
             "a thread that is notified between its look and its sleep sleeps on"),
      mutant("manual_event_wakes_one", verdict::hang, three, manual_event<event_fault::wakes_one>,
             "the others sleep on"),
      mutant("manual_event_looks_late", verdict::lifetime, two_destroying,
             manual_event<event_fault::looks_late>, "set reads an event that has ended"),
      mutant("auto_event_forgets", verdict::hang, three, auto_event<event_fault::forgets>,
             "the next set does not look for the threads that still wait"),
      mutant("auto_event_overwrites", verdict::race, three, auto_event<event_fault::overwrites>,
             "one set lets a sleeper and a newcomer through"),
      mutant("auto_event_gives_up", verdict::hang, three_one_timed,
             auto_event<event_fault::gives_up>, "a set is lost on a thread that has given up"),
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
          "an owner without a fence misses a thread that a notification has moved to the mutex",
          {.preemptions = 2, .timeouts = 1, .short_spins = 1, .old_reads = 1}),
      condition_mutant<looks_first, takes, gives_after, locks>(
          "condition_looks_first", verdict::hang,
          "the mutex is released between the look and the move",
          {.preemptions = 2, .timeouts = 1, .short_spins = 1, .old_reads = 1}),
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
      mutant("narrow_ticket_lock", verdict::race, three,
             &model::exclusion_of<narrow_ticket_lock<model::model>>, "a counter of one bit"),
      mutant("drawing_ticket_lock", verdict::hang, three_one_tries,
             &model::exclusion_of<drawing_ticket_lock<model::model>>,
             "a failed try leaves a number drawn"),
      mutant("twice_released_lock", verdict::race, two,
             &model::exclusion_of<twice_released_lock<model::model>>,
             "a relaxed store behind the release store"),
      mutant("seqlock_without_fence", verdict::assertion, two, &client_of<seqlock_client<false>>,
             "the reader's second look at the sequence may come first"),
  };
}

}  // namespace

std::vector<checked_client> lock_faults() {
  std::vector<checked_client> all = queue_mutants();
  for (const auto& more :
       {queued_mutants(), futex_mutants(), parking_mutants(), mutex_mutants(), shared_mutants(),
        event_mutants(), condition_mutants(), other_mutants()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace lockyard::checker
