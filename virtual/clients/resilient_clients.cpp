// SPDX-License-Identifier: Apache-2.0
#include "resilient_clients.hpp"

#include "clients.hpp"

namespace lockyard::checker {

namespace {

using detail::line_form;
using detail::resilient_line;

template <class Client>
checked_client client(std::string_view name, std::string_view summary, model::client_size size,
                      model::settings how) {
  how.spurious_wakes = 0;  // for the size of the search
  return {.name = name,
          .of = group::client,
          .summary = summary,
          .make = &client_of<Client>,
          .size = size,
          .how = how};
}

using spinning = line_client<resilient_line<model::model, line_form::spins>>;
using parking_line = resilient_line<model::model, line_form::parks>;
using parking = line_client<parking_line>;
using reusing = line_client<resilient_line<model::model, line_form::spins>,
                            line_variant{.owner_returns = true, .nodes_were_used = true}>;
using reusing_parking =
    line_client<parking_line, line_variant{.owner_returns = true, .nodes_were_used = true}>;
using overtaking = line_client<parking_line, line_variant{.owner_returns = true}>;

}  // namespace

std::vector<checked_client> resilient_clients() {
  constexpr model::settings one_leaves{.timeouts = 1, .short_spins = 1};
  constexpr model::settings all_sleep{.timeouts = 0, .short_spins = 2};
  return {
      client<spinning>("resilient_pending", "an owner, and a pending waiter that may leave",
                       {.threads = 2}, {}),
      client<spinning>("resilient_head", "the same, and the head of the queue, who may too",
                       {.threads = 3}, one_leaves),
      client<spinning>("resilient_returning", "the same; both come twice",
                       {.threads = 3, .acquisitions = 2}, {.timeouts = 1}),
      client<reusing>("resilient_reuse", "nodes that were used before; the owner comes back",
                      {.threads = 3}, {.timeouts = 0}),
      client<spinning>("resilient_queue", "the same, and one behind the head", {.threads = 4},
                       one_leaves),
      client<parking>("resilient_sleeper", "an owner, and a waiter that sleeps", {.threads = 2},
                      {}),
      client<parking>("resilient_sleepers", "two waiters that sleep", {.threads = 3}, all_sleep),
      client<reusing_parking>("resilient_sleepers_reuse",
                              "waiters that may sleep, with nodes that were used before",
                              {.threads = 3}, {.timeouts = 0}),
      client<overtaking>("resilient_overtaken", "the same, and an owner that comes back",
                         {.threads = 3}, {.preemptions = 0, .timeouts = 0, .short_spins = 2}),
      client<abba_client<model::model>>(
          "resilient_abba", "the thread that closes a cycle of two finds it at the first look",
          {.threads = 2}, {}),
      client<moved_on_client<timeless_lock>>(
          "resilient_moved_on", "no cycle is found of a hold that was over before the wait",
          {.threads = 2}, {.timeouts = 2}),
      client<moved_on_client<timeless_unnamed_lock>>(
          "resilient_unnamed", "the same of locks without names", {.threads = 2}, {.timeouts = 2}),
      client<gave_up_client<model::model>>(
          "resilient_gave_up", "no cycle is found of a wait that was over before the hold",
          {.threads = 2}, {}),
      client<dead_owner_client<model::model>>(
          "resilient_dead_owner", "one that comes upon a dead owner's lock sees what that one did",
          {.threads = 2}, {}),
  };
}

}  // namespace lockyard::checker
