// SPDX-License-Identifier: Apache-2.0
#pragma once

// One search, from its beginning to its end or to the execution with which it has to begin anew.

#include "code_graph.hpp"
#include "explorer.hpp"
#include "reduction.hpp"
#include "state_cache.hpp"
#include "work_pile.hpp"
#include "worker_processes.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

namespace lockyard::model {

/// Bounds on preemptions and on old reads count steps in their order, so no order can stand for
/// another one.
bool is_reducible(const plan& by);

double seconds_since(std::chrono::steady_clock::time_point start);

/// Workers are threads. Or, if the client's variables are the process's, they are processes, each
/// with a copy of them. Then the first process alone has the result: the others tell it of each
/// execution that shows something new, and it runs that execution itself.
class search_state {
 public:
  /// `start` is when the first search began, if this is another.
  search_state(const client_maker& make, const plan& by, const conflicts* known,
               std::chrono::steady_clock::time_point start);

  found run();
  /// The conflicts with which the search has to begin anew; nothing if its result counts.
  [[nodiscard]] const std::optional<conflicts>& learned() const noexcept { return learned_; }
  /// Whether a worker process ended before its work, so that there is no result.
  [[nodiscard]] bool is_broken() { return pile_.is_broken(); }

 private:
  void work(unsigned worker);
  void explore_part(execution& runs, std::vector<choice> part);
  void sample(execution& runs, unsigned worker);
  bool run_sample(execution& runs, choices& list, search order, std::minstd_rand& random,
                  unsigned& length);
  void sample_in_between(std::uint64_t executions);

  bool account(const execution& runs, const choices& list, bool whole, tally& counts);
  bool conclude(const execution& runs, const choices& list);
  bool report(const execution& runs, const choices& list);
  [[nodiscard]] bool is_too_long(const execution& runs) const;
  std::string translated(const choices& list);

  [[nodiscard]] bool is_late() const;
  bool look_around(tally& counts);
  void start_processes(std::uint64_t executions);
  void look_at_processes();
  void hear(const news& of);

  const client_maker& make_;
  const plan& by_;
  const conflicts* conflicts_;
  bool merges_;
  std::chrono::steady_clock::time_point start_;

  state_cache cache_;
  code_graph codes_;
  work_pile pile_;

  bool has_processes_ = false;
  bool is_helper_ = false;  ///< a process other than the first
  cap_set reported_caps_;   ///< by this process
  std::size_t reported_facts_ = 0;
  bool has_reported_depth_ = false;
  worker_processes processes_;
  std::mutex sampling_;  ///< held by the thread that samples; guards what follows
  std::uint64_t samples_after_;

  std::mutex lock_;  ///< guards the rest against other threads
  std::optional<conflicts> learned_;
  found result_;
  cap_set reached_;
};

}  // namespace lockyard::model
