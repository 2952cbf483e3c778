// SPDX-License-Identifier: Apache-2.0
#include "semaphore_clients.hpp"

#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/park/recursive_mutex.hpp>
#include <lockyard/park/semaphore.hpp>

#include <string_view>
#include <vector>

#include "clients.hpp"

namespace lockyard::checker {

namespace {

using small = basic_futex_mutex<model::model>;
using batchwise = basic_semaphore<model::model_in_small_batches>;
using shipped = basic_semaphore<model::model>;

/// Without spurious wakes, for the size of the search.
template <class Semaphore, deed... Deeds>
checked_client of_semaphore(std::string_view name, std::string_view summary) {
  return client(name, summary, &client_of<semaphore_client<Semaphore, Deeds...>>,
                {.threads = sizeof...(Deeds)}, model::unbounded());
}

template <class Lock>
constexpr auto recursion = &client_of<recursion_client<Lock>>;

}  // namespace

/// As mutexes they are checked with the catalogue's.
std::vector<checked_client> semaphore_clients() {
  using enum deed::kind;
  constexpr deed gives_one{gives, 1}, gives_two{gives, 2}, gives_two_singly{gives_singly, 2};
  constexpr deed takes_one{takes, 1}, takes_two{takes, 2}, takes_one_a_while{takes_a_while, 1};
  constexpr deed takes_two_a_while{takes_a_while, 2}, ends_one{ends, 1};
  return {
      of_semaphore<shipped, gives_two_singly, takes_two>("semaphore",
                                                         "semaphore: two at once, given singly"),
      of_semaphore<shipped, gives_one, takes_one_a_while>("semaphore_timed",
                                                          "a taker that gives up"),
      of_semaphore<shipped, gives_one, ends_one>("semaphore_ended",
                                                 "the thread that takes ends the semaphore"),
      of_semaphore<shipped, gives_one, gives_one, takes_two>("semaphore_two_givers",
                                                             "a taker of what two give"),
      of_semaphore<shipped, gives_two, takes_one, takes_one>("semaphore_two_takers",
                                                             "two takers of what is given at once"),
      of_semaphore<batchwise, gives_two, takes_one, takes_one_a_while>(
          "semaphore_two_batches", "one that gives up, each served by a batch of its own"),
      of_semaphore<shipped, gives_two_singly, takes_one, takes_one>("semaphore_two_singly",
                                                                    "the same, given singly"),
      of_semaphore<shipped, gives_one, takes_two_a_while, takes_one>(
          "semaphore_gives_up", "one that wants too much gives up, another one is behind it"),
      of_semaphore<shipped, gives_one, gives_one, takes_one_a_while>(
          "semaphore_mark_goes", "two give while the only taker gives up"),
      client("recursive_mutex_held_twice", "recursive_mutex over futex_mutex, held twice by each",
             recursion<recursive_mutex<small>>, {.threads = 2}, {.spurious_wakes = 0}),
  };
}

}  // namespace lockyard::checker
