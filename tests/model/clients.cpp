// SPDX-License-Identifier: Apache-2.0
#include "clients.hpp"

#include <lockyard/park/mutex.hpp>
#include <lockyard/queue/array_spinlock.hpp>
#include <lockyard/queue/clh_spinlock.hpp>
#include <lockyard/queue/mcs_spinlock.hpp>
#include <lockyard/queue/queued_spinlock.hpp>

#include "asymmetric_unlock.hpp"
#include "event.hpp"
#include "mcs_lock.hpp"
#include "parking_clients.hpp"
#include "queue_clients.hpp"
#include "seqlock.hpp"
#include "small_queued_lock.hpp"

namespace lockyard::checker {

namespace {

constexpr mcs_rules nodes_in_lock{.nodes_in_thread = false};

subject of_asymmetric_unlock(std::string_view name, std::string_view summary,
                             model::client_maker (*make)(const model::exclusion_shape&),
                             unsigned threads, model::barriers behaviour) {
  model::settings how;
  how.asymmetric = behaviour;
  how.spurious_wakes = 0;  // for the size of the search; futex_mutex and event have them
  return {.name = name,
          .of = group::client,
          .summary = summary,
          .make = make,
          .shape = {.threads = threads},
          .how = how};
}

std::vector<subject> other_clients() {
  const auto always = &client_of<asymmetric_unlock_client<barrier_rule::always>>;
  const auto unless_armed = &client_of<asymmetric_unlock_client<barrier_rule::unless_armed>>;
  return {
      {.name = "mcs_lock",
       .of = group::client,
       .summary = "the queue lock of Mellor-Crummey and Scott, nodes in the threads",
       .make = &model::exclusion_of<mcs_lock<model::model>>,
       .shape = {.threads = 3}},
      {.name = "mcs_lock_own_nodes",
       .of = group::client,
       .summary = "the same with nodes in the lock",
       .make = &model::exclusion_of<mcs_lock<model::model, nodes_in_lock>>,
       .shape = {.threads = 3}},
      {.name = "small_queued_lock",
       .of = group::client,
       .summary = "queued_spinlock in small, with a pending waiter that may time out; no one tries",
       .make = &model::exclusion_of<small_queued_lock<model::model>>,
       .shape = {.threads = 3}},
      {.name = "small_queued_lock_tries",
       .of = group::client,
       .summary = "the same with a pending waiter that may time out",
       .make = &model::exclusion_of<small_queued_lock<model::model>>,
       .shape = {.threads = 3, .tries = true}},
      {.name = "small_queued_lock_four",
       .of = group::client,
       .summary = "the same with two in the queue; at most 2 preemptions",
       .make = &model::exclusion_of<small_queued_lock<model::model>>,
       .shape = {.threads = 4},
       .how = {.preemptions = 2}},
      {.name = "queued_spinlock_returning",
       .of = group::client,
       .summary = "queued_spinlock with two in the queue: the first of three threads comes back",
       .make = &client_of<returning_client<basic_queued_spinlock<model::model>>>,
       .shape = {.threads = 3}},
      {.name = "queued_spinlock_reuse",
       .of = group::client,
       .summary = "the same with nodes that have been used before",
       .make = &client_of<reuse_client<basic_queued_spinlock<model::model>>>,
       .shape = {.threads = 3}},
      {.name = "mcs_spinlock_nodes",
       .of = group::client,
       .summary = "mcs_spinlock with nodes at its users, but for the first",
       .make = &model::exclusion_of<by_node<basic_mcs_spinlock<model::model>>>,
       .shape = {.threads = 3}},
      {.name = "clh_spinlock_nodes",
       .of = group::client,
       .summary = "clh_spinlock with nodes at its users, but for the first",
       .make = &model::exclusion_of<by_node<basic_clh_spinlock<model::model>>>,
       .shape = {.threads = 3}},
      {.name = "array_spinlock_shared",
       .of = group::client,
       .summary = "array_spinlock with more waiters than slots",
       .make = &model::exclusion_of<basic_array_spinlock<model::model, 2>>,
       .shape = {.threads = 4}},
      {.name = "clh_spinlock_nodeless",
       .of = group::client,
       .summary = "clh_spinlock among threads that have no nodes",
       .make = &model::exclusion_of<basic_clh_spinlock<nodeless>>,
       .shape = {.threads = 3}},
      {.name = "queued_spinlock_nodeless",
       .of = group::client,
       .summary = "queued_spinlock among threads that have no nodes",
       .make = &model::exclusion_of<basic_queued_spinlock<nodeless>>,
       .shape = {.threads = 3}},
      {.name = "queued_spinlock_mixed",
       .of = group::client,
       .summary = "queued_spinlock where the first of three threads, which comes back, has no node",
       .make = &client_of<returning_client<basic_queued_spinlock<first_nodeless>>>,
       .shape = {.threads = 3}},
      {.name = "clh_spinlock_mixed",
       .of = group::client,
       .summary = "clh_spinlock where the first of three threads, which comes back, has no node",
       .make = &client_of<returning_client<basic_clh_spinlock<first_nodeless>>>,
       .shape = {.threads = 3}},
      {.name = "clh_spinlock_two_nodes",
       .of = group::client,
       .summary = "two clh_spinlocks in turn, so that a thread may have two nodes in use",
       .make = &client_of<two_locks_client<basic_clh_spinlock<model::model>>>,
       .shape = {.threads = 3}},
      {.name = "event",
       .of = group::client,
       .summary = "an event on a futex: no waiter is forgotten",
       .make = &client_of<event_client<false>>,
       .shape = {.threads = 3}},
      {.name = "seqlock",
       .of = group::client,
       .summary = "a sequence lock: no reader takes half a write",
       .make = &client_of<seqlock_client<true>>,
       .shape = {.threads = 3}},
      of_asymmetric_unlock("asymmetric_unlock", "unlock without a fence; a barrier for each sleep",
                           always, 3, model::barriers::membarrier),
      of_asymmetric_unlock("asymmetric_unlock_armed",
                           "the same; no barrier while one that has completed stands", unless_armed,
                           3, model::barriers::membarrier),
      of_asymmetric_unlock("asymmetric_unlock_fences", "the same where both fences are ordinary",
                           unless_armed, 3, model::barriers::fences),
      of_asymmetric_unlock("asymmetric_unlock_lost", "the same where barriers cease to be had",
                           unless_armed, 3, model::barriers::may_be_lost),
  };
}

template <part... Parts>
constexpr auto held_mutex = &client_of<held_locks_client<basic_mutex<model::model>, Parts...>>;
template <release_fence Fence>
constexpr auto two_mutexes =
    &client_of<held_locks_client<basic_mutex<own_tags, Fence>, releases, waits, releases_second,
                                 waits_for_second>>;

constexpr auto asymmetric = release_fence::asymmetric;

/// The parking lot, and the mutex in it. None wakes for no reason, for the size of the search.
std::vector<subject> parking_clients() {
  using model::barriers;
  const auto client = [](std::string_view name, std::string_view summary,
                         model::client_maker (*make)(const model::exclusion_shape&),
                         model::exclusion_shape shape, model::settings how) {
    how.spurious_wakes = 0;
    return subject{.name = name,
                   .of = group::client,
                   .summary = summary,
                   .make = make,
                   .shape = shape,
                   .how = how};
  };
  return {
      client("parking_lot", "the parking lot with its real guard; 1 preemption, no early time-out",
             &client_of<parking_lot_client<with_real_guard>>, {.threads = 3},
             {.preemptions = 1, .timeouts = 1}),
      client("mutex_held", "mutex with two waiters; 1 preemption, 1 early time-out",
             held_mutex<releases, waits, waits>, {.threads = 3}, {.preemptions = 1, .timeouts = 0}),
      client("mutex_gives_up", "mutex with a waiter that gives up; 1 preemption, no early one",
             held_mutex<comes_back, waits_a_while, waits>, {.threads = 3},
             {.preemptions = 1, .timeouts = 0}),
      client("two_mutexes", "two mutexes in one bucket; 1 preemption, no early time-out",
             two_mutexes<asymmetric>, {.threads = 4}, {.preemptions = 1, .timeouts = 0}),
      client("two_mutexes_fences", "the same where both fences are ordinary",
             two_mutexes<asymmetric>, {.threads = 4},
             {.preemptions = 1, .timeouts = 0, .asymmetric = barriers::fences}),
      client("two_mutexes_full", "the same with a fence in unlock",
             two_mutexes<release_fence::full>, {.threads = 4}, {.preemptions = 1, .timeouts = 0}),
  };
}

}  // namespace

std::vector<subject> clients() {
  std::vector<subject> all = parking_clients();
  const std::vector<subject> more = other_clients();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace lockyard::checker
