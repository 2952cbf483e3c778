// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include "module.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lockyard::simulation {

namespace {

template <class List>
const auto& named(const List& list, const std::string& name, const char* what) {
  const auto found =
      std::ranges::find_if(list, [&name](const auto& each) { return each.name == name; });
  if (found == std::ranges::end(list)) {
    throw std::invalid_argument{"no " + std::string{what} + " is named " + name};
  }
  return *found;
}

double non_negative(const json& of, const std::string& name) {
  const auto value = of.get<double>();
  if (!std::isfinite(value) || value < 0) {
    throw std::invalid_argument{name + " is " + of.dump() + ", and must not be negative"};
  }
  return value;
}

ps length(const json& job, const char* name) {
  const auto found = job.find(name);
  return found == job.end() ? 0 : to_ps(non_negative(*found, name));
}

costs costs_of(const json& given) {
  costs read;
  for (const auto& each : cost_declarations()) {
    const auto found = given.find(std::string{each.name});
    if (found == given.end()) {
      throw std::invalid_argument{"the machine has no " + std::string{each.name}};
    }
    read.*each.value = non_negative(*found, std::string{each.name});
  }
  for (const auto& [key, value] : given.items()) named(cost_declarations(), key, "cost");
  const std::array hops{read.hit_ns, read.hop_core_ns, read.hop_cache_ns, read.hop_socket_ns,
                        read.hop_remote_ns};
  if (!std::ranges::is_sorted(hops)) {
    throw std::invalid_argument{
        "hit_ns, hop_core_ns, hop_cache_ns, hop_socket_ns and "
        "hop_remote_ns must not decrease in this order"};
  }
  if (read.idle_exit_ns > read.deep_idle_exit_ns) {
    throw std::invalid_argument{"deep_idle_exit_ns must not be less than idle_exit_ns"};
  }
  return read;
}

topology topology_of(const json& given) {
  topology read{.processors = given.at("processors").get<int>(),
                .threads_per_core = given.at("threads_per_core").get<int>(),
                .cores_per_cache = given.at("cores_per_cache").get<int>(),
                .cores_per_socket = given.at("cores_per_socket").get<int>(),
                .siblings_last = given.value("siblings_last", false),
                .halted_looks_preempted = given.value("halted_looks_preempted", false)};
  if (read.processors < 1 || read.processors > max_processors) {
    throw std::invalid_argument{"a machine has 1 to " + std::to_string(max_processors) +
                                " processors"};
  }
  if (read.threads_per_core != 1 && read.threads_per_core != 2) {
    throw std::invalid_argument{"a core has 1 or 2 threads"};
  }
  if (read.processors % read.threads_per_core != 0 || read.cores_per_cache < 1 ||
      read.cores_per_socket < read.cores_per_cache) {
    throw std::invalid_argument{
        "threads_per_core, cores_per_cache, cores_per_socket and "
        "processors do not fit together"};
  }
  return read;
}

background background_of(const json& given) {
  if (given.is_null()) return {};
  background read{.threads = given.at("threads").get<int>(),
                  .groups = given.at("groups").get<int>(),
                  .bursts_per_s = non_negative(given.at("bursts_per_s"), "bursts_per_s"),
                  .least_us = non_negative(given.at("least_us"), "least_us"),
                  .most_us = non_negative(given.at("most_us"), "most_us"),
                  .shape = non_negative(given.at("shape"), "shape")};
  if (read.threads < 0 || read.threads > 128 || read.groups < 1 || read.groups > 15) {
    throw std::invalid_argument{"a background has at most 128 threads, in 1 to 15 groups"};
  }
  if (read.threads > 0 && (read.bursts_per_s <= 0 || read.least_us <= 0 ||
                           read.least_us > read.most_us || read.shape <= 0)) {
    throw std::invalid_argument{
        "a background with threads has bursts_per_s, least_us and shape "
        "above 0, and most_us no less than least_us"};
  }
  return read;
}

gaps gaps_of(const json& given) {
  if (given.is_null()) return {};
  gaps read{.every_ns = non_negative(given.at("every_ns"), "every_ns"),
            .least_ns = non_negative(given.at("least_ns"), "least_ns"),
            .most_ns = non_negative(given.at("most_ns"), "most_ns")};
  if (read.every_ns > 0 && (read.least_ns <= 0 || read.least_ns > read.most_ns)) {
    throw std::invalid_argument{"gaps have least_ns above 0, and most_ns no less than least_ns"};
  }
  double seen = 0;
  for (const json& each : given.value("measured", json::array())) {
    seen += non_negative(each.at(1), "the count of a measured gap");
    read.measured.push_back({.ns = non_negative(each.at(0), "a measured gap"), .share = seen});
  }
  for (auto& each : read.measured) each.share /= seen;
  return read;
}

parameter_values parameters_of(const json& given, const scheduler_declaration& of) {
  parameter_values values;
  for (const auto& each : of.parameters) values[std::string{each.name}] = each.usual;
  if (!given.is_object()) return values;
  for (const auto& [key, value] : given.items()) {
    named(of.parameters, key, "parameter of the scheduler");
    values[key] = non_negative(value, key);
  }
  return values;
}

study_settings settings_of(const json& job) {
  study_settings read{.threads = job.at("threads").get<int>(),
                      .pinned = job.value("pinned", false),
                      .hold = length(job, "hold_ns"),
                      .gap = length(job, "gap_ns"),
                      .exponential = job.value("lengths", "constant") == "exponential",
                      .loops = job.value("loops", 0),
                      .runs = job.value("runs", 1),
                      .workload = job.value("workload", "lock1"),
                      .hog_share = job.value("hog_share", 0.5),
                      .burst = job.value("burst", 8)};
  if (job.contains("interval_ns")) read.interval = length(job, "interval_ns");
  if (job.contains("duration_ns")) read.duration = length(job, "duration_ns");
  if (job.contains("warm_up_ns")) read.warm_up = length(job, "warm_up_ns");
  if (read.threads < 1 || read.threads > max_processors) {
    throw std::invalid_argument{"a study has 1 to " + std::to_string(max_processors) + " threads"};
  }
  if (!(read.hog_share >= 0 && read.hog_share < 1) || read.interval <= 0 || read.burst < 1) {
    throw std::invalid_argument{
        "hog_share is from 0 to less than 1, interval_ns above 0, and burst at least 1"};
  }
  if (read.loops < 0 || read.runs < 1) throw std::invalid_argument{"loops or runs is too small"};
  if (read.warm_up >= read.duration) {
    throw std::invalid_argument{"warm_up_ns must be less than duration_ns"};
  }
  return read;
}

std::span<const subject> subjects_of(const study_declaration& study, const std::string& module) {
  if (study.measures_pools) return pool_subjects();
  return module.empty() ? catalogue_subjects() : subjects_of_module(module);
}

/// Looks for the job's lock in its module, or in the catalogue if the job names no module; or for
/// its pool.
const subject& lock_of(const json& job, const study_declaration& study) {
  const auto lock = job.at("lock").get<std::string>();
  for (const subject& each : subjects_of(study, job.value("module", ""))) {
    if (each.traits.name == lock) return each;
  }
  throw std::invalid_argument{"no lock is named " + lock};
}

json to_json(const counters& of) {
  return {{"events", of.events},
          {"context_switches", of.context_switches},
          {"preemptions", of.preemptions},
          {"migrations", of.migrations},
          {"yields", of.yields},
          {"sleeps", of.sleeps},
          {"wakes", of.wakes},
          {"transfers_ns", in_ns(of.transfers)},
          {"line_queues_ns", in_ns(of.line_queues)},
          {"wake_latency_ns", in_ns(of.wake_latency)},
          {"owner_off_ns", in_ns(of.owner_off)}};
}

}  // namespace

