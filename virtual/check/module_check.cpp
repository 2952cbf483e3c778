// SPDX-License-Identifier: Apache-2.0

// lockyard-check-module MODULE [SECONDS]: checks the locks, clients or programs of a module that
// the CMake function lockyard_add_check() has built. Exit status: 0 passed, 1 a fault was found, 2
// the module cannot be checked, 3 the time limit came first.

#include <plain/crash.hpp>
#include <plain/program.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace lockyard;

enum status : int { passed = 0, failed = 1, refused = 2, unfinished = 3 };

/// The client sizes of `lockyard check --lock`; a client has its own.
std::vector<model::client_size> sizes_of(const plain::entry& of) {
  if (of.lock == nullptr) return {{.threads = of.threads}};
  if (of.lock_shared != nullptr) return {{.threads = 3}};
  std::vector<model::client_size> all{{}, {.acquisitions = 2}, {.threads = 3}, {.destroys = true}};
  if (of.try_lock != nullptr) all.push_back({.tries = true});
  if (of.try_lock_for != nullptr) all.push_back({.timed = true});
  return all;
}

std::string words_of(const model::client_size& size) {
  return std::to_string(size.threads) + "x" + std::to_string(size.acquisitions) +
         (size.tries ? " try_lock" : "") + (size.timed ? " timed" : "") +
         (size.destroys ? " destroyed" : "");
}

status check(const plain::entry& of, const model::client_size& size, double seconds) {
  const model::plan by{.how = {.finishing = 8000, .wakes_any = true},
                       .samples = true,
                       .workers = 1,
                       .seconds = seconds};
  const model::client_maker make = plain::clients_of(of, size);
  const model::found found = plain::searched([&] { return model::explore(make, by); });
  std::cout << of.name << ' ' << words_of(size) << ": ";
  if (found.result != model::verdict::passed) {
    std::cout << model::name_of(found.result) << ": " << found.what << '\n'
              << model::to_text(found.steps);
    return failed;
  }
  if (!found.left_out.empty()) {
    std::cout
        << "inconclusive: " << found.left_out << " after " << found.executions
        << " executions; give lockyard_add_check() more SECONDS, or make the client smaller\n";
    return unfinished;
  }
  std::cout << "passed, " << (found.bounded.empty() ? "exhaustive" : "bounded: " + found.bounded)
            << ", " << found.executions << " executions\n";
  return passed;
}

}  // namespace

int main(int count, char** words) {
  double seconds = 0;
  if (count == 3) {
    const std::string_view text{words[2]};
    const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || seconds < 0) count = 0;
  }
  if (count != 2 && count != 3) {
    std::cerr << "usage: lockyard-check-module MODULE [SECONDS]\n";
    return refused;
  }
  plain::report_crashes([](const char* reason) {
    std::fprintf(stderr, "%s\n", reason);
    std::_Exit(refused);
  });
  try {
    status worst = passed;
    for (const plain::entry& each : plain::load_module(words[1])) {
      for (const model::client_size& size : sizes_of(each)) {
        const status found = check(each, size, seconds);
        if (found == failed) return failed;
        if (found != passed) worst = found;
      }
    }
    return worst;
  } catch (const std::exception& error) {
    std::cerr << words[1] << ": " << error.what() << '\n';
    return refused;
  }
}
