// SPDX-License-Identifier: Apache-2.0
#include "explorer.hpp"

#include "state_cache.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace lockyard::model {

namespace {

using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

constexpr double default_sampling_s = 10;
constexpr std::uint64_t executions_between_looks = 256;
constexpr std::uint64_t executions_between_offers = 16;

/// Parts of the tree that no worker has begun, and the workers that wait for one.
class work_pile {
 public:
  explicit work_pile(unsigned workers) : busy_{workers} { parts_.emplace_back(); }

  void give(std::vector<choice> part) {
    const std::scoped_lock guard{lock_};
    parts_.push_back(std::move(part));
    changed_.notify_one();
  }

  /// Returns nullopt when all is done, or when the search was called off.
  std::optional<std::vector<choice>> take() {
    std::unique_lock guard{lock_};
    --busy_;
    for (;;) {
      if (off_) return std::nullopt;
      if (!parts_.empty()) {
        ++busy_;
        std::vector<choice> part = std::move(parts_.front());
        parts_.pop_front();
        return part;
      }
      if (busy_ == 0) {
        changed_.notify_all();
        return std::nullopt;
      }
      ++waiting_;
      changed_.wait(guard);
      --waiting_;
    }
  }

  [[nodiscard]] bool is_short() const {
    const std::scoped_lock guard{lock_};
    return waiting_ > parts_.size();
  }

  void call_off() {
    const std::scoped_lock guard{lock_};
    off_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool is_off() const {
    const std::scoped_lock guard{lock_};
    return off_;
  }

 private:
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::vector<choice>> parts_;
  unsigned busy_;
  std::size_t waiting_ = 0;
  bool off_ = false;
};

/// Bounds on preemptions and on old reads count steps in their order, so no order can stand for
/// another one.
bool is_reducible(const plan& by) {
  return by.reduces && by.order == search::exhaustive && !by.how.preemptions && !by.how.old_reads;
}

/// What all workers share.
class search_state {
 public:
  search_state(const client_maker& make, const plan& by, const conflicts* known,
               steady_clock::time_point start)
      : make_{make},
        by_{by},
        conflicts_{known},
        cache_{by.memory_bytes},
        pile_{by.workers},
        start_{start} {}

  found run() {
    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < by_.workers; ++i) workers.emplace_back([this, i] { work(i); });
    work(0);
    workers.clear();
    result_.bounded = to_text(reached_, by_.how);
    result_.seconds = seconds_since(start_);
    return std::move(result_);
  }
  /// The conflicts with which the search has to begin anew; nothing if its result counts.
  [[nodiscard]] const std::optional<conflicts>& learned() const noexcept { return learned_; }

 private:
  void work(unsigned worker) {
    execution runs{by_.how};
    runs.collect_sites(by_.sites);
    runs.reduce_by(conflicts_);
    if (by_.order == search::exhaustive) {
      while (auto part = pile_.take()) explore_part(runs, std::move(*part));
    } else {
      sample(runs, worker);
    }
    const std::scoped_lock guard{lock_};
    reached_ |= runs.caps_reached();
  }

  void explore_part(execution& runs, std::vector<choice> part) {
    choices list;
    list.start_from(std::move(part));
    tally books;
    const auto goes_on = [&](const hash128& prefix) {
      if (merges_ && !cache_.insert(prefix)) return false;
      ++books.states;
      return true;
    };
    bool more = true;
    for (std::uint64_t turn = 1; more; ++turn) {
      const bool whole = runs.run(make_, list, goes_on);
      if (!account(runs, list, whole, books)) return;
      more = list.advance();
      if (turn % executions_between_looks == 0 && !look_around(books)) return;
      if (more && turn % executions_between_offers == 0 && pile_.is_short()) {
        if (auto given = list.split()) pile_.give(std::move(*given));
      }
    }
    look_around(books);
  }

  void sample(execution& runs, unsigned worker) {
    std::minstd_rand random{static_cast<unsigned>(by_.seed * 7919 + worker + 1)};
    unsigned length = 32;
    tally books;
    while (!pile_.is_off()) {
      choices list;
      list.be_random(random());
      priorities order{random, length};
      if (by_.order == search::pct) {
        runs.scheduler = [&](std::span<const thread_index> runnable) {
          return order.pick(runnable);
        };
      }
      const bool whole = runs.run(make_, list, [](const hash128&) { return true; });
      length = std::max(length, runs.steps());
      if (!account(runs, list, whole, books) || !look_around(books)) return;
    }
  }

