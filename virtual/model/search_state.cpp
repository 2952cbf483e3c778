// SPDX-License-Identifier: Apache-2.0
#include "search_state.hpp"

#include "priorities.hpp"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

namespace lockyard::model {

namespace {

using std::chrono::steady_clock;

constexpr double default_sampling_s = 10;
constexpr std::uint64_t executions_between_looks = 256;
constexpr std::uint64_t executions_between_offers = 16;
/// A search that ends soon needs no other process, and no samples.
constexpr std::uint64_t executions_alone = 4096;
constexpr std::uint64_t executions_for_each_sample = 64;

/// Asks for no state.
const execution::gate everywhere{};

}  // namespace

bool is_reducible(const plan& by) {
  return by.reduces && by.order == search::exhaustive && !by.how.preemptions && !by.how.old_reads;
}

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

search_state::search_state(const client_maker& make, const plan& by, const conflicts* known,
                           steady_clock::time_point start)
    : make_{make},
      by_{by},
      conflicts_{known},
      merges_{by.uses_cache && (known == nullptr || !known->has_unseen)},
      start_{start},
      cache_{by.memory_bytes},
      samples_after_{executions_alone} {}

found search_state::run() {
  std::vector<std::jthread> threads;
  if (!by_.forks) {
    for (unsigned i = 1; i < by_.workers; ++i) threads.emplace_back([this, i] { work(i); });
  }
  work(0);
  threads.clear();
  if (!processes_.join()) pile_.break_off();
  look_at_processes();
  const tally counts = pile_.add({});
  result_.executions = counts.executions;
  result_.states = counts.states;
  result_.cut = counts.cut;
  result_.too_deep = counts.too_deep;
  result_.bounded = to_text(reached_, by_.how);
  result_.seconds = seconds_since(start_);
  return std::move(result_);
}

void search_state::work(unsigned worker) {
  execution runs{by_.how};
  runs.collect_sites(by_.sites);
  runs.reduce_by(conflicts_);
  pile_.join();
  if (by_.order == search::exhaustive) {
    runs.is_called_off = [this] { return is_late(); };
    runs.is_step_back = [steps = known_steps{codes_}](std::uint64_t from,
                                                      std::uint64_t to) mutable {
      return steps.is_step_back({from, to});
    };
    const auto look = [this] { look_at_processes(); };
    while (auto part = pile_.take(look)) explore_part(runs, std::move(*part));
  } else {
    sample(runs, worker);
  }
  const std::scoped_lock guard{lock_};
  reached_ |= runs.caps_reached();
}

void search_state::explore_part(execution& runs, std::vector<choice> part) {
  choices list;
  list.start_from(std::move(part));
  // A sample makes another client meanwhile.
  runs.begin_part(by_.keeps_snapshots && !by_.samples);
  tally counts;
  const auto goes_on = [&](const reached_state& now) {
    if (merges_ && !cache_.insert(now)) return false;
    ++counts.states;
    return true;
  };
  bool more = true;
  for (std::uint64_t turn = 1; more; ++turn) {
    const bool whole = runs.run(make_, list, goes_on);
    if (!account(runs, list, whole, counts)) {
      pile_.add(counts);
      return;
    }
    more = list.advance();
    const bool has_to_look = turn % executions_between_looks == 0 || is_late();
    if (has_to_look && !look_around(counts)) return;
    if (more && turn % executions_between_offers == 0 && pile_.wants(list.list())) {
      if (auto given = list.split()) pile_.give(*given);
    }
  }
  look_around(counts);
}

void search_state::sample(execution& runs, unsigned worker) {
  std::minstd_rand random{static_cast<unsigned>(by_.seed * 7919 + worker + 1)};
  unsigned length = 32;
  tally counts;
  while (!pile_.is_off()) {
    choices list;
    const bool whole = run_sample(runs, list, by_.order, random, length);
    if (!account(runs, list, whole, counts)) {
      pile_.add(counts);
      return;
    }
    if (!look_around(counts)) return;
  }
}

bool search_state::run_sample(execution& runs, choices& list, search order,
                              std::minstd_rand& random, unsigned& length) {
  list.be_random(random());
  priorities by_priority{random, length};
  if (order == search::pct) {
    runs.scheduler = [&](std::span<const thread_index> runnable) {
      return by_priority.pick(runnable);
    };
  }
  const bool whole = runs.run(make_, list, everywhere);
  runs.scheduler = nullptr;
  length = std::max(length, runs.steps());
  return whole;
}

/// The search changes the last choices of an execution first, so it comes late to a fault that
/// needs another thread at the beginning. Now and then it looks at random executions, which may
/// find such a fault at once.
void search_state::sample_in_between(std::uint64_t executions) {
  const std::unique_lock alone{sampling_, std::try_to_lock};
  if (!alone.owns_lock() || !by_.samples || by_.order != search::exhaustive) return;
  if (executions < samples_after_) return;
  const std::uint64_t count = samples_after_ / executions_for_each_sample;
  samples_after_ *= 2;
  execution runs{by_.how};
  runs.is_called_off = [this] { return is_late(); };
  std::minstd_rand random{static_cast<unsigned>(by_.seed * 7919 + samples_after_)};
  unsigned length = 32;
  for (std::uint64_t i = 0; i < count && !pile_.is_off(); ++i) {
    choices list;
    run_sample(runs, list, i % 2 == 0 ? search::pct : search::random, random, length);
    if (runs.result() == verdict::passed || runs.result() == verdict::inconclusive) continue;
    const std::scoped_lock guard{lock_};
    if (result_.result == verdict::passed) {
      result_.result = runs.result();
      result_.what = runs.what();
      result_.replay = to_text(list.list());
    }
    pile_.call_off();
  }
  const std::scoped_lock guard{lock_};
  if (result_.result != verdict::passed || execution::take_back == nullptr) return;
  if (execution::take_back()) pile_.call_off();
}

/// A thread whose operations come first for long leaves the others no part in an execution that is
/// not run to its end in all orders. The search then does without that rule.
bool search_state::is_too_long(const execution& runs) const {
  const auto reaches = [&](cap which) {
    return runs.caps_reached()[static_cast<std::size_t>(which)];
  };
  const bool is_whole =
      runs.result() != verdict::inconclusive && !reaches(cap::depth) && !reaches(cap::writes);
  return !is_whole && conflicts_ != nullptr && !conflicts_->has_unordered &&
         !conflicts_->all_may_write;
}

/// Counts an execution. False if it ends the search.
bool search_state::account(const execution& runs, const choices& list, bool whole, tally& counts) {
  ++counts.executions;
  if (!whole) ++counts.cut;
  if (runs.result() == verdict::inconclusive) ++counts.too_deep;
  if (is_helper_) return report(runs, list);
  return conclude(runs, list);
}

/// False if the execution ends the search.
bool search_state::conclude(const execution& runs, const choices& list) {
  const bool is_long = is_too_long(runs);
  if (runs.result() == verdict::passed && !runs.learned() && !is_long) return true;
  const std::scoped_lock guard{lock_};
  const bool counts = runs.result() == verdict::passed || runs.result() == verdict::inconclusive;
  if (counts && (runs.learned() || is_long)) {
    learned_ = runs.learned() ? runs.learned() : *conflicts_;
    learned_->all_may_write |= is_long;
    pile_.call_off();
    return false;
  }
  if (runs.result() == verdict::inconclusive) {
    result_.left_out = runs.what();
    return true;
  }
  if (result_.result == verdict::passed) {
    result_.result = runs.result();
    result_.what = runs.what();
    result_.replay = is_reducible(by_) ? translated(list) : to_text(list.list());
  }
  pile_.call_off();
  return false;
}

/// Tells the first process of an execution that shows something new. False if it ends the search.
bool search_state::report(const execution& runs, const choices& list) {
  const bool is_inconclusive = runs.result() == verdict::inconclusive;
  const bool fails = runs.result() != verdict::passed && !is_inconclusive;
  const bool begins_anew = !fails && (runs.learned() || is_too_long(runs));
  const cap_set caps = std::exchange(reported_caps_, runs.caps_reached());
  const std::size_t known = by_.facts ? by_.facts() : 0;
  const std::size_t facts = std::exchange(reported_facts_, known);
  const bool is_first = is_inconclusive && !std::exchange(has_reported_depth_, true);
  const bool ends = fails || begins_anew;
  if (ends || is_first || caps != reported_caps_ || facts != known)
    pile_.report({.list = list.list(), .ends_search = ends, .begins_anew = begins_anew});
  return !ends;
}

/// A replay does without reduction.
std::string search_state::translated(const choices& list) {
  choices again;
  again.start_from(list.list());
  again.start_translation();
  execution runs{by_.how};
  runs.reduce_by(conflicts_);
  runs.run(make_, again, everywhere);
  return to_text(again.translation());
}

bool search_state::is_late() const {
  const bool samples = by_.order != search::exhaustive;
  const double limit_s = by_.seconds > 0 ? by_.seconds : samples ? default_sampling_s : 0;
  return limit_s > 0 && seconds_since(start_) > limit_s;
}

bool search_state::look_around(tally& counts) {
  const tally all = pile_.add(std::exchange(counts, {}));
  if (is_helper_) return !pile_.is_off();
  if (by_.forks) start_processes(all.executions);
  sample_in_between(all.executions);
  look_at_processes();
  const std::scoped_lock guard{lock_};
  const char* reason = nullptr;
  if (cache_.full()) reason = "the memory limit was reached";
  const bool samples = by_.order != search::exhaustive;
  if (is_late()) reason = samples ? "sampled" : "the time limit was reached";
  const progress now{.executions = all.executions, .states = all.states};
  if (by_.on_progress && !by_.on_progress(now)) reason = "stopped";
  if (reason != nullptr) {
    result_.left_out = reason;
    pile_.call_off();
  }
  return reason == nullptr && !pile_.is_off();
}

void search_state::start_processes(std::uint64_t executions) {
  if (has_processes_ || executions < executions_alone) return;
  has_processes_ = true;
  reported_facts_ = by_.facts ? by_.facts() : 0;
  processes_.start(by_.workers - 1, [this](unsigned worker) {
    is_helper_ = true;
    if (by_.on_fork) by_.on_fork();
    work(worker);
  });
}

void search_state::look_at_processes() {
  if (!has_processes_ || is_helper_) return;
  if (processes_.has_lost_one()) pile_.break_off();
  while (const auto told = pile_.hear()) hear(*told);
}

void search_state::hear(const news& of) {
  if (learned_ || result_.result != verdict::passed) return;
  choices list;
  list.start_from(of.list);
  execution runs{by_.how};
  runs.reduce_by(conflicts_);
  runs.run(make_, list, everywhere);
  reached_ |= runs.caps_reached();
  if (!conclude(runs, list) || !of.ends_search) return;
  if (of.begins_anew) {
    // A fact about all executions, which this process knows by now.
    learned_ = *conflicts_;
  } else {
    result_.result = verdict::not_deterministic;
    result_.what = "a failure could not be reproduced by another process";
  }
}

}  // namespace lockyard::model
