// SPDX-License-Identifier: Apache-2.0

// lockyard-harness: reads one job per line on stdin, writes one record per line on stdout.
//
// Each run has its own process, forked from this one, which never had a second thread: so a lock
// that crashes affects nothing else, and the C library's behaviour in a process without threads can
// be measured at any time. The parent of this process enforces deadlines; if the parent dies, the
// kernel ends the run.

#include "clock.hpp"
#include "conditions.hpp"
#include "injection/stage.hpp"
#include "job.hpp"
#include "record.hpp"
#include "team.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <peers/libraries.hpp>
#include <peers/team_size.hpp>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lockyard::harness {

namespace {

enum exit_status : int {
  done = 0,
  bad_input = 2,
  missing_capability = 3,  // no place to write, or a condition that is unavailable
  run_died = 70,
};

constexpr std::string_view usage =
    "usage: lockyard-harness [--catalog | --environment | --version | --help]\n"
    "\n"
    "Without an option: reads jobs from standard input, one JSON document per line, and writes\n"
    "each record to standard output, one JSON document per line. Ends with its input.\n"
    "\n"
    "  --catalog      the locks and studies of this harness, as JSON\n"
    "  --environment  compiler, clock and topology, as JSON\n"
    "\n"
    "Exit status: 0 done; 2 a job that cannot be run (standard error says where and why);\n"
    "3 records cannot be written; 70 a run crashed (standard error says which and how).\n"
    "\n"
    "The command lockyard writes the jobs and reads the records; this is an example of a job:\n"
    "  {\"schema\":2,\"study\":\"wait\",\"lock\":\"futex_mutex\",\"conditions\":{\"threads\":2,\n"
    "   \"pinning\":\"none\",\"policy\":\"other\",\"priority\":0,\"nice\":0,\"slice_ns\":null,\n"
    "   \"deadline\":null,\"load\":0,\"load_nice\":0,\"timer_slack_ns\":null,\n"
    "   \"hold_ns\":0,\"gap_ns\":0,\"lengths\":\"constant\",\"parameters\":{},\n"
    "   \"loops\":null,\"duration_s\":0.2,\"as_published\":false,\"seed\":1},\n"
    "   "
    "\"rehearse\":false,\"block\":0,\"run\":0,\"clock\":{\"source\":\"tsc\",\"ns_per_tick\":0.4},"
    "\"cgroup\":null,\n"
    "   \"environment\":\"\"}      (on one line)\n"
    "The record repeats all conditions, even those that only the starter of the run arranges.\n";

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      std::fprintf(stderr, "lockyard-harness: the record cannot be written: %s\n",
                   std::strerror(errno));
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int print(const nlohmann::ordered_json& document) {
  return write_all(document.dump() + "\n") ? done : missing_capability;
}

nlohmann::ordered_json measure(const job& of) {
  try {
    enforced_conditions around{of.around};
    if (of.rehearse) {
      run_team(of, {.before = [](unsigned) {},
                    .gathered = [] {},
                    .loop = [](unsigned, loop_limit) { return thread_span{}; }});
      return record_of(of, {});
    }
    const study& chosen = *find_study(of.study);
    const cell& cell = *find_cell(chosen, of.lock);
    if (cell.run == nullptr) {
      return unavailable_record(of, peers::why_missing(*peers::library_of(cell.traits)));
    }
    peers::team_size = of.threads + 1;  // including the thread that starts them
    clock::measure_reads();
    const outcome found = cell.run(of, cell.traits);
    around.check_in_force();
    return record_of(of, found);
  } catch (const condition_error& error) {
    return unavailable_record(of, error.what());
  }
}

[[noreturn]] void run_in_child(const job& of, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(done);  // the parent died before the line above
  int status = run_died;
  try {
    status = print(measure(of));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockyard-harness: the run of %s in %s ended with: %s\n", of.lock.c_str(),
                 of.study.c_str(), error.what());
  }
  _exit(status);
}

int run_job(const std::string& line) {
  const job of = parse_job(line);
  clock::use(of.clock, of.ns_per_tick);
  if (const study& chosen = *find_study(of.study); chosen.prepare != nullptr) chosen.prepare(of);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    std::fprintf(stderr, "lockyard-harness: a run cannot be started: %s\n", std::strerror(errno));
    return run_died;
  }
  if (child == 0) run_in_child(of, parent);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "lockyard-harness: the run of %s in %s was killed by signal %d (%s)\n",
               of.lock.c_str(), of.study.c_str(), WTERMSIG(status), strsignal(WTERMSIG(status)));
  return run_died;
}

int serve() {
  // If the reader of the records goes away, the write fails and says so.
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    if (const int status = run_job(line); status != done) return status;
  }
  return done;
}

/// Returns the value of an option of --inject, which serves tests and is not in the usage.
std::string argument_of(int argc, char** argv, std::string_view name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  throw std::invalid_argument{std::string{name} +
                              " is missing: --inject CLASS --times COUNT --trace FILE"};
}

unsigned count_of(const std::string& text) {
  constexpr unsigned most = 1000;
  unsigned count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count == 0 || count > most) {
    throw std::invalid_argument{"--times " + text + ": must be a number from 1 to " +
                                std::to_string(most)};
  }
  return count;
}

int dispatch(std::string_view option, int argc, char** argv) {
  if (option.empty()) return serve();
  if (option == "--catalog") return print(describe_catalog());
  if (option == "--environment") return print(describe_environment());
  if (option == "--version")
    return write_all("lockyard-harness " LOCKYARD_VERSION "\n") ? done : missing_capability;
  if (option == "--inject") {
    return write_all(inject(argument_of(argc, argv, "--inject"),
                            count_of(argument_of(argc, argv, "--times")),
                            argument_of(argc, argv, "--trace")) +
                     "\n")
               ? done
               : missing_capability;
  }
  if (option == "--help") return write_all(usage) ? done : missing_capability;
  std::fprintf(stderr, "lockyard-harness: unknown option %s\n%s", std::string{option}.c_str(),
               std::string{usage}.c_str());
  return bad_input;
}

}  // namespace

}  // namespace lockyard::harness

int main(int argc, char** argv) {
  try {
    return lockyard::harness::dispatch(argc > 1 ? argv[1] : "", argc, argv);
  } catch (const lockyard::harness::condition_error& error) {
    std::fprintf(stderr, "lockyard-harness: %s\n", error.what());
    return lockyard::harness::missing_capability;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockyard-harness: %s\n", error.what());
    return lockyard::harness::bad_input;
  }
}
