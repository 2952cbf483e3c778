// SPDX-License-Identifier: Apache-2.0
#include "record.hpp"

#include "skew.hpp"
#include "topology.hpp"
#include "user_locks/adopted.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockyard::harness {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view name_of(lock_kind kind) {
  return std::array<std::string_view, 5>{"ours", "peer", "variant", "control",
                                         "user"}[static_cast<std::size_t>(kind)];
}
constexpr std::string_view name_of(lock_family family) {
  return std::array<std::string_view, 4>{"spin", "queue", "park",
                                         "none"}[static_cast<std::size_t>(family)];
}
constexpr std::string_view name_of(waiting how) {
  return std::array<std::string_view, 5>{"none", "spin", "yield", "park",
                                         "unknown"}[static_cast<std::size_t>(how)];
}
constexpr std::string_view name_of(fairness how) {
  return std::array<std::string_view, 3>{"none", "bounded_bypass",
                                         "fifo"}[static_cast<std::size_t>(how)];
}

ordered_json record(const job& of, std::string_view status, const ordered_json& reason,
                    const outcome& found) {
  return {{"schema", schema_version},
          {"study", of.study},
          {"lock", of.lock.empty() ? ordered_json(nullptr) : ordered_json(of.lock)},
          {"conditions", of.conditions},
          {"block", of.block},
          {"run", of.run},
          {"status", status},
          {"reason", reason},
          {"clock",
           {{"source", name_of(of.clock)},
            {"ns_per_tick", clock::ns_per_tick()},
            {"read_ns", clock::read_ns()},
            {"early_read_ns", clock::early_read_ns()}}},
          {"values", found.values},
          {"histograms", found.histograms},
          {"stalls", found.stalls},
          {"checks", found.checks},
          {"environment", of.environment}};
}

/// The facts that only the type of a lock has; null for a pool, and where the library is missing.
struct facts_of_type {
  ordered_json size_bytes = nullptr;
  ordered_json zero_is_free = nullptr;  ///< whether all zero bytes are the free state
};

template <class Lock>
facts_of_type facts_of() {
  if constexpr (peers::is_built<Lock>) {
    alignas(Lock) std::array<std::byte, sizeof(Lock)> bytes{};
    // Padding, which no constructor writes, must stay zero: the compiler may not drop the zeros.
    asm volatile("" : : "r"(bytes.data()) : "memory");
    auto* const lock = std::construct_at(reinterpret_cast<Lock*>(bytes.data()));
    asm volatile("" : : "r"(bytes.data()) : "memory");
    const bool zero =
        std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{}; });
    std::destroy_at(lock);
    return {.size_bytes = sizeof(Lock), .zero_is_free = zero};
  }
  return {};
}

/// Describes a lock, or a worker pool.
ordered_json describe(const lock_traits& traits, const facts_of_type& facts) {
  return {{"name", traits.name},
          {"seed_name", traits.seed_name},
          {"kind", name_of(traits.kind)},
          {"family", name_of(traits.family)},
          {"waiting", name_of(traits.waiting)},
          {"fairness", name_of(traits.fairness)},
          {"size_bytes", facts.size_bytes},
          {"zero_is_free", facts.zero_is_free},
          {"timed", traits.timed},
          {"shared", traits.shared},
          {"recursive", traits.recursive},
          {"recovering", traits.recovering},
          {"excludes", traits.excludes},
          {"origin", traits.origin}};
}

constexpr std::string_view name_of(subjects what) {
  return std::array<std::string_view, 6>{
      "locks", "shared_locks", "some_locks", "ways", "pools", "machine"}[static_cast<std::size_t>(
      what)];
}
constexpr std::string_view name_of(times which) {
  return std::array<std::string_view, 4>{"none", "gap", "hold",
                                         "hold_and_gap"}[static_cast<std::size_t>(which)];
}
constexpr std::string_view name_of(parameter_type type) {
  return std::array<std::string_view, 3>{"number", "count",
                                         "choice"}[static_cast<std::size_t>(type)];
}

ordered_json describe_pools(const study& of) {
  auto pools = ordered_json::array();
  for (const cell& each : of.cells) {
    if (of.measures == subjects::pools) pools.push_back(describe(each.traits, {}));
  }
  return pools;
}

ordered_json describe_presets(const listed_choice& of) {
  auto presets = ordered_json::object();
  for (const preset& each : of.presets) {
    presets[std::string{each.parameter}] = std::vector(each.values.begin(), each.values.end());
  }
  return presets;
}

ordered_json describe_choices(const listed_parameter& of, const study& in) {
  const auto of_study = [](double own, double otherwise) { return own != 0 ? own : otherwise; };
  auto choices = ordered_json::array();
  for (const listed_choice& each : of.choices) {
    choices.push_back({{"name", each.name},
                       {"group", each.group},
                       {"threads", each.threads},
                       {"default_run_s", of_study(each.default_run_s, in.default_run_s)},
                       {"default_budget_s", of_study(each.default_budget_s, in.default_budget_s)},
                       {"presets", describe_presets(each)}});
  }
  return choices;
}

ordered_json describe_parameters(const study& of) {
  auto parameters = ordered_json::array();
  for (const listed_parameter& each : of.parameters) {
    parameters.push_back({{"name", each.name},
                          {"type", name_of(each.type)},
                          {"unit", each.unit},
                          {"summary", each.summary},
                          {"least", each.least},
                          {"most", each.most},
                          {"defaults", each.defaults},
                          {"choices", describe_choices(each, of)},
                          {"below_threads", each.below_threads}});
  }
  return parameters;
}

