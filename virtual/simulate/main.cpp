// SPDX-License-Identifier: Apache-2.0

// lockyard-simulator: reads one job per line on stdin; writes one result per line on stdout.

#include "job.hpp"

#include <sys/prctl.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

using lockyard::simulation::json;

json answer(const json& job) {
  const auto asked = job.at("ask").get<std::string>();
  if (asked == "list") return lockyard::simulation::list_all();
  if (asked != "simulate") throw std::invalid_argument{"cannot " + asked};
  return lockyard::simulation::to_json(
      lockyard::simulation::simulate(lockyard::simulation::cell_of(job)));
}

}  // namespace

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    json reply;
    try {
      reply["result"] = answer(json::parse(line));
    } catch (const lockyard::simulation::simulation_error& error) {
      reply = {{"failure", error.what()}};
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    std::cout << reply.dump() << '\n' << std::flush;
  }
  return 0;
}
