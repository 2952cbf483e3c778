// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include "sleepers.hpp"
#include "studies/studies.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <utility>
#include <vector>

namespace lockyard::harness {

namespace {

using json = nlohmann::ordered_json;

constexpr double max_ns_per_tick = 1e6;

/// A value with its path, so that every error names its place.
class node {
 public:
  node(const json& value, std::string pointer) : value_{value}, pointer_{std::move(pointer)} {}

  [[noreturn]] void fail(std::string_view message) const { throw job_error{pointer_, message}; }

  [[nodiscard]] node at(const char* key) const {
    if (!value_.is_object()) fail("must be an object");
    const auto found = value_.find(key);
    if (found == value_.end()) node{value_, pointer_ + "/" + key}.fail("is missing");
    return {*found, pointer_ + "/" + key};
  }
  /// Returns an element of a list.
  [[nodiscard]] node operator[](std::size_t place) const {
    return {value_[place], pointer_ + "/" + std::to_string(place)};
  }
  [[nodiscard]] bool has(const char* key) const {
    return value_.is_object() && value_.contains(key) && !value_.at(key).is_null();
  }
  [[nodiscard]] bool is_null() const { return value_.is_null(); }

  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) fail("must be a string");
    return value_.get<std::string>();
  }
  [[nodiscard]] bool boolean() const {
    if (!value_.is_boolean()) fail("must be true or false");
    return value_.get<bool>();
  }
  [[nodiscard]] std::uint64_t integer(
      std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    if (!value_.is_number_unsigned() || value_.get<std::uint64_t>() < least ||
        value_.get<std::uint64_t>() > most) {
      fail("must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value_.get<std::uint64_t>();
  }
  [[nodiscard]] int signed_integer(int least, int most) const {
    if (!value_.is_number_integer() || value_.get<std::int64_t>() < least ||
        value_.get<std::int64_t>() > most) {
      fail("must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value_.get<int>();
  }
  [[nodiscard]] double positive(double most) const {
    if (!value_.is_number() || !(value_.get<double>() > 0) || value_.get<double>() > most) {
      fail("must be a number above 0 and at most " + std::to_string(most));
    }
    return value_.get<double>();
  }
  [[nodiscard]] double from_nothing_to(double most) const {
    if (!value_.is_number() || !(value_.get<double>() >= 0) || value_.get<double>() > most) {
      fail("must be a number from 0 to " + std::to_string(most));
    }
    return value_.get<double>();
  }
  [[nodiscard]] double within(double least, double most) const {
    if (!value_.is_number() || !(value_.get<double>() >= least && value_.get<double>() <= most)) {
      fail("must be a number from " + json(least).dump() + " to " + json(most).dump());
    }
    return value_.get<double>();
  }
  [[nodiscard]] std::vector<int> processors() const {
    std::vector<int> cpus;
    for (std::size_t i = 0; i < value_.size(); ++i) {
      cpus.push_back(static_cast<int>((*this)[i].integer(0, std::numeric_limits<int>::max())));
    }
    if (cpus.empty()) fail("must name at least one processor");
    return cpus;
  }
  [[nodiscard]] const json& value() const { return value_; }

 private:
  const json& value_;
  std::string pointer_;
};

pin_request pin_of(const node& pin) {
  if (pin.value().is_array()) return pin.processors();
  const std::string name = pin.text();
  if (name == "none") return pinning::none;
  if (name == "compact") return pinning::compact;
  if (name == "spread") return pinning::spread;
  pin.fail("must be none, compact, spread, or a list of processors");
}

run_bound bound_of(const node& conditions) {
  run_bound result{.loops = std::nullopt,
                   .duration_s = conditions.at("duration_s").positive(max_run_s)};
  if (const node loops = conditions.at("loops"); !loops.is_null()) result.loops = loops.integer(1);
  return result;
}

policy policy_of(const node& name) {
  for (const policy known : all_policies) {
    if (name.text() == name_of(known)) return known;
  }
  name.fail("must be other, batch, idle, fifo, rr or deadline");
}

schedule schedule_of(const node& conditions) {
  schedule result{.of = policy_of(conditions.at("policy")),
                  .priority = static_cast<unsigned>(conditions.at("priority").integer(0, 99)),
                  .nice = conditions.at("nice").signed_integer(-20, 19)};
  if (const node slice = conditions.at("slice_ns"); !slice.is_null()) {
    result.slice_ns = slice.integer(1);
  }
  if (const node deadline = conditions.at("deadline"); !deadline.is_null()) {
    result.runtime_ns = deadline.at("runtime_ns").integer(1);
    result.deadline_ns = deadline.at("deadline_ns").integer(1);
    result.period_ns = deadline.at("period_ns").integer(1);
  }
  return result;
}

surroundings_request surroundings_of(const node& root, const node& conditions) {
  surroundings_request result{
      .load = static_cast<unsigned>(conditions.at("load").integer(0, max_threads)),
      .load_nice = conditions.at("load_nice").signed_integer(-20, 19),
      .timer_slack_ns = std::nullopt,
      .cgroup = std::nullopt,
      .limit_s = conditions.at("duration_s").positive(max_run_s)};
  if (const node slack = conditions.at("timer_slack_ns"); !slack.is_null()) {
    result.timer_slack_ns = slack.integer(1);
  }
  if (const node cgroup = root.at("cgroup"); !cgroup.is_null()) result.cgroup = cgroup.text();
  return result;
}

lengths lengths_of(const node& kind) {
  for (const lengths known : all_lengths) {
    if (kind.text() == name_of(known)) return known;
  }
  kind.fail("must be constant, exponential, bimodal or recorded");
}

/// Returns the recorded pairs of gap and hold.
std::vector<recorded_turn> recording_of(const node& pairs) {
  std::vector<recorded_turn> found;
  for (std::size_t i = 0; i < pairs.value().size(); ++i) {
    const node pair = pairs[i];
    if (pair.value().size() != 2) pair.fail("must be a gap and a hold");
    found.push_back({.gap_ns = pair[0].from_nothing_to(max_work_ns),
                     .hold_ns = pair[1].from_nothing_to(max_work_ns)});
  }
  if (found.empty() || found.size() > max_recorded_turns) {
    pairs.fail("must be from 1 to " + std::to_string(max_recorded_turns) + " pairs");
  }
  return found;
}

work_request work_of(const node& root, const node& conditions) {
  work_request result{.hold_ns = conditions.at("hold_ns").from_nothing_to(max_work_ns),
                      .gap_ns = conditions.at("gap_ns").from_nothing_to(max_work_ns),
                      .kind = lengths_of(conditions.at("lengths"))};
  if (result.kind == lengths::recorded) result.recording = recording_of(root.at("recorded"));
  return result;
}

unsigned sleepers_of(const node& count) {
  return count.is_null() ? 0 : static_cast<unsigned>(count.integer(1, max_sleepers));
}

/// Returns null if the study has no readers.
std::optional<unsigned> writers_of(const node& count, unsigned threads) {
  if (count.is_null()) return std::nullopt;
  return static_cast<unsigned>(count.integer(0, threads - 1));
}

unsigned burst_of(const node& count) {
  return count.is_null() ? 0 : static_cast<unsigned>(count.integer(1, max_burst));
}

/// Returns an empty string if the study has no workloads.
std::string workload_of(const node& name) {
  return name.is_null() ? "" : name.text();
}

/// Returns every parameter of the study; others are refused.
std::map<std::string, double> parameters_of(const study& of, const node& given) {
  std::map<std::string, double> found;
  for (const listed_parameter& each : of.parameters) {
    const std::string name{each.name};
    found[name] = given.at(name.c_str()).within(each.least, each.most);
  }
  if (!given.value().is_object()) given.fail("must be an object");
  for (const auto& [name, value] : given.value().items()) {
    if (!found.contains(name)) given.at(name.c_str()).fail("is not a parameter of this study");
  }
  return found;
}

/// Returns the trace file, for studies that write traces.
std::optional<std::string> trace_of(const node& root) {
  if (!root.has("trace")) return std::nullopt;
  return root.at("trace").text();
}

clock_source clock_of(const node& source) {
  const std::string name = source.text();
  for (const auto known : {clock_source::tsc, clock_source::monotonic_raw}) {
    if (name == name_of(known)) return known;
  }
  source.fail("must be tsc or monotonic_raw");
}

void check_workload(const study& of, const job& found, const node& workload, const node& threads) {
  if (of.workloads.empty()) {
    if (!workload.is_null()) workload.fail("must be null in this study");
    return;
  }
  const auto* const chosen = find_workload(of, found.workload);
  if (chosen == nullptr) workload.fail("is not a workload of this study");
  if (chosen->threads != 0 && chosen->threads != found.threads) {
    threads.fail("must be " + std::to_string(chosen->threads) + " in this workload");
  }
}

json parsed(std::string_view text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    throw job_error{"", "is not a complete JSON document: " + std::string{error.what()}};
  }
}

}  // namespace

job_error::job_error(std::string_view pointer, std::string_view message)
    : std::runtime_error{"job" + std::string{pointer.empty() ? "" : " at "} + std::string{pointer} +
                         ": " + std::string{message}} {}

double job::parameter(std::string_view of_name) const {
  const auto found = parameters.find(std::string{of_name});
  if (found == parameters.end()) {
    throw std::out_of_range{"study " + study + " has no parameter " + std::string{of_name}};
  }
  return found->second;
}

job parse_job(std::string_view text) {
  const json document = parsed(text);
  const node root{document, ""};
  const node schema = root.at("schema");
  if (schema.value() != schema_version) {
    schema.fail("must be " + std::to_string(schema_version) +
                ", the version this harness understands");
  }
  const node conditions = root.at("conditions");
  const node lock = root.at("lock");
  const auto threads = static_cast<unsigned>(conditions.at("threads").integer(1, max_threads));
  const node writers = conditions.at("writers");
  job result{.study = root.at("study").text(),
             .lock = lock.is_null() ? "" : lock.text(),
             .conditions = conditions.value(),
             .threads = threads,
             .pin = pin_of(conditions.at("pinning")),
             .under = schedule_of(conditions),
             .around = surroundings_of(root, conditions),
             .work = work_of(root, conditions),
             .sleepers = sleepers_of(conditions.at("sleepers")),
             .writers = writers_of(writers, threads).value_or(0),
             .workload = workload_of(conditions.at("workload")),
             .burst = burst_of(conditions.at("burst")),
             .parameters = {},
             .bound = bound_of(conditions),
             .as_published = conditions.at("as_published").boolean(),
             .trace = trace_of(root),
             .rehearse = root.at("rehearse").boolean(),
             .block = root.at("block").integer(0),
             .run = root.at("run").integer(0),
             .seed = conditions.at("seed").integer(0),
             .clock = clock_of(root.at("clock").at("source")),
             .ns_per_tick = root.at("clock").at("ns_per_tick").positive(max_ns_per_tick),
             .environment = root.at("environment").text()};
  const study* chosen = find_study(result.study);
  if (chosen == nullptr) root.at("study").fail("is not a study of this harness");
  if (find_cell(*chosen, result.lock) == nullptr) {
    lock.fail(chosen->of_machine ? "must be null in a study of the machine"
              : chosen->of_ways  ? "is not a way to wait of this harness"
                                 : "is not a lock of this harness");
  }
  if (result.trace && !chosen->keeps_traces) {
    root.at("trace").fail("must be null or missing in this study");
  }
  if (chosen->single_threaded && result.threads != 1) {
    conditions.at("threads").fail("must be 1, the number of threads that this study has");
  }
  if (chosen->of_readers == writers.is_null()) {
    writers.fail(chosen->of_readers ? "must be a number of threads in this study"
                                    : "must be null in this study");
  }
  if (chosen->has_pools() != (result.burst != 0)) {
    conditions.at("burst").fail(chosen->has_pools() ? "must be a number of tasks in this study"
                                                    : "must be null in this study");
  }
  check_workload(*chosen, result, conditions.at("workload"), conditions.at("threads"));
  result.parameters = parameters_of(*chosen, conditions.at("parameters"));
  if (chosen->of_ways && result.threads < 2) {
    conditions.at("threads").fail("must be at least 2: a publisher and a waiter");
  }
  if (chosen->of_ways) {
    if (result.work.hold_ns > 0) conditions.at("hold_ns").fail("must be 0 in this study");
    if (result.work.kind != lengths::constant) {
      conditions.at("lengths").fail("must be constant in this study, which has its own");
    }
  } else if (!result.work.is_none() && (!chosen->takes_lengths() || result.as_published)) {
    conditions.at("hold_ns").fail("and /conditions/gap_ns must be 0 in this study");
  }
  if (chosen->scheduled && result.work.gap_ns > 0) {
    conditions.at("gap_ns").fail("must be 0 in this study, whose arrivals are scheduled");
  }
  return result;
}

}  // namespace lockyard::harness