ordered_json describe(const std::vector<policy>& all) {
  auto policies = ordered_json::array();
  for (const policy each : all) policies.push_back(name_of(each));
  return policies;
}

/// Returns the locks of the catalogue that the study measures; empty if it measures all or none.
ordered_json describe_only_locks(const study& of) {
  auto locks = ordered_json::array();
  for (const cell& each : of.cells) {
    if (of.measures == subjects::some_locks) locks.push_back(each.lock);
  }
  return locks;
}

/// Returns, by name, the source and the compiler of each user lock.
ordered_json describe_own_sources() {
  auto sources = ordered_json::object();
  for (const user_lock& each : adopted_locks()) {
    sources[std::string{each.traits.name}] = {{"header", each.source.header},
                                              {"sha256", each.source.sha256},
                                              {"compiler", each.source.compiler},
                                              {"flags", each.source.flags}};
  }
  return sources;
}

ordered_json describe_clock() {
  const bool invariant = detail::arch::cycle_counter_is_invariant();
  clock::calibrate(clock_source::tsc);
  const double tsc_read_ns = clock::read_ns();
  const double tsc_ns_per_tick = clock::ns_per_tick();
  const clock_skew skew = measure_skew();
  clock::calibrate(clock_source::monotonic_raw);
  const auto refused = refusal_of(invariant, skew);
  const auto source = refused ? clock::source() : clock_source::tsc;
  return {{"source", name_of(source)},
          {"ns_per_tick", source == clock_source::tsc ? tsc_ns_per_tick : clock::ns_per_tick()},
          {"tsc_refused", refused ? ordered_json(name_of(*refused)) : ordered_json(nullptr)},
          {"tsc_invariant", invariant},
          {"tsc_hz", 1e9 / tsc_ns_per_tick},
          {"tsc_read_ns", tsc_read_ns},
          {"monotonic_raw_read_ns", clock::read_ns()},
          {"skew_ns", skew.offset_ns},
          {"skew_uncertainty_ns", skew.uncertainty_ns},
          {"skew_pairs", skew.pairs},
          {"skew_pairs_apart", skew.apart},
          {"skew_pairs_wide", skew.wide},
          {"skew_pairs_wanted", skew.wanted},
          {"skew_attempts", skew.attempts},
          {"skew_limit_ns", widest_skew_ns}};
}

}  // namespace

ordered_json record_of(const job& of, const outcome& found) {
  return record(of, "ok", nullptr, found);
}

ordered_json unavailable_record(const job& of, const std::string& reason) {
  return record(of, "unavailable", reason, {});
}

ordered_json describe_catalog() {
  auto locks = ordered_json::array();
  catalogued::for_each_lock([&locks]<class Lock>(const catalog_entry<Lock>& entry) {
    locks.push_back(describe(entry.traits, facts_of<Lock>()));
  });
  for (const user_lock& each : adopted_locks()) {
    locks.push_back(describe(each.traits, {.size_bytes = each.size_bytes}));
  }
  auto libraries = ordered_json::array();
  for (const peers::library& each : peers::libraries) {
    const bool found = !each.version.empty();
    libraries.push_back(
        {{"name", each.name},
         {"version", found ? ordered_json(each.version) : ordered_json(nullptr)},
         {"missing", found ? ordered_json(nullptr) : ordered_json(peers::why_missing(each))}});
  }
  auto studies = ordered_json::array();
  for (const study& each : all_studies()) {
    auto ways = ordered_json::array();
    for (const cell& one : each.cells) {
      if (each.measures == subjects::ways) ways.push_back(one.lock);
    }
    studies.push_back({{"name", each.name},
                       {"preset_of", each.preset_of},
                       {"summary", each.summary},
                       {"default_run_s", each.default_run_s},
                       {"default_budget_s", each.default_budget_s},
                       {"measures", name_of(each.measures)},
                       {"takes", name_of(each.takes)},
                       {"threads", each.threads},
                       {"parameters", describe_parameters(each)},
                       {"default_gap_ns", each.default_gap_ns},
                       {"published_loops", each.published_loops},
                       {"published_runs", each.published_runs},
                       {"clock_reads", each.clock_reads},
                       {"scheduled", each.scheduled},
                       {"default_locks", each.default_locks},
                       {"default_policies", describe(each.default_policies)},
                       {"only_policies", describe(each.only_policies)},
                       {"keeps_traces", each.keeps_traces},
                       {"ways", std::move(ways)},
                       {"pools", describe_pools(each)},
                       {"only_locks", describe_only_locks(each)}});
  }
  return {{"schema", schema_version},
          {"version", LOCKYARD_VERSION},
          {"locks", std::move(locks)},
          {"libraries", std::move(libraries)},
          {"studies", std::move(studies)}};
}

ordered_json describe_environment() {
  auto libraries = ordered_json::object();
  for (const peers::library& each : peers::libraries) {
    if (!each.version.empty()) libraries[std::string{each.name}] = each.version;
  }
  return {{"compiler", LOCKYARD_COMPILER},     {"compiler_flags", LOCKYARD_COMPILER_FLAGS},
          {"libraries", std::move(libraries)}, {"own_locks", describe_own_sources()},
          {"clock", describe_clock()},         {"default_slice_ns", default_slice_ns()},
          {"topology", describe_topology()}};
}

}  // namespace lockyard::harness
