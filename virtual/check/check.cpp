// SPDX-License-Identifier: Apache-2.0
#include <lockyard/check.hpp>
#include <lockyard/model/explorer.hpp>

#include <ostream>
#include <stdexcept>
#include <string_view>

namespace lockyard::inline v0::check {

namespace {

/// The explorer's reason when sampling ended as intended.
constexpr std::string_view sampled = "sampled";

std::string between(unsigned least, unsigned most) {
  return std::to_string(least) + " to " + std::to_string(most);
}

model::settings settings_of(const options& how) {
  return {.preemptions = how.preemptions,
          .spurious_wakes = how.spurious_wakes,
          .timeouts = how.early_timeouts,
          .short_spins = how.short_spins,
          .depth = how.depth,
          .asymmetric = how.asymmetric,
          .wakes_any = how.wakes_any};
}

void check_limits(const options& how) {
  if (how.workers == 0) {
    throw std::invalid_argument{"0 workers search nothing: give options::workers at least 1"};
  }
  if (how.depth == 0) {
    throw std::invalid_argument{
        "no execution has a depth of 0: give options::depth the steps "
        "that an execution may take"};
  }
  if (how.early_timeouts > model::most_timeouts) {
    throw std::invalid_argument{
        "the engine cannot tell so many time-outs apart: give "
        "options::early_timeouts at most " +
        std::to_string(model::most_timeouts)};
  }
  if (how.short_spins > model::most_timeouts) {
    throw std::invalid_argument{
        "the engine cannot tell so many spins apart: give options::short_spins at most " +
        std::to_string(model::most_timeouts)};
  }
  if (!(how.seconds >= 0)) {
    throw std::invalid_argument{
        "a negative number of seconds is not a limit: give options::seconds "
        "0 for none"};
  }
}

/// The engine has room for this many threads; a client reports its number only once it is made.
client_maker counted(const client_maker& make) {
  static const std::string claim = "the client has " + between(1, max_threads) + " threads";
  return [make] {
    auto made = make();
    require(made->threads() >= 1 && made->threads() <= max_threads, claim.c_str());
    return made;
  };
}

void write_steps(std::ostream& to, const model::trace& steps) {
  for (const model::trace_line& each : steps) {
    // The engine's last thread makes the client and finishes it.
    if (each.thread < max_threads) {
      to << "  T" << each.thread << "     ";
    } else {
      to << "  client ";
    }
    if (each.where.line() != 0) {
      to << model::file_name(each.where.file_name()) << ':' << each.where.line() << "  ";
    }
    to << each.text << '\n';
  }
}

}  // namespace

bool result::passed() const noexcept {
  return kind() == verdict::passed;
}

verdict result::kind() const noexcept {
  if (found_.result != verdict::passed || found_.left_out.empty()) return found_.result;
  const bool as_asked = how_.order != search::exhaustive && found_.left_out == sampled;
  return as_asked && found_.too_deep == 0 ? verdict::passed : verdict::inconclusive;
}

std::string result::coverage() const {
  if (is_replay_) return "replayed";
  if (how_.order != search::exhaustive) return std::string{sampled};
  std::string bounds;
  if (how_.preemptions) bounds = "preemptions <= " + std::to_string(*how_.preemptions);
  if (found_.bounded.empty()) return bounds.empty() ? "exhaustive" : bounds;
  return "bounded: " + (bounds.empty() ? found_.bounded : bounds + ", " + found_.bounded);
}

const std::string& result::reason() const noexcept {
  static const std::string none;
  const verdict of = kind();
  if (of == verdict::passed) return none;
  return found_.what.empty() ? found_.left_out : found_.what;
}

std::ostream& operator<<(std::ostream& to, const result& of) {
  to << model::name_of(of.kind());
  if (!of.reason().empty()) to << ": " << of.reason();
  const bool failed = of.found_.result != verdict::passed && !of.is_replay_;
  to << "\ncoverage: " << of.coverage() << (failed ? ", ended by the failure after " : ", ")
     << of.executions() << (of.executions() == 1 ? " execution" : " executions");
  if (of.found_.too_deep != 0) to << ", " << of.found_.too_deep << " of them given up";
  to << '\n';
  if (of.passed()) to << "not covered: " << model::not_covered << '\n';
  if (of.found_.steps.empty()) return to;
  to << "interleaving:\n";
  write_steps(to, of.found_.steps);
  return to << "replay: \"" << of.replay_string() << "\"\n";
}

result explore(const client_maker& make, const options& how) {
  check_limits(how);
  return {model::explore(counted(make), {.how = settings_of(how),
                                         .order = how.order,
                                         .samples = true,
                                         .workers = how.workers,
                                         .memory_bytes = how.memory_bytes,
                                         .seconds = how.seconds,
                                         .seed = how.seed}),
          how, false};
}

result replay(const client_maker& make, const std::string& choices, const options& how) {
  check_limits(how);
  return {model::replay(counted(make), settings_of(how), choices), how, true};
}

void detail::check_size(const options& how, bool has_try_lock, bool has_try_lock_for) {
  if (how.threads < 1 || how.threads > max_threads) {
    throw std::invalid_argument{std::to_string(how.threads) +
                                " threads cannot be checked: give "
                                "options::threads " +
                                between(1, max_threads)};
  }
  if (how.acquisitions == 0) {
    throw std::invalid_argument{
        "threads without an acquisition check nothing: give "
        "options::acquisitions at least 1"};
  }
  if (how.tries && !has_try_lock) {
    throw std::invalid_argument{
        "the lock has no try_lock, so no thread can try: leave "
        "options::tries false, or give the lock one"};
  }
  if (how.timed && !has_try_lock_for) {
    throw std::invalid_argument{
        "the lock has no try_lock_for, so no thread can wait with a time-out: leave "
        "options::timed false, or give the lock one"};
  }
  if (how.tries && how.timed) {
    throw std::invalid_argument{
        "the last thread cannot use both try_lock and try_lock_for: give one of options::tries "
        "and options::timed"};
  }
}

}  // namespace lockyard::inline v0::check
