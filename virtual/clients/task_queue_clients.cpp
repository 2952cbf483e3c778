// SPDX-License-Identifier: Apache-2.0
#include "task_queue_clients.hpp"

#include <lockyard/event/idle.hpp>

#include <optional>

#include "clients.hpp"

namespace lockyard::checker {

namespace {

constexpr pool_plan one_task{};
constexpr pool_plan two_tasks{.tasks = 2, .waits = true};
constexpr pool_plan awaited{.waits = true};
constexpr pool_plan too_many_tasks{.capacity = 1, .tasks = 2};
constexpr pool_plan two_submitters{.capacity = 1, .others = 1};
constexpr pool_plan cancelled{.tasks = 2, .cancels = true};
constexpr pool_plan without_workers{
    .capacity = 1, .others = 2, .has_workers = false, .cancels = true};

template <class Idle, pool_plan Plan>
constexpr auto queue_of = &client_of<task_queue_client<model_queue<Idle>, Plan>>;

}  // namespace

std::vector<checked_client> task_queue_clients() {
  const auto client = [](std::string_view name, std::string_view summary, maker make,
                         unsigned threads, std::optional<unsigned> preemptions) {
    return checked_client{
        .name = name,
        .of = group::client,
        .summary = summary,
        .make = make,
        .size = {.threads = threads},
        .how = {
            .preemptions = preemptions, .spurious_wakes = 0, .timeouts = 1, .weak_failures = 1}};
  };
  using idle::event, idle::spin, idle::spin_then_event;
  constexpr auto all = std::nullopt;
  return {
      client("task_queue_spin", "workers that spin, or pause, or yield", queue_of<spin, two_tasks>,
             3, all),
      client("task_queue_event", "workers that sleep until they are called",
             queue_of<event, awaited>, 3, 0),
      client("task_queue_event_two", "the same with two tasks", queue_of<event, two_tasks>, 2, all),
      client("task_queue_event_ends", "the same, and the end comes at once",
             queue_of<event, one_task>, 3, 1),
      client("task_queue_spin_then_event", "workers that spin first",
             queue_of<spin_then_event, awaited>, 2, all),
      client("task_queue_full", "a submitter waits for room", queue_of<event, too_many_tasks>, 2,
             all),
      client("task_queue_full_spin", "a submitter that may come too late, and workers that spin",
             queue_of<spin, two_submitters>, 3, all),
      client("task_queue_full_event", "the same with workers that sleep",
             queue_of<event, two_submitters>, 3, 1),
      client("task_queue_stopped", "two who wait for room that never comes",
             queue_of<event, without_workers>, 3, 2),
      client("task_queue_cancelled", "tasks that no worker has begun are taken back",
             queue_of<event, cancelled>, 2, all),
  };
}

}  // namespace lockyard::checker
