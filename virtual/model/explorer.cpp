// SPDX-License-Identifier: Apache-2.0
#include "explorer.hpp"

#include "search_state.hpp"

#include <chrono>
#include <ctime>
#include <random>
#include <utility>

namespace lockyard::model {

namespace {

using std::chrono::steady_clock;

/// Code without a world may use other addresses in each execution, and so other words. After so
/// many lessons each thread counts as a writer of each word, and after as many more the search
/// leaves nothing out.
constexpr unsigned most_lessons = 100;

/// Learns from random executions what it can, so that the search need not begin anew so often.
void learn_by_samples(const client_maker& make, const plan& by, conflicts& known) {
  constexpr unsigned most_without_lesson = 100;
  constexpr unsigned most_steps = 200'000;
  constexpr std::clock_t most_time = CLOCKS_PER_SEC / 4;  // where each execution takes long
  const std::clock_t begin = std::clock();
  execution runs{by.how};
  std::minstd_rand random;
  unsigned steps = 0;
  for (unsigned i = 0; i < most_without_lesson && steps < most_steps; ++i) {
    if (std::clock() - begin > most_time) return;
    choices list;
    list.be_random(random());
    runs.reduce_by(&known);
    runs.run(make, list, [](const reached_state&) { return true; });
    steps += runs.steps();
    if (runs.learned()) {
      known = *runs.learned();
      i = 0;
    }
    if (runs.result() != verdict::passed || known.has_unordered) return;
  }
}

}  // namespace

found explore(const client_maker& make, plan by) {
  const auto start = steady_clock::now();
  std::optional<conflicts> known;
  if (by.order == search::exhaustive) {
    known.emplace(
        conflicts{.has_unordered = !is_reducible(by), .tells_threads_apart = !by.exchanges});
    if (is_reducible(by)) learn_by_samples(make, by, *known);
    if (execution::take_back != nullptr && execution::take_back()) return {};
  }
  found result;
  unsigned lessons = 0;
  for (bool again = true; again;) {
    if (by.on_begin) by.on_begin();
    search_state state{make, by, known ? &*known : nullptr, start};
    result = state.run();
    again = result.result == verdict::passed && (state.learned() || state.is_broken());
    if (!again) break;
    if (!state.learned()) {
      // A fault of a process that ended, if it is one of the code, comes again in this one.
      by.forks = false;
      by.workers = 1;
      continue;
    }
    known = state.learned();
    ++lessons;
    known->all_may_write |= lessons > most_lessons;
    known->has_unordered |= lessons > 2 * most_lessons;
  }
  result.seconds = seconds_since(start);
  if (result.result == verdict::passed) return result;
  const found again = replay(make, by.how, result.replay);
  result.steps = again.steps;
  if (again.result != result.result) {
    result.result = verdict::not_deterministic;
    result.what = "a failure could not be reproduced: " + result.what;
  }
  return result;
}

site_list sites_of(const client_maker& make, plan by) {
  site_list sites;
  by.workers = 1;
  by.forks = false;
  by.sites = &sites;
  explore(make, by);
  return sites;
}

found replay(const client_maker& make, const settings& how, const std::string& text,
             const std::vector<shared_part>* shared) {
  found result;
  const auto list = from_text(text);
  if (!list) {
    result.result = verdict::not_deterministic;
    result.what = "not a list of choices";
    return result;
  }
  execution runs{how};
  choices script;
  const auto follow = [&] {
    script = {};
    script.follow(*list);
    runs.run(make, script, [](const reached_state&) { return true; });
  };
  if (shared == nullptr) {
    runs.look_for_shared_stacks();
    follow();
    result.shared = runs.shared_stacks();
  } else {
    result.shared = *shared;
  }
  runs.trace_to(&result.steps, result.shared);
  follow();
  result.executions = 1;
  result.result = runs.result();
  result.what = runs.what();
  result.replay = text;
  if (result.result != verdict::not_deterministic && script.used() != list->size()) {
    result.result = verdict::not_deterministic;
    result.what = "the execution makes " + std::to_string(script.used()) +
                  " choices, but the list has " + std::to_string(list->size());
  }
  return result;
}

std::string name_of(verdict which) {
  switch (which) {
    case verdict::passed: return "passed";
    case verdict::race: return "race";
    case verdict::assertion: return "assertion";
    case verdict::hang: return "hang";
    case verdict::lifetime: return "lifetime";
    case verdict::not_deterministic: return "not deterministic";
    case verdict::inconclusive: return "inconclusive";
  }
  return "unknown";
}

std::string to_text(const trace& steps) {
  std::string text;
  for (const trace_line& each : steps) {
    text += "T" + std::to_string(each.thread) + "  ";
    if (each.where.line() != 0) {
      text += file_name(each.where.file_name()) + ":" + std::to_string(each.where.line()) + "  ";
    }
    text += each.text + "\n";
  }
  return text;
}

}  // namespace lockyard::model