  /// Probabilistic concurrency testing: the thread of the highest priority runs, and at a few
  /// random steps the running thread falls behind all others.
  class priorities {
   public:
    priorities(std::minstd_rand& random, unsigned length) {
      for (std::size_t i = 0; i < of_.size(); ++i) of_[i] = static_cast<int>(i) + 1;
      std::ranges::shuffle(of_, random);
      for (unsigned& step : changes_) step = static_cast<unsigned>(random() % length);
    }
    unsigned pick(std::span<const thread_index> runnable) {
      unsigned best = highest(runnable);
      if (std::ranges::find(changes_, step_++) != changes_.end()) {
        of_[runnable[best]] = --lowest_;
        best = highest(runnable);
      }
      return best;
    }

   private:
    [[nodiscard]] unsigned highest(std::span<const thread_index> runnable) const {
      unsigned best = 0;
      for (unsigned i = 1; i < runnable.size(); ++i) {
        if (of_[runnable[i]] > of_[runnable[best]]) best = i;
      }
      return best;
    }

    std::array<int, max_threads> of_{};
    std::array<unsigned, 3> changes_{};
    int lowest_ = 0;
    unsigned step_ = 0;
  };

  /// A worker's counts since it last published them.
  struct tally {
    std::uint64_t executions = 0;
    std::uint64_t states = 0;
    std::uint64_t cut = 0;
  };

  /// A thread whose operations come first for long leaves the others no part in an execution that
  /// is not run to its end in all orders.
  static bool is_whole(const execution& runs) {
    const auto reaches = [&](cap which) {
      return runs.caps_reached()[static_cast<std::size_t>(which)];
    };
    return runs.result() != verdict::inconclusive && !reaches(cap::depth) && !reaches(cap::writes);
  }

  /// Records an execution. False if it ends the search.
  bool account(const execution& runs, const choices& list, bool whole, tally& books) {
    ++books.executions;
    if (!whole) ++books.cut;
    const bool is_too_long = !is_whole(runs) && conflicts_ != nullptr &&
                             !conflicts_->has_unordered && !conflicts_->all_may_write;
    if (runs.result() == verdict::passed && !runs.learned() && !is_too_long) return true;
    const std::scoped_lock guard{lock_};
    const bool counts = runs.result() == verdict::passed || runs.result() == verdict::inconclusive;
    if (counts && (runs.learned() || is_too_long)) {
      learned_ = runs.learned() ? runs.learned() : *conflicts_;
      learned_->all_may_write |= is_too_long;
      pile_.call_off();
      return false;
    }
    if (runs.result() == verdict::inconclusive) {
      ++result_.too_deep;
      result_.left_out = runs.what();
      return true;
    }
    if (result_.result == verdict::passed) {
      result_.result = runs.result();
      result_.what = runs.what();
      result_.replay = is_reducible(by_) ? translated(list) : to_text(list.list());
    }
    take_in(books);
    pile_.call_off();
    return false;
  }

  /// A replay does without reduction.
  std::string translated(const choices& list) {
    choices again;
    again.start_from(list.list());
    again.start_translation();
    execution runs{by_.how};
    runs.reduce_by(conflicts_);
    runs.run(make_, again, [](const hash128&) { return true; });
    return to_text(again.translation());
  }

  void take_in(tally& books) {
    result_.executions += books.executions;
    result_.states += books.states;
    result_.cut += books.cut;
    books = {};
  }

  bool look_around(tally& books) {
    const std::scoped_lock guard{lock_};
    take_in(books);
    const char* reason = nullptr;
    if (cache_.full()) reason = "the memory limit was reached";
    const bool samples = by_.order != search::exhaustive;
    const double limit_s = by_.seconds > 0 ? by_.seconds : samples ? default_sampling_s : 0;
    if (limit_s > 0 && seconds_since(start_) > limit_s) {
      reason = samples ? "sampled" : "the time limit was reached";
    }
    const progress now{.executions = result_.executions, .states = result_.states};
    if (by_.on_progress && !by_.on_progress(now)) reason = "stopped";
    if (reason != nullptr) {
      result_.left_out = reason;
      pile_.call_off();
    }
    return reason == nullptr && !pile_.is_off();
  }

