// SPDX-License-Identifier: Apache-2.0
#include "clients.hpp"

#include <lockyard/detail/bucket_lock.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/event/manual_reset_event.hpp>
#include <lockyard/park/biased_mutex.hpp>
#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/fair_mutex.hpp>
#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/owner_aware_mutex.hpp>
#include <lockyard/queue/array_spinlock.hpp>
#include <lockyard/queue/clh_spinlock.hpp>
#include <lockyard/queue/cna_spinlock.hpp>
#include <lockyard/queue/mcs_spinlock.hpp>
#include <lockyard/queue/queued_spinlock.hpp>

#include <atomic>
#include <optional>

#include "asymmetric_unlock.hpp"
#include "biased_clients.hpp"
#include "clients/event_locks.hpp"
#include "event_clients.hpp"
#include "mcs_lock.hpp"
#include "parking_clients.hpp"
#include "queue_clients.hpp"
#include "robust_clients.hpp"
#include "seqlock.hpp"
#include "shared_clients.hpp"

namespace lockyard::checker {

namespace {

/// A world whose first thread has a real-time policy.
struct first_real_time : model::model {
  using unwatched = first_real_time;
  static bool is_real_time() noexcept { return thread_slot() == 0; }
};

/// A world in which a spin that may end looks once, so that waiters soon sleep.
struct one_look : model::model {
  using unwatched = one_look;
  using model::model::await;
  template <class Atomic, class Predicate, class Policy>
  static std::optional<typename Atomic::value_type> await(const Atomic& on, Predicate predicate,
                                                          std::memory_order order,
                                                          Policy&& /*policy*/,
                                                          deadline /*limit*/) noexcept {
    const auto found = on.load(order);
    if (!predicate(found)) return std::nullopt;
    return found;
  }
};

/// More than half of the model's jump in time: after one jump a waiter has no patience left, and
/// after two the mutex is handed to it even if it sleeps.
constexpr std::uint32_t half_a_jump_us = 3'000'000'000;

checked_client of_asymmetric_unlock(std::string_view name, std::string_view summary, maker make,
                                    unsigned threads, model::barriers behaviour) {
  model::settings how;
  how.asymmetric = behaviour;
  how.spurious_wakes = 0;  // for the size of the search; futex_mutex and event have them
  return {.name = name,
          .of = group::client,
          .summary = summary,
          .make = make,
          .size = {.threads = threads},
          .how = how};
}

std::vector<checked_client> other_clients() {
  const auto always = &client_of<asymmetric_unlock_client<barrier_rule::always>>;
  const auto unless_armed = &client_of<asymmetric_unlock_client<barrier_rule::unless_armed>>;
  return {
      {.name = "mcs_lock",
       .of = group::client,
       .summary = "the queue lock of Mellor-Crummey and Scott, nodes in the threads",
       .make = &model::exclusion_of<mcs_lock<model::model>>,
       .size = {.threads = 3, .lock_has = model::symmetry::full},
       .offers_try = false},
      {.name = "queued_spinlock_returning",
       .of = group::client,
       .summary = "queued_spinlock with two in the queue: the first of three threads comes back",
       .make = &client_of<returning_client<basic_queued_spinlock<model::model>>>,
       .size = {.threads = 3}},
      {.name = "queued_spinlock_reuse",
       .of = group::client,
       .summary = "the same with nodes that have been used before",
       .make = &client_of<reuse_client<basic_queued_spinlock<model::model>>>,
       .size = {.threads = 3}},
      {.name = "mcs_spinlock_nodes",
       .of = group::client,
       .summary = "mcs_spinlock with nodes at its users, but for the first",
       .make = &model::exclusion_of<by_node<basic_mcs_spinlock<model::model>>>,
       .size = {.threads = 3}},
      {.name = "cna_spinlock_nodes",
       .of = group::client,
       .summary = "cna_spinlock with nodes at its users, but for the first",
       .make = &model::exclusion_of<by_node<basic_cna_spinlock<model::model>>>,
       .size = {.threads = 3}},
      {.name = "cna_spinlock_returning",
       .of = group::client,
       .summary = "cna_spinlock; the first of three threads comes back, on its node or another",
       .make = &client_of<returning_client<basic_cna_spinlock<wandering>>>,
       .size = {.threads = 3}},
      {.name = "cna_spinlock_readmits",
       .of = group::client,
       .summary = "cna_spinlock that bypasses once; an owner and three waiters",
       .make = &client_of<queued_client<basic_cna_spinlock<model::model, 1>>>,
       .size = {.threads = 4}},
      {.name = "clh_spinlock_nodes",
       .of = group::client,
       .summary = "clh_spinlock with nodes at its users, but for the first",
       .make = &model::exclusion_of<by_node<basic_clh_spinlock<model::model>>>,
       .size = {.threads = 3}},
      {.name = "array_spinlock_shared",
       .of = group::client,
       .summary = "array_spinlock with more waiters than slots",
       .make = &model::exclusion_of<basic_array_spinlock<model::model, 2>>,
       .size = {.threads = 4, .lock_has = model::symmetry::full}},
      {.name = "clh_spinlock_nodeless",
       .of = group::client,
       .summary = "clh_spinlock among threads that have no nodes",
       .make = &model::exclusion_of<basic_clh_spinlock<nodeless>>,
       .size = {.threads = 3, .lock_has = model::symmetry::full}},
      {.name = "queued_spinlock_nodeless",
       .of = group::client,
       .summary = "queued_spinlock among threads that have no nodes",
       .make = &model::exclusion_of<basic_queued_spinlock<nodeless>>,
       .size = {.threads = 3, .lock_has = model::symmetry::full}},
      {.name = "queued_spinlock_mixed",
       .of = group::client,
       .summary = "queued_spinlock where the first of three threads, which comes back, has no node",
       .make = &client_of<returning_client<basic_queued_spinlock<first_nodeless>>>,
       .size = {.threads = 3}},
      {.name = "clh_spinlock_mixed",
       .of = group::client,
       .summary = "clh_spinlock where the first of three threads, which comes back, has no node",
       .make = &client_of<returning_client<basic_clh_spinlock<first_nodeless>>>,
       .size = {.threads = 3}},
      {.name = "clh_spinlock_two_nodes",
       .of = group::client,
       .summary = "two clh_spinlocks in turn, so that a thread may have two nodes in use",
       .make = &client_of<two_locks_client<basic_clh_spinlock<model::model>>>,
       .size = {.threads = 3}},
      {.name = "bucket_lock",
       .of = group::client,
       .summary = "the lock of the parking lot's buckets",
       .make = &model::exclusion_of<lockyard::detail::bucket_lock<model::model>>,
       .size = {.threads = 3, .lock_has = model::symmetry::of_names}},
      {.name = "bucket_lock_real_time",
       .of = group::client,
       .summary = "the same where the first thread has a real-time policy",
       .make = &model::exclusion_of<lockyard::detail::bucket_lock<first_real_time>>,
       .size = {.threads = 3},
       .how = {.preemptions = 3}},
      {.name = "fair_mutex_turns",
       .of = group::client,
       .summary = "fair_mutex with a queue, an active newcomer, and handoffs to sleepers",
       .make = &model::exclusion_of<basic_fair_mutex<one_look>>,
       .size = {.threads = 3, .acquisitions = 2, .lock_has = model::symmetry::full},
       .how = {.preemptions = 2,
               .spurious_wakes = 0,
               .timeouts = 1,
               .short_spins = 0,
               .old_reads = 0}},
      {.name = "owner_aware_mutex_leaves",
       .of = group::client,
       .summary = "owner_aware_mutex whose woken waiter gives up while another one sleeps",
       .make = &model::exclusion_of<basic_owner_aware_mutex<one_look>>,
       .size =
           {.threads = 3, .acquisitions = 2, .timed = true, .lock_has = model::symmetry::of_names},
       .how = {.preemptions = 2,
               .spurious_wakes = 0,
               .timeouts = 2,
               .short_spins = 0,
               .old_reads = 0}},
      {.name = "fair_mutex_room",
       .of = group::client,
       .summary = "fair_mutex whose first waiter is out of patience before it has woken up",
       .make = &model::exclusion_of<
           basic_fair_mutex<one_look, handoff_policy::patient, half_a_jump_us>>,
       .size = {.threads = 3, .acquisitions = 2, .lock_has = model::symmetry::full},
       .how = {.preemptions = 2,
               .spurious_wakes = 0,
               .timeouts = 2,
               .short_spins = 0,
               .old_reads = 0}},
      {.name = "biased_mutex_comes_back",
       .of = group::client,
       .summary = "biased_mutex: a thread gets the bias again after a revocation",
       .make = &model::exclusion_of<eager_biased_mutex>,
       .size = {.threads = 2, .acquisitions = 3, .lock_has = model::symmetry::of_names},
       .how = {.spurious_wakes = 0}},
      {.name = "biased_mutex_moves_on",
       .of = group::client,
       .summary = "biased_mutex: the bias goes from thread to thread, and one gives up",
       .make = &model::exclusion_of<eager_biased_mutex>,
       .size =
           {.threads = 3, .acquisitions = 2, .timed = true, .lock_has = model::symmetry::of_names},
       .how = {.preemptions = 1, .spurious_wakes = 0, .timeouts = 1, .short_spins = 0}},
      {.name = "biased_mutex_reuse",
       .of = group::client,
       .summary = "a biased_mutex in the memory of another one, which its next owner has ended",
       .make = &client_of<biased_reuse_client<eager_biased_mutex>>,
       .size = {.threads = 3},
       .how = {.timeouts = 1}},
      {.name = "biased_mutex_fences",
       .of = group::client,
       .summary = "biased_mutex where the kernel has no membarrier, so that no thread has the bias",
       .make = &model::exclusion_of<eager_biased_mutex>,
       .size = {.threads = 2, .acquisitions = 2, .lock_has = model::symmetry::of_names},
       .how = {.asymmetric = model::barriers::fences}},
      {.name = "shared_memory_mutex_death",
       .of = group::client,
       .summary = "shared_memory_mutex whose first owner dies; the others hear of it once",
       .make = &client_of<dying_owner_client>,
       .size = {.threads = 3}},
      {.name = "seqlock",
       .of = group::client,
       .summary = "a sequence lock: no reader takes half a write",
       .make = &client_of<seqlock_client<true>>,
       .size = {.threads = 3}},
      of_asymmetric_unlock("asymmetric_unlock", "unlock without a fence; a barrier for each sleep",
                           always, 3, model::barriers::membarrier),
      of_asymmetric_unlock("asymmetric_unlock_armed",
                           "the same; no barrier while one that has completed stands", unless_armed,
                           3, model::barriers::membarrier),
      of_asymmetric_unlock("asymmetric_unlock_fences", "the same where both fences are ordinary",
                           unless_armed, 3, model::barriers::fences),
      of_asymmetric_unlock("asymmetric_unlock_lost", "the same if barriers become unavailable",
                           unless_armed, 3, model::barriers::may_be_lost),
  };
}

template <part... Parts>
constexpr auto held_mutex = &client_of<held_locks_client<basic_mutex<model::model>, Parts...>>;
template <part... Parts>
constexpr auto held_byte_mutex =
    &client_of<held_locks_client<basic_byte_mutex<model::model>, Parts...>>;
template <release_fence Fence>
constexpr auto two_mutexes =
    &client_of<held_locks_client<basic_mutex<own_tags, Fence>, releases, waits, releases_second,
                                 waits_for_second>>;

constexpr auto asymmetric = release_fence::asymmetric;

/// The parking lot, and the mutex in it. None wakes for no reason, for the size of the search.
std::vector<checked_client> parking_clients() {
  using model::barriers;
  constexpr model::settings one_sleeps{.spurious_wakes = 0, .timeouts = 0, .short_spins = 1};
  return {
      client("parking_lot", "the parking lot with its real guard; 1 preemption, 1 early time-out",
             &client_of<parking_lot_client<with_real_guard>>, {.threads = 3},
             {.preemptions = 1, .spurious_wakes = 0, .timeouts = 1}),
      client("mutex_held", "mutex with two waiters, one of which sleeps",
             held_mutex<releases, waits, waits>, {.threads = 3}, one_sleeps),
      client("mutex_held_both", "mutex with two waiters that sleep; no preemption",
             held_mutex<releases, waits, waits>, {.threads = 3},
             {.preemptions = 0, .spurious_wakes = 0, .timeouts = 0}),
      client("mutex_comes_back", "mutex whose owner comes back; two waiters, one of which sleeps",
             held_mutex<comes_back, waits, waits>, {.threads = 3},
             {.preemptions = 0, .spurious_wakes = 0, .timeouts = 0, .short_spins = 1}),
      client("mutex_gives_up", "mutex with a waiter that gives up; no preemption",
             held_mutex<releases, waits_a_while, waits>, {.threads = 3},
             {.preemptions = 0, .spurious_wakes = 0, .timeouts = 1, .short_spins = 1}),
      client("mutex_hands_on", "mutex whose owner comes back, and a waiter that gives up",
             held_mutex<comes_back, waits_a_while>, {.threads = 2}, model::unbounded()),
      client("byte_mutex_comes_back", "byte_mutex whose owner comes back; two waiters",
             held_byte_mutex<comes_back, waits, waits>, {.threads = 3},
             {.spurious_wakes = 0, .timeouts = 0, .short_spins = 2}),
      client("byte_mutex_gives_up", "byte_mutex whose owner comes back; a waiter may give up",
             held_byte_mutex<comes_back, waits_a_while, waits>, {.threads = 3},
             {.spurious_wakes = 0, .timeouts = 1, .short_spins = 1}),
      client("mutex_barrier_lost", "mutex with a waiter; barriers become unavailable",
             held_mutex<releases, waits>, {.threads = 2},
             {.spurious_wakes = 0, .asymmetric = barriers::may_be_lost}),
      client("mutex_barriers_lost", "mutex with two waiters; the same; no preemption",
             held_mutex<releases, waits, waits>, {.threads = 3},
             {.preemptions = 0,
              .spurious_wakes = 0,
              .timeouts = 0,
              .short_spins = 1,
              .asymmetric = barriers::may_be_lost}),
      client("mutex_barriers_lost_timed", "the same; one waiter gives up",
             held_mutex<releases, waits_a_while, waits>, {.threads = 3},
             {.preemptions = 0,
              .spurious_wakes = 0,
              .timeouts = 1,
              .short_spins = 1,
              .asymmetric = barriers::may_be_lost}),
      client("two_mutexes", "two mutexes in one bucket; one sleeps", two_mutexes<asymmetric>,
             {.threads = 4}, one_sleeps),
      client(
          "two_mutexes_fences", "the same where both fences are ordinary", two_mutexes<asymmetric>,
          {.threads = 4},
          {.spurious_wakes = 0, .timeouts = 0, .short_spins = 1, .asymmetric = barriers::fences}),
      client("two_mutexes_full", "the same with a fence in unlock",
             two_mutexes<release_fence::full>, {.threads = 4}, one_sleeps),
  };
}

/// shared_mutex, whose exclusive half is checked with the catalogue's locks.
template <role... Roles>
checked_client of_shared_mutex(std::string_view name, std::string_view summary,
                               const model::settings& how) {
  return {.name = name,
          .of = group::client,
          .summary = summary,
          .make = &client_of<shared_client<basic_shared_mutex<model::model>, Roles...>>,
          .size = {.threads = sizeof...(Roles)},
          .how = how};
}

std::vector<checked_client> shared_clients() {
  using enum role;
  constexpr auto whole = model::unbounded();
  constexpr model::settings none{.preemptions = 0, .spurious_wakes = 0, .timeouts = 0};
  constexpr model::settings late{.spurious_wakes = 0, .timeouts = 1, .short_spins = 1};
  return {
      of_shared_mutex<reads, writes>("shared_mutex_read_write", "a reader and a writer", whole),
      of_shared_mutex<reads_a_while, writes_a_while>("shared_mutex_timed", "both may give up",
                                                     whole),
      of_shared_mutex<upgrades, reads>("shared_mutex_upgrade", "an upgrade while a reader reads",
                                       whole),
      of_shared_mutex<leaves, destroys>(
          "shared_mutex_destroy", "a writer ends the lock that a reader has just left", whole),
      of_shared_mutex<reads, writes, reads>("shared_mutex_readers", "two readers and a writer",
                                            whole),
      of_shared_mutex<writes, reads, writes>("shared_mutex_writers", "two writers and a reader",
                                             late),
      of_shared_mutex<leaves, writes_a_while, reads>(
          "shared_mutex_gives_up", "a reader waits behind a writer that may give up", whole),
      of_shared_mutex<upgrades, upgrades, reads>("shared_mutex_upgrades",
                                                 "two upgraders and a reader", late),
      of_shared_mutex<upgrades, writes, holds_upgrade>("shared_mutex_upgrade_write",
                                                       "upgraders and a writer", late),
      of_shared_mutex<downgrades, reads, writes>("shared_mutex_downgrade",
                                                 "a downgrade, a reader and a writer", late),
      of_shared_mutex<downgrades_halfway, tries_to_read, upgrades>(
          "shared_mutex_downgrade_halfway", "a downgrade to an upgrader, another, and a try", late),
      of_shared_mutex<reads_a_while, writes, writes, reads>("shared_mutex_four",
                                                            "two readers and two writers", none),
  };
}

using lock_of_event = testing::auto_event_lock<model::model>;
using counting = basic_event_count<model::model>;
using lock_of_count = testing::event_count_lock<model::model>;
using lock_of_spinning_count =
    testing::event_count_lock<model::model, basic_event_count<model::model, idle_policy::spin>>;
using manual_event = basic_manual_reset_event<model::model>;

/// Events by themselves, and as locks. Those that find the parking lot wake for no reason only
/// where they are small.
std::vector<checked_client> event_clients() {
  using model::barriers;
  constexpr auto whole = model::unbounded();
  constexpr model::settings late{.spurious_wakes = 0, .timeouts = 1, .weak_failures = 1};
  const auto within = [&late](unsigned preemptions) {
    model::settings how = late;
    how.preemptions = preemptions;
    return how;
  };
  const auto fenced = [](model::settings how, barriers behaviour) {
    how.asymmetric = behaviour;
    return how;
  };
  const auto two_conditions = &client_of<two_conditions_client<counting>>;
  const auto manual = &client_of<manual_event_client<manual_event>>;
  return {
      client("event_count", "event_count: a notification for all of two waiters",
             &client_of<broadcast_client<counting>>, {.threads = 3}, late),
      client("event_count_timed", "the same, and one of them gives up",
             &client_of<broadcast_client<counting>>, {.threads = 3, .timed = true}, late),
      client("event_count_two", "event_count: waiters for two conditions, one barrier for both",
             two_conditions, {.threads = 3}, late),
      client("event_count_fences", "the same where both fences are ordinary", two_conditions,
             {.threads = 3}, fenced(within(1), barriers::fences)),
      client("event_count_lost", "one waiter, if barriers become unavailable",
             &client_of<two_conditions_client<counting, true>>, {.threads = 2},
             fenced(late, barriers::may_be_lost)),
      client("event_count_lock", "a lock whose waiters sleep by event_count; notified one by one",
             &model::exclusion_of<lock_of_count>, {.threads = 3, .lock_has = model::symmetry::full},
             within(2)),
      client("event_count_lock_timed", "the same, and one gives up",
             &model::exclusion_of<lock_of_count>,
             {.threads = 3, .timed = true, .lock_has = model::symmetry::full}, within(2)),
      client("spinning_event_count", "a lock whose waiters spin, and sleep by event_count",
             &model::exclusion_of<lock_of_spinning_count>,
             {.threads = 2, .lock_has = model::symmetry::full}, whole),
      client("manual_reset_event", "manual_reset_event: two waiters; one gives up", manual,
             {.threads = 3, .timed = true}, whole),
      client("manual_reset_event_ended", "the same; a waiter ends the event after its wait", manual,
             {.threads = 2, .destroys = true}, whole),
      client("manual_reset_event_drained", "the same; reset, and then a look for more work",
             &client_of<drained_event_client<manual_event>>, {.threads = 2}, whole),
      client("auto_reset_event", "auto_reset_event as a lock", &model::exclusion_of<lock_of_event>,
             {.threads = 3, .lock_has = model::symmetry::full}, whole),
      client("auto_reset_event_timed", "the same, and one gives up",
             &model::exclusion_of<lock_of_event>,
             {.threads = 3, .timed = true, .lock_has = model::symmetry::full}, whole),
      client("auto_reset_event_ended", "the same; the last thread ends the event",
             &model::exclusion_of<lock_of_event>,
             {.threads = 2, .destroys = true, .lock_has = model::symmetry::full}, whole),
      client("auto_reset_event_drained", "the same; reset, and then a look for more work",
             &client_of<drained_event_client<basic_auto_reset_event<model::model>>>, {.threads = 2},
             whole),
  };
}

}  // namespace

std::vector<checked_client> clients() {
  std::vector<checked_client> all = parking_clients();
  for (const auto& more : {event_clients(), shared_clients(), other_clients()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace lockyard::checker
