// SPDX-License-Identifier: Apache-2.0
#pragma once

// A team of threads that start together, and what a run of them adds up to.

#include "clock.hpp"
#include "job.hpp"
#include "spans.hpp"
#include "stalls.hpp"
#include "studies/studies.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace lockyard::harness {

/// How long each thread goes on.
struct loop_limit {
  std::uint64_t operations;  ///< at most
  ticks end;                 ///< at the latest
};

/// What the threads of a team do.
struct team_work {
  std::function<void(unsigned thread)> before;  ///< while the team gathers
  std::function<void()> gathered;  ///< on the starting thread, when all are there and none started
  std::function<thread_span(unsigned thread, loop_limit limit)> loop;  ///< the measured part
};

/// Processor time and context switches of the whole process.
struct process_usage {
  double cpu_s;
  long voluntary_switches;
  long involuntary_switches;

  static process_usage now();
};

/// What happened in a team's run.
struct team_run {
  std::vector<thread_span> spans;
  process_usage used;  ///< between start and end

  [[nodiscard]] ticks start() const { return start_of(spans); }
  [[nodiscard]] std::uint64_t operations() const { return operations_of(spans); }
  /// A part of the run's time, between 0 and 1.
  [[nodiscard]] double share_of(ticks part) const;
  /// The values that every study over a team reports.
  [[nodiscard]] nlohmann::ordered_json values(const job& of) const;
};

/// Runs the work on `of.threads` threads, pinned and bounded as the job says. Throws
/// condition_error if the threads or their places cannot be had; then nothing was measured.
team_run run_team(const job& of, const team_work& work);

/// Pins the calling thread as the given one of a team that is placed so, and puts it under the
/// job's schedule. Throws condition_error.
void take_place(const job& of, const std::vector<int>& cpus, unsigned thread = 0);

/// Keeps a lock and what it protects in cache lines of their own, at a place that the seed chooses
/// within a page, because the place alone can change a figure.
template <class Lock, class Protected>
class arena {
 public:
  explicit arena(std::uint64_t seed)
      : page_{static_cast<std::byte*>(::operator new(page_size * 2, std::align_val_t{page_size}))} {
    static_assert(sizeof(Lock) <= spacing && alignof(Lock) <= spacing);
    constexpr std::size_t places = page_size / spacing;
    std::byte* const place = page_.get() + seed % places * spacing;
    lock_ = ::new (place) Lock;
    protected_ = ::new (place + spacing) Protected;
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() {
    protected_->~Protected();
    lock_->~Lock();
  }

  Lock& lock() noexcept { return *lock_; }
  Protected& data() noexcept { return *protected_; }

 private:
  static constexpr std::size_t page_size = 4096;
  static constexpr std::size_t spacing = detail::arch::interference_size;
  struct page_deleter {
    void operator()(std::byte* page) const noexcept {
      ::operator delete(page, std::align_val_t{page_size});
    }
  };

  std::unique_ptr<std::byte, page_deleter> page_;
  Lock* lock_;
  Protected* protected_;
};

/// Whether a lock refuses everybody while it is held: the starter holds it, each thread tries.
/// Certain on any number of cores, where a lost update needs luck. A lock that does not claim to
/// exclude is not tried.
template <class Lock>
class refusal_check {
 public:
  refusal_check(Lock& lock, const lock_traits& traits) : lock_{lock}, claimed_{traits.excludes} {
    lock_.lock();
  }
  refusal_check(const refusal_check&) = delete;
  refusal_check& operator=(const refusal_check&) = delete;
  ~refusal_check() {
    if (!finished_) lock_.unlock();
  }

  /// By each thread of the team, while the starter holds the lock. A lock that admits it may hang
  /// later; this line is then all that is heard of the cause.
  void probe() {
    if (!claimed_ || !lock_.try_lock()) return;
    // relaxed(unpublished): the starter reads it after joining the thread.
    admitted_.store(true, std::memory_order_relaxed);
    std::fputs("lockyard-harness: the lock admits a thread while another one holds it\n", stderr);
  }
  /// By the starter, when every thread has probed.
  void finish() {
    finished_ = true;
    lock_.unlock();
  }

  [[nodiscard]] bool passed() const {
    // relaxed(owner): no thread is left that could write.
    return !admitted_.load(std::memory_order_relaxed);
  }

 private:
  Lock& lock_;
  bool claimed_;
  bool finished_ = false;
  std::atomic<bool> admitted_{false};
};

/// The checks of a lock that claims to exclude, and null for one that does not.
nlohmann::ordered_json checks_of(const lock_traits& traits, bool refused_while_held,
                                 bool counter_is_exact);

/// The longest stalls as a record carries them, with times since `start`.
nlohmann::ordered_json stalls_to_json(const longest_stalls& stalls, ticks start);

}  // namespace lockyard::harness