  const client_maker& make_;
  const plan& by_;
  const conflicts* conflicts_;
  bool merges_ = by_.uses_cache && (conflicts_ == nullptr || !conflicts_->has_unseen);
  std::optional<conflicts> learned_;
  state_cache cache_;
  work_pile pile_;
  std::mutex lock_;
  found result_;
  cap_set reached_;
  steady_clock::time_point start_;  ///< when the first search began, if this is another
};

/// Code without a world may use other addresses in each execution, and so other words. After so
/// many lessons each thread counts as a writer of each word, and after as many more the search
/// leaves nothing out.
constexpr unsigned most_lessons = 100;

/// Learns from random executions what it can, so that the search need not begin anew so often.
void learn_by_samples(const client_maker& make, const plan& by, conflicts& known) {
  constexpr unsigned most_without_lesson = 100;
  constexpr unsigned most_steps = 200'000;
  execution runs{by.how};
  std::minstd_rand random;
  unsigned steps = 0;
  for (unsigned i = 0; i < most_without_lesson && steps < most_steps; ++i) {
    choices list;
    list.be_random(random());
    runs.reduce_by(&known);
    runs.run(make, list, [](const hash128&) { return true; });
    steps += runs.steps();
    if (runs.learned()) {
      known = *runs.learned();
      i = 0;
    }
    if (runs.result() != verdict::passed || known.has_unordered) return;
  }
}

}  // namespace

found explore(const client_maker& make, const plan& by) {
  const auto start = steady_clock::now();
  std::optional<conflicts> known;
  if (by.order == search::exhaustive) {
    known.emplace(
        conflicts{.has_unordered = !is_reducible(by), .tells_threads_apart = !by.exchanges});
    if (is_reducible(by)) learn_by_samples(make, by, *known);
    if (execution::take_back != nullptr && execution::take_back()) return {};
  }
  found result;
  unsigned lessons = 0;
  for (bool again = true; again;) {
    if (by.on_begin) by.on_begin();
    search_state state{make, by, known ? &*known : nullptr, start};
    result = state.run();
    again = result.result == verdict::passed && state.learned().has_value();
    if (!again) break;
    known = state.learned();
    ++lessons;
    known->all_may_write |= lessons > most_lessons;
    known->has_unordered |= lessons > 2 * most_lessons;
  }
  result.seconds = seconds_since(start);
  if (result.result == verdict::passed) return result;
  const found again = replay(make, by.how, result.replay);
  result.steps = again.steps;
  if (again.result != result.result) {
    result.result = verdict::not_deterministic;
    result.what = "a failure could not be reproduced: " + result.what;
  }
  return result;
}

site_list sites_of(const client_maker& make, plan by) {
  site_list sites;
  by.workers = 1;
  by.sites = &sites;
  explore(make, by);
  return sites;
}

found replay(const client_maker& make, const settings& how, const std::string& text) {
  found result;
  const auto list = from_text(text);
  if (!list) {
    result.result = verdict::not_deterministic;
    result.what = "not a list of choices";
    return result;
  }
  execution runs{how};
  runs.trace_to(&result.steps);
  choices script;
  script.follow(*list);
  runs.run(make, script, [](const hash128&) { return true; });
  result.executions = 1;
  result.result = runs.result();
  result.what = runs.what();
  result.replay = text;
  if (result.result != verdict::not_deterministic && script.used() != list->size()) {
    result.result = verdict::not_deterministic;
    result.what = "the execution makes " + std::to_string(script.used()) +
                  " choices, but the list has " + std::to_string(list->size());
  }
  return result;
}

std::string name_of(verdict which) {
  switch (which) {
    case verdict::passed: return "passed";
    case verdict::race: return "race";
    case verdict::assertion: return "assertion";
    case verdict::hang: return "hang";
    case verdict::lifetime: return "lifetime";
    case verdict::not_deterministic: return "not deterministic";
    case verdict::inconclusive: return "inconclusive";
  }
  return "unknown";
}

std::string to_text(const trace& steps) {
  std::string text;
  for (const trace_line& each : steps) {
    text += "T" + std::to_string(each.thread) + "  ";
    if (each.where.line() != 0) {
      text += file_name(each.where.file_name()) + ":" + std::to_string(each.where.line()) + "  ";
    }
    text += each.text + "\n";
  }
  return text;
}

}  // namespace lockyard::model
