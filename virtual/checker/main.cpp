// SPDX-License-Identifier: Apache-2.0

// lockyard-checker [--module FILE]: reads one job per line on stdin; writes progress and a result
// on stdout. With a module (virtual/plain) it checks the module's locks or clients, and no others.

#include "registry.hpp"

#include <plain/crash.hpp>
#include <plain/program.hpp>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// A debugger stops here, before the execution that it shows.
extern "C" void lockyard_replay_begins();
extern "C" [[gnu::noipa]] void lockyard_replay_begins() {}

namespace lockyard::checker {

namespace {

using json = nlohmann::ordered_json;
using model::found;
using model::plan;

constexpr auto progress_every = std::chrono::milliseconds{200};

/// The code of a module may read and print: jobs and records have files of their own, and the
/// program's input and output are empty.
struct channel {
  std::FILE* jobs = take(STDIN_FILENO, "r");
  std::FILE* records = take(STDOUT_FILENO, "w");

  static std::FILE* take(int number, const char* how) {
    std::FILE* const own = fdopen(fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), how);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (own == nullptr || dup2(nothing, number) < 0) std::abort();
    close(nothing);
    return own;
  }
};

channel& caller() {
  static channel only;
  return only;
}

void print(const json& document) {
  const std::string line = document.dump() + '\n';
  std::fwrite(line.data(), 1, line.size(), caller().records);
  std::fflush(caller().records);
}

/// For a process that only searches: the first one prints.
void fall_silent() {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, fileno(caller().records)) < 0) std::abort();
  close(nothing);
}

bool read_line(std::string& line) {
  line.clear();
  for (int each = 0; (each = std::getc(caller().jobs)) != '\n';) {
    if (each == EOF) return !line.empty();
    line += static_cast<char>(each);
  }
  return true;
}

/// A client to check; a client of a module has no maker of its own.
struct checked {
  checked_client what;
  std::optional<plain::entry> of_module{};

  [[nodiscard]] unsigned threads(const model::client_size& size) const {
    if (of_module && of_module->program != nullptr) return plain::program_threads::count;
    return of_module && of_module->thread != nullptr ? of_module->threads : size.threads;
  }
  [[nodiscard]] model::client_maker clients(const model::client_size& size) const {
    return of_module ? plain::clients_of(*of_module, size) : what.make(size);
  }
};

/// What the module offers, if there is one; otherwise what the checker knows.
std::vector<checked>& checked_clients() {
  static std::vector<checked> all;
  return all;
}

void load(const std::string& path) {
  for (const plain::entry& each : plain::load_module(path)) {
    const bool has_readers = each.lock_shared != nullptr;
    const bool is_lock = each.lock != nullptr && !has_readers;
    checked_clients().push_back({.what = {.name = each.name,
                                          .of = is_lock ? group::lock : group::client,
                                          .summary = "",
                                          .make = nullptr,
                                          .size = {.threads = is_lock       ? 2
                                                              : has_readers ? 3
                                                                            : each.threads},
                                          .how = {.finishing = 8000, .wakes_any = true},
                                          .offers_try = each.offers_try(),
                                          .offers_timed = each.offers_timed(),
                                          .has_room_for_two = each.has_room_for_two},
                                 .of_module = each});
  }
}

const checked& client_of(const json& job) {
  const auto name = job.at("client").get<std::string>();
  const auto chosen = std::ranges::find(checked_clients(), name,
                                        [](const checked& each) { return each.what.name; });
  if (chosen == checked_clients().end()) throw std::invalid_argument{"no client is named " + name};
  return *chosen;
}

std::memory_order order_of(const std::string& name) {
  for (const auto order :
       {std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release,
        std::memory_order_acq_rel, std::memory_order_seq_cst}) {
    if (model::name_of(order) == name) return order;
  }
  throw std::invalid_argument{"not a memory order: " + name};
}

model::search search_of(const std::string& name) {
  if (name == "exhaustive") return model::search::exhaustive;
  if (name == "pct") return model::search::pct;
  if (name == "random") return model::search::random;
  throw std::invalid_argument{"not a way to search: " + name};
}

json to_json(const model::mutation& of, std::memory_order was) {
  return {{"file", of.where.file},
          {"line", of.where.line},
          {"column", of.where.column},
          {"argument", of.where.argument},
          {"becomes", model::name_of(of.becomes)},
          {"words", model::described(of, was)}};
}

