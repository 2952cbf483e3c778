// SPDX-License-Identifier: Apache-2.0
#include <lockyard/event/task_queue.hpp>

#include "clients/clients.hpp"
#include "clients/task_queue_clients.hpp"
#include "faults.hpp"
#include "faulty_idle.hpp"

namespace lockyard::checker {

namespace {

using model::verdict;

constexpr pool_plan one_task{};
constexpr pool_plan awaited{.waits = true};
constexpr pool_plan too_many_tasks{.capacity = 1, .tasks = 2};
constexpr pool_plan without_workers{
    .capacity = 1, .others = 2, .has_workers = false, .cancels = true};

template <idle_fault Fault, pool_plan Plan>
constexpr auto idle_of = &client_of<task_queue_client<model_queue<faulty_event<Fault>>, Plan>>;
template <queue_fault Fault, pool_plan Plan>
constexpr auto queue_of =
    &client_of<task_queue_client<faulty_task_queue<unsigned, model::model, Fault>, Plan>>;

}  // namespace

std::vector<checked_client> idle_faults() {
  const auto mutant = [](std::string_view name, verdict expected, unsigned threads, maker make,
                         std::string_view summary) {
    return checked_client{.name = name,
                          .of = group::mutant,
                          .summary = summary,
                          .make = make,
                          .size = {.threads = threads},
                          .expected = expected,
                          .how = {.preemptions = 2, .spurious_wakes = 0, .timeouts = 1}};
  };
  return {
      mutant("idle_looks_first", verdict::hang, 2, idle_of<idle_fault::looks_first, awaited>,
             "a task between a worker's look and its registration wakes no worker"),
      mutant("idle_wakes_one", verdict::hang, 3, idle_of<idle_fault::wakes_one, one_task>,
             "the end wakes one of two workers"),
      mutant("task_queue_notifies_first", verdict::hang, 2,
             queue_of<queue_fault::notifies_first, awaited>,
             "a worker is called, finds nothing yet, and sleeps while the task comes"),
      mutant("task_queue_never_calls_back", verdict::hang, 2,
             queue_of<queue_fault::never_calls_back, too_many_tasks>,
             "a thread that waits for room is not woken when there is some"),
      mutant("task_queue_forgets_room", verdict::hang, 3,
             queue_of<queue_fault::forgets_room, without_workers>,
             "if two wait for room when the pool is stopped, one waits forever"),
      mutant("task_queue_trusts_notice", verdict::race, 3,
             queue_of<queue_fault::trusts_notice, one_task>,
             "a worker takes what another one was quicker to take"),
  };
}

}  // namespace lockyard::checker
