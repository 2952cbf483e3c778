// SPDX-License-Identifier: Apache-2.0

// How long a recovering lock takes to turn a deadlock, a stuck or a dead owner into an error, and
// whether it does so where there is none. docs/studies/recovery.md gives definition and reading.

#include "../recovery/scenes.hpp"
#include "../study.hpp"
#include "../team.hpp"

#include <lockyard/resilient/throwing.hpp>

#include <peers/all.hpp>

#include <algorithm>
#include <concepts>
#include <iterator>

namespace lockyard::harness {

namespace {

/// The fault of a scenario, which determines its figures.
enum class fault : std::uint8_t { none, own_lock, cycle, stuck_owner, dead_owner };

struct recovery_scenario {
  listed_choice listed;
  fault kind;
  fault_books (*bring_about)(const job&, const answering_subject&) = nullptr;
  outcome (*avoid)(const job&, const answering_subject&) = nullptr;
};

/// The stall time-outs, plus time for threads to start and end.
constexpr double stuck_run_s = 0.6;
constexpr double stuck_budget_s = 4;
/// The tolerance for clock calibration: a stall is timed by a different clock than a run.
constexpr double nearly = 0.99;

constexpr listed_choice patient(std::string_view name, unsigned waiters) {
  return {name, "stuck", waiters + 1, stuck_run_s, stuck_budget_s};
}

// A cycle has an innocent thread in addition, and waiters have an owner.
constexpr recovery_scenario recovery_scenarios[] = {
    {{"aa", "", 1}, fault::own_lock, lock_again},
    {{"abba", "", 3}, fault::cycle, close_cycles},
    {{"cycle3", "cycle", 4}, fault::cycle, close_cycles},
    {{"cycle4", "cycle", 5}, fault::cycle, close_cycles},
    {{"cycle8", "cycle", 9}, fault::cycle, close_cycles},
    {patient("stuck1", 1), fault::stuck_owner, outwait},
    {patient("stuck2", 2), fault::stuck_owner, outwait},
    {patient("stuck8", 8), fault::stuck_owner, outwait},
    {patient("stuck64", 64), fault::stuck_owner, outwait},
    {{"dead_waited", "dead", 2}, fault::dead_owner, die_waited_for},
    {{"dead_found", "dead", 2}, fault::dead_owner, die_unseen},
    {{"ordered"}, fault::none, nullptr, keep_order},
    {{"gated"}, fault::none, nullptr, pass_gate},
};

template <class Value>
nlohmann::ordered_json only_if(bool applies, const Value& value) {
  return applies ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

outcome outcome_of_faults(const job& of, fault kind, const fault_books& books, ticks run_length,
                          const stall_limits& limits) {
  const bool is_cycle = kind == fault::cycle;
  const bool is_stuck = kind == fault::stuck_owner;
  const double earliest_ns = clock::ns(books.earliest);
  const auto pending_ns = static_cast<double>(limits.pending.count());
  outcome result;
  result.values = {{"run_ns", clock::ns(run_length)},
                   {"complete", books.rounds >= of.bound.loops.value_or(0)},
                   {"operations", books.rounds},
                   {"recovery_max_ns", only_if(books.longest > 0, clock::ns(books.longest))},
                   {"victims", only_if(is_cycle, books.victims)},
                   {"innocents_harmed", only_if(is_cycle, books.innocents_harmed)},
                   {"wrong_answers", books.wrong_answers},
                   {"first_out_min_ns", only_if(is_stuck, earliest_ns)},
                   {"pending_limit_ns", limits.pending.count()},
                   {"head_limit_ns", limits.head.count()},
                   {"answers", books.answers.to_json()}};
  result.histograms["recovery"] = books.recovery.to_json(clock::ns_per_tick());
  result.checks = {{"right_answers", books.wrong_answers == 0},
                   {"innocents_unharmed", only_if(is_cycle, books.innocents_harmed == 0)},
                   {"not_before_limit", only_if(is_stuck, earliest_ns >= nearly * pending_ns)},
                   {"released_once", only_if(kind == fault::dead_owner, books.each_released_once)}};
  return result;
}

outcome recover(const job& of, const answering_subject& locks) {
  const auto* const chosen = std::ranges::find(recovery_scenarios, of.choice("workload"),
                                               [](const auto& each) { return each.listed.name; });
  if (chosen->avoid != nullptr) return chosen->avoid(of, locks);
  const ticks start = clock::now();
  const fault_books books = chosen->bring_about(of, locks);
  return outcome_of_faults(of, chosen->kind, books, elapsed(start, clock::now()), locks.limits());
}

/// The catalogue's locks throw; these are the locks inside them.
template <class Lock>
concept answering = requires(Lock& lock) {
  { lock.get().lock() } -> std::same_as<lock_result>;
  lock.get().release_dead_owner();
};

template <class Lock>
outcome recover_with(const job& of, const lock_traits& traits) {
  using inner = std::remove_cvref_t<decltype(std::declval<Lock&>().get())>;
  return recover(
      of, {.of = {traits, operations_on<Lock>},
           .acquire = [](void* lock) { return static_cast<Lock*>(lock)->get().lock().code(); },
           .release_dead_owner =
               [](void* lock) { return static_cast<Lock*>(lock)->get().release_dead_owner(); },
           .limits = [] { return inner::current_stall_limits(); }});
}

/// A lock that never reports an error, which every scenario has to detect.
outcome recover_with_broken(const job& of, const lock_traits& traits) {
  using lock_type = controls::broken_lock;
  return recover(of, {.of = {traits, operations_on<lock_type>},
                      .acquire =
                          [](void* lock) {
                            static_cast<lock_type*>(lock)->lock();
                            return lock_errc::acquired;
                          },
                      .release_dead_owner = [](void*) { return false; },
                      .limits = [] { return resilient_mutex::current_stall_limits(); }});
}

std::vector<cell> recovering_cells() {
  std::vector<cell> cells;
  catalogued::for_each_lock([&]<class Lock>(const catalog_entry<Lock>& entry) {
    if constexpr (answering<Lock>) {
      if (entry.traits.recovering)
        cells.push_back(
            {.lock = entry.traits.name, .run = recover_with<Lock>, .traits = entry.traits});
    } else if constexpr (std::same_as<Lock, controls::broken_lock>) {
      cells.push_back(
          {.lock = entry.traits.name, .run = recover_with_broken, .traits = entry.traits});
    }
  });
  return cells;
}

std::vector<listed_choice> scenarios() {
  std::vector<listed_choice> listed;
  std::ranges::transform(recovery_scenarios, std::back_inserter(listed),
                         &recovery_scenario::listed);
  return listed;
}

}  // namespace

study recovery_study() {
  return {.name = "recovery",
          .summary =
              "how long a resilient lock takes to turn a deadlock, a stuck or a dead owner into an "
              "error, and whether it reports errors that do not exist",
          .place = 190,
          .default_run_s = 0.2,
          .default_budget_s = 2,
          .measures = subjects::some_locks,
          .parameters = {{.name = "workload",
                          .type = parameter_type::choice,
                          .summary = "the fault to cause, or the order of locks that avoids it",
                          .choices = scenarios()}},
          .cells = recovering_cells()};
}

}  // namespace lockyard::harness
