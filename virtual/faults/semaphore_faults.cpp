// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/futex_mutex.hpp>

#include <string_view>
#include <vector>

#include "clients/clients.hpp"
#include "clients/semaphore_clients.hpp"
#include "faults.hpp"
#include "faulty_semaphore.hpp"

namespace lockyard::checker {

namespace {

using model::verdict;

checked_client mutant(std::string_view name, verdict expected, std::string_view summary,
                      model::client_size size,
                      model::client_maker (*make)(const model::client_size&)) {
  return {.name = name,
          .of = group::mutant,
          .summary = summary,
          .make = make,
          .size = size,
          .expected = expected,
          .how = {.preemptions = 2, .spurious_wakes = 0, .timeouts = 1}};
}

template <semaphore_fault Fault, deed... Deeds>
checked_client of_semaphore(std::string_view name, verdict expected, std::string_view summary) {
  return mutant(name, expected, summary, {.threads = sizeof...(Deeds)},
                &client_of<semaphore_client<faulty_semaphore<model::model, Fault>, Deeds...>>);
}

template <recursion_fault Fault>
checked_client of_recursion(std::string_view name, verdict expected, std::string_view summary) {
  using lock = faulty_recursive_mutex<basic_futex_mutex<model::model>, model::model, Fault>;
  return mutant(name, expected, summary, {.threads = 2, .acquisitions = 2},
                &client_of<recursion_client<lock>>);
}

}  // namespace

std::vector<checked_client> semaphore_faults() {
  using enum semaphore_fault;
  using enum deed::kind;
  constexpr deed gives_one{gives, 1}, gives_two{gives, 2}, gives_two_singly{gives_singly, 2};
  constexpr deed takes_one{takes, 1}, takes_one_a_while{takes_a_while, 1};
  constexpr deed takes_two_a_while{takes_a_while, 2}, ends_one{ends, 1};
  return {
      of_semaphore<serves_one, gives_two, takes_one, takes_one>(
          "semaphore_serves_one", verdict::hang, "of two that there is enough for"),
      of_semaphore<forgets_others, gives_two_singly, takes_one, takes_one>(
          "semaphore_forgets_others", verdict::hang, "the next release does not look for them"),
      of_semaphore<looks_first, gives_one, takes_one>("semaphore_looks_first", verdict::hang,
                                                      "a release between the look and the mark"),
      of_semaphore<gives_up_silently, gives_one, takes_two_a_while, takes_one>(
          "semaphore_gives_up_silently", verdict::hang,
          "a thread that wants fewer permits sleeps after one that has gone"),
      of_semaphore<tells_first, gives_one, ends_one>(
          "semaphore_tells_first", verdict::lifetime,
          "a release writes the word of a semaphore that has ended"),
      of_semaphore<trusts_the_mark, gives_one, gives_one, takes_one_a_while>(
          "semaphore_trusts_the_mark", verdict::assertion,
          "a release under the guard overwrites one that needs none"),
      of_recursion<recursion_fault::frees_early>("recursive_frees_early", verdict::race,
                                                 "the first unlock lets others in"),
      of_recursion<recursion_fault::keeps_owner>(
          "recursive_keeps_owner", verdict::race,
          "a former owner takes itself for the owner when it comes again"),
      of_recursion<recursion_fault::names_late>("recursive_names_late", verdict::hang,
                                                "the thread that frees it erases the name of the "
                                                "next owner, which then waits for itself"),
  };
}

}  // namespace lockyard::checker
