// SPDX-License-Identifier: Apache-2.0
#include "clients.hpp"

#include <lockyard/queue/array_spinlock.hpp>
#include <lockyard/queue/clh_spinlock.hpp>
#include <lockyard/queue/mcs_spinlock.hpp>
#include <lockyard/queue/queued_spinlock.hpp>

#include "asymmetric_unlock.hpp"
#include "event.hpp"
#include "mcs_lock.hpp"
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

}  // namespace

std::vector<subject> clients() {
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

}  // namespace lockyard::checker