model::mutation mutation_of(const json& text) {
  return {.where = {.file = text.at("file").get<std::string>(),
                    .line = text.at("line").get<unsigned>(),
                    .column = text.at("column").get<unsigned>(),
                    .argument = text.at("argument").get<unsigned>()},
          .becomes = order_of(text.at("becomes").get<std::string>())};
}

model::client_size size_of(const json& job, const model::client_size& usual) {
  const auto threads = job.value("threads", usual.threads);
  // One more thread sets the client up and checks its result.
  if (threads < 1 || threads >= model::max_threads) {
    throw std::invalid_argument{"a client has 1 to " + std::to_string(model::max_threads - 1) +
                                " threads"};
  }
  return {.threads = threads,
          .acquisitions = job.value("acquisitions", usual.acquisitions),
          .tries = job.value("tries", usual.tries),
          .timed = job.value("timed", usual.timed),
          .destroys = job.value("destroys", usual.destroys),
          .lock_has = usual.lock_has};
}

plan plan_of(const json& job, const checked_client& of) {
  plan by{.how = of.settings_in(size_of(job, of.size))};
  if (const auto bound = job.find("preemptions"); bound != job.end() && !bound->is_null()) {
    const int most = bound->get<int>();
    if (most < 0) {
      by.how = model::unbounded(by.how);
    } else {
      by.how.preemptions = static_cast<unsigned>(most);
    }
  }
  if (const auto depth = job.find("depth"); depth != job.end()) {
    by.how.depth = depth->get<unsigned>();
    by.how.finishing = 0;  // an execution that fails later is not wanted, and has another replay
  }
  by.how.spurious_wakes = job.value("spurious_wakes", by.how.spurious_wakes);
  by.how.wakes_any = job.value("wakes_any", by.how.wakes_any);
  by.how.timeouts = job.value("timeouts", by.how.timeouts);
  by.how.short_spins = job.value("short_spins", by.how.short_spins);
  if (const auto old = job.find("old_reads"); old != job.end() && !old->is_null()) {
    by.how.old_reads = old->get<unsigned>();
  }
  by.order = search_of(job.value("search", std::string{"exhaustive"}));
  by.uses_cache = job.value("cache", true);
  by.workers = job.value("workers", 2U);
  by.memory_bytes = job.value("memory_bytes", by.memory_bytes);
  by.seconds = job.value("seconds", 0.0);
  by.seed = job.value("seed", std::uint64_t{1});
  by.on_progress = [last = std::chrono::steady_clock::now()](const model::progress& now) mutable {
    const auto moment = std::chrono::steady_clock::now();
    if (moment - last >= progress_every) {
      last = moment;
      print({{"progress", {{"executions", now.executions}, {"states", now.states}}}});
    }
    return true;
  };
  return by;
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

/// A line of a failing execution; docs/checking.md describes the keys.
json to_json(const model::trace_line& each) {
  json where = nullptr;
  if (each.where.line() != 0) {
    where = model::file_name(each.where.file_name()) + ":" + std::to_string(each.where.line());
  }
  auto others = json::array();
  for (const model::other_message& other : each.others) {
    others.push_back({{"value", other.value}, {"written_by", or_null(other.written_by)}});
  }
  return {{"thread", each.thread},
          {"where", std::move(where)},
          {"text", each.text},
          {"kind", each.kind},
          {"order", each.order},
          {"word", each.word},
          {"read", or_null(each.read)},
          {"written", or_null(each.written)},
          {"reads_from", or_null(each.reads_from)},
          {"could_read", std::move(others)},
          {"after", each.after},
          {"conflicts_with", or_null(each.conflicts_with)}};
}

/// The user's lines that a search has taken as loops that wait.
json spins_found() {
  auto list = json::array();
  for (const auto& [file, line] : plain::known_spins()) {
    list.push_back(model::file_name(file) + ":" + std::to_string(line));
  }
  return list;
}

json to_json(const found& result, const model::settings& how, unsigned threads) {
  auto steps = json::array();
  for (const model::trace_line& each : result.steps) steps.push_back(to_json(each));
  return {{"verdict", model::name_of(result.result)},
          {"what", result.what},
          {"executions", result.executions},
          {"states", result.states},
          {"cut", result.cut},
          {"too_deep", result.too_deep},
          {"left_out", result.left_out},
          {"bounded", result.bounded},
          {"seconds", result.seconds},
          {"preemptions", how.preemptions ? json(*how.preemptions) : json(nullptr)},
          {"threads", threads},
          {"steps", std::move(steps)},
          {"spins", spins_found()},
          {"replay", result.replay}};
}

json list_subjects() {
  auto list = json::array();
  for (const auto& [each, of_module] : checked_clients()) {
    list.push_back({{"name", each.name},
                    {"group", name_of(each.of)},
                    {"summary", each.summary},
                    {"expected", model::name_of(each.expected)},
                    {"threads", each.size.threads},
                    {"acquisitions", each.size.acquisitions},
                    {"tries", each.size.tries},
                    {"timed", each.size.timed},
                    {"destroys", each.size.destroys},
                    {"offers_try", each.offers_try},
                    {"offers_timed", each.offers_timed},
                    {"room_for_two", each.has_room_for_two}});
  }
  return list;
}

/// Lists every weaker order and dropped wake that the executions, one after the other, reach.
json list_mutations(const json& job) {
  const checked& of = client_of(job);
  const model::client_maker make = of.clients(size_of(job, of.what.size));
  const model::site_list sites =
      plain::searched([&] { return model::sites_of(make, plan_of(job, of.what)); });
  auto list = json::array();
  for (const model::site_use& use : sites) {
    for (const model::mutation& each : model::mutations_of({use})) {
      list.push_back(to_json(each, use.order));
    }
  }
  return list;
}

json answer(const json& job) {
  const auto asked = job.at("ask").get<std::string>();
  if (asked == "list") return list_subjects();
  if (asked == "mutations") return list_mutations(job);
  const checked& of = client_of(job);
  const model::client_size size = size_of(job, of.what.size);
  const model::client_maker make = of.clients(size);
  plan by = plan_of(job, of.what);
  by.keeps_snapshots = !of.of_module;
  model::mutation planted{};
  if (const auto fault = job.find("mutation"); fault != job.end() && !fault->is_null()) {
    planted = mutation_of(*fault);
    by.how.planted = &planted;
  }
  if (asked == "replay") {
    const auto text = job.at("replay").get<std::string>();
    found again = plain::searched([&] { return model::replay(make, by.how, text); });
    if (job.value("stops", false)) {
      lockyard_replay_begins();
      again = model::replay(make, by.how, text, &again.shared);
    }
    return to_json(again, by.how, of.threads(size));
  }
  if (asked != "check") throw std::invalid_argument{"cannot " + asked};
  if (of.of_module) {
    by.forks = true;
    by.samples = true;
    by.on_fork = [] { fall_silent(); };
    by.facts = [] { return plain::known_spins().size(); };
  }
  const found result = plain::searched([&] { return model::explore(make, by); });
  return to_json(result, by.how, of.threads(size));
}

/// Writes the record of an error, and ends. Before the first job the text on standard error counts.
void end_with(const char* reason) {
  std::fprintf(stderr, "%s\n", reason);
  std::array<char, 256> record{};
  const int length = std::snprintf(record.data(), record.size(), "{\"error\":\"%s\"}\n", reason);
  static_cast<void>(
      write(fileno(caller().records), record.data(), static_cast<std::size_t>(length)) > 0);
  std::_Exit(1);
}

int serve() {
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (std::string line; read_line(line);) {
    if (line.empty()) continue;
    try {
      print({{"result", answer(json::parse(line))}});
    } catch (const std::exception& error) {
      print({{"error", error.what()}});
    }
  }
  return 0;
}

}  // namespace

}  // namespace lockyard::checker

int main(int count, char** words) {
  lockyard::checker::caller();  // before anything prints
  if (count == 3 && std::string_view{words[1]} == "--module") {
    lockyard::plain::report_crashes(&lockyard::checker::end_with);
    try {
      lockyard::checker::load(words[2]);
    } catch (const std::exception& error) {
      std::cerr << "cannot load the module: " << error.what() << '\n';
      return 1;
    }
  } else {
    for (const auto& each : lockyard::checker::all_clients()) {
      lockyard::checker::checked_clients().push_back({.what = each});
    }
  }
  return lockyard::checker::serve();
}