cell cell_of(const json& job) {
  const json& machine = job.at("machine");
  const auto optional = [&job](const char* key) { return job.value(key, json(nullptr)); };
  cell read{.shape = topology_of(machine.at("topology")),
            .cost = costs_of(machine.at("costs")),
            .stops = gaps_of(optional("gaps")),
            .others = background_of(optional("background")),
            .parameters = {},
            .settings = settings_of(job),
            .seed = job.value("seed", std::uint64_t{1}),
            .trace_file = job.value("trace", "")};
  read.study = &named(study_declarations(), job.at("study").get<std::string>(), "study");
  read.lock = &lock_of(job, *read.study);
  read.scheduler =
      &named(scheduler_declarations(), job.at("scheduler").get<std::string>(), "scheduler");
  read.parameters = parameters_of(optional("parameters"), *read.scheduler);
  return read;
}

json to_json(const outcome& of) {
  json values;
  for (const auto& [name, value] : of.values) values[std::string{name}] = value;
  return {{"values", std::move(values)},
          {"counted", to_json(of.counted)},
          {"virtual_ns", in_ns(of.virtual_time)}};
}

json list_all() {
  json all;
  for (const auto& each : study_declarations()) {
    all["studies"].push_back({{"name", each.name},
                              {"summary", each.summary},
                              {"measures_pools", each.measures_pools},
                              {"threads", each.usual.threads},
                              {"duration_ns", in_ns(each.usual.duration)},
                              {"hold_ns", in_ns(each.usual.hold)},
                              {"gap_ns", in_ns(each.usual.gap)}});
  }
  for (const subject& each : pool_subjects()) all["pools"].push_back(each.traits.name);
  for (const subject& each : catalogue_subjects()) {
    all["locks"].push_back({{"name", each.traits.name}, {"seed_name", each.traits.seed_name}});
  }
  for (const auto& each : scheduler_declarations()) {
    json parameters = json::array();
    for (const auto& one : each.parameters) {
      parameters.push_back({{"name", one.name}, {"usual", one.usual}, {"meaning", one.meaning}});
    }
    all["schedulers"].push_back({{"name", each.name},
                                 {"summary", each.summary},
                                 {"source", each.source},
                                 {"parameters", std::move(parameters)}});
  }
  for (const auto& each : cost_declarations()) {
    all["costs"].push_back({{"name", each.name}, {"meaning", each.meaning}});
  }
  for (const std::string_view each : workload_names()) all["workloads"].push_back(each);
  all["most_threads"] = max_processors;
  return all;
}

}  // namespace lockyard::simulation
