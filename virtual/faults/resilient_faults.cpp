// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string_view>
#include <vector>

#include "clients/clients.hpp"
#include "clients/resilient_clients.hpp"
#include "faults.hpp"
#include "faulty_resilient_line.hpp"

namespace lockyard::checker {

namespace {

using model::verdict;

template <line_fault Fault, line_variant Variant = line_variant{}>
checked_client of_line(std::string_view name, verdict expected, unsigned threads,
                       std::string_view summary) {
  return {.name = name,
          .of = group::mutant,
          .summary = summary,
          .make = &client_of<line_client<faulty_resilient_line<model::model, Fault>, Variant>>,
          .size = {.threads = threads},
          .expected = expected,
          .how = {.preemptions = threads > 3 ? 0 : 2, .spurious_wakes = 0, .timeouts = 1}};
}

}  // namespace

std::vector<checked_client> resilient_faults() {
  using enum line_fault;
  constexpr line_variant returning{.owner_returns = true};
  return {
      of_line<lone_head_waits>("resilient_lone_head_waits", verdict::hang, 3,
                               "for a successor that may never come, though the lock is free"),
      of_line<stores_tail>("resilient_stores_tail", verdict::assertion, 4,
                           "a thread that has just enqueued is cut off"),
      of_line<keeps_place>("resilient_keeps_place", verdict::assertion, 3,
                           "a head that leaves leaves its node as the tail"),
      of_line<grants_cancelled>("resilient_grants_cancelled", verdict::assertion, 4,
                                "the place goes to one that has left"),
      of_line<cancels_late>("resilient_cancels_late", verdict::assertion, 4,
                            "one that has the place leaves with it"),
      of_line<keeps_pending>("resilient_keeps_pending", verdict::assertion, 2,
                             "a pending waiter that leaves does not take back its bit"),
      of_line<frees_unlinked, returning>("resilient_frees_unlinked", verdict::assertion, 3,
                                         "before the one behind has linked"),
      of_line<keeps_expiry>("resilient_keeps_expiry", verdict::assertion, 4,
                            "one that is told to leave leaves the place behind"),
      of_line<passes_before>("resilient_passes_before", verdict::race, 4,
                             "the next one before the lock is owned"),
  };
}

}  // namespace lockyard::checker
