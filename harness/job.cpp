// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include "study.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
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

conditions_request conditions_of(const node& root, const node& conditions) {
  conditions_request result{
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

const listed_choice& choice_of(const listed_parameter& of, const node& name, const node& threads) {
  const std::string given = name.text();
  const auto found = std::ranges::find(of.choices, given, &listed_choice::name);
  if (found == of.choices.end()) name.fail("is not a value of this parameter");
  if (found->threads != 0 && found->threads != threads.value()) {
    threads.fail("must be " + std::to_string(found->threads) + " with " + given);
  }
  return *found;
}

parameter_value value_of(const listed_parameter& of, const node& given, const node& threads) {
  if (of.type == parameter_type::choice) {
    return std::string{choice_of(of, given, threads).name};
  }
  if (of.type == parameter_type::number) return given.within(of.least, of.most);
  const double most = of.below_threads ? threads.value().get<double>() - 1 : of.most;
  return static_cast<double>(given.integer(static_cast<std::uint64_t>(of.least),
                                           static_cast<std::uint64_t>(std::min(most, of.most))));
}

/// Returns every parameter of the study; others are refused. A choice may be left out if it is the
/// default one.
std::map<std::string, parameter_value> parameters_of(const study& of, const node& given,
                                                     const node& threads) {
  std::map<std::string, parameter_value> found;
  for (const listed_parameter& each : of.parameters) {
    const std::string name{each.name};
    const bool is_left_out =
        each.type == parameter_type::choice && !each.defaults.empty() && !given.has(name.c_str());
    if (is_left_out) {
      const auto place = static_cast<std::size_t>(each.defaults.front());
      found[name] = std::string{each.choices.at(place).name};
      continue;
    }
    found[name] = value_of(each, given.at(name.c_str()), threads);
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

/// Refuses hold and gap times that the study does not take.
void check_times(const study& of, const job& found, const node& conditions) {
  const bool own = found.as_published && of.measures != subjects::ways;
  const bool holds = !own && (of.takes == times::hold || of.takes == times::hold_and_gap);
  const bool gaps = !own && (of.takes == times::gap || of.takes == times::hold_and_gap);
  if (found.work.hold_ns > 0 && !holds) conditions.at("hold_ns").fail("must be 0 in this study");
  if (found.work.gap_ns > 0 && !gaps) conditions.at("gap_ns").fail("must be 0 in this study");
  if (found.work.kind != lengths::constant && !holds) {
    conditions.at("lengths").fail("must be constant in this study, which takes no hold times");
  }
}

void check_threads(const study& of, unsigned threads, const node& conditions) {
  if (of.threads != 0 && of.threads != threads) {
    conditions.at("threads").fail("must be " + std::to_string(of.threads) +
                                  ", the number of threads that this study has");
  }
  if (of.measures == subjects::ways && threads < 2) {
    conditions.at("threads").fail("must be at least 2: a publisher and a waiter");
  }
}

void check_subject(const study& of, const node& lock, const std::string& name) {
  if (find_cell(of, name) != nullptr) return;
  lock.fail(of.measures == subjects::machine ? "must be null in a study of the machine"
            : of.measures == subjects::ways  ? "is not a way to wait of this harness"
                                             : "is not a lock of this harness");
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

namespace {

template <class Value>
const Value& parameter_of(const job& of, std::string_view name) {
  const auto found = of.parameters.find(std::string{name});
  if (found == of.parameters.end() || !std::holds_alternative<Value>(found->second)) {
    throw std::out_of_range{"study " + of.study + " has no such parameter " + std::string{name}};
  }
  return std::get<Value>(found->second);
}

}  // namespace

double job::parameter(std::string_view of_name) const {
  return parameter_of<double>(*this, of_name);
}

unsigned job::count(std::string_view of_name) const {
  return static_cast<unsigned>(parameter_of<double>(*this, of_name));
}

std::string_view job::choice(std::string_view of_name) const {
  return parameter_of<std::string>(*this, of_name);
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
  job result{.study = root.at("study").text(),
             .lock = lock.is_null() ? "" : lock.text(),
             .conditions = conditions.value(),
             .threads = threads,
             .pin = pin_of(conditions.at("pinning")),
             .under = schedule_of(conditions),
             .around = conditions_of(root, conditions),
             .work = work_of(root, conditions),
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
  check_subject(*chosen, lock, result.lock);
  if (result.trace && !chosen->keeps_traces) {
    root.at("trace").fail("must be null or missing in this study");
  }
  check_threads(*chosen, threads, conditions);
  result.parameters = parameters_of(*chosen, conditions.at("parameters"), conditions.at("threads"));
  check_times(*chosen, result, conditions);
  return result;
}

}  // namespace lockyard::harness
