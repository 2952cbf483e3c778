// SPDX-License-Identifier: Apache-2.0

// Where the kernel puts woken threads: threads wake each other in turn, each asleep until then.
// Prints the share of wake-ups that came to the waker's processor, how long each kind took, and the
// processors of the first turns. On a quiet machine, and several times: a placement may last.
//
//   g++ -std=c++20 -O2 -pthread -Iinclude tools/wakeup_placement.cpp -o placement
//   ./placement THREADS SECONDS

#include <lockyard/world/native.hpp>

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct kind_of_wakeup {
  long count = 0;
  std::chrono::duration<double, std::micro> length{0};
};

/// Only the thread whose turn it is uses it.
struct {
  int waker_cpu = -1;
  clock_type::time_point woken_at;
  kind_of_wakeup same, other;
  std::string first_cpus;
} turns;

struct alignas(128) bed {
  void sleep_until_due() {
    while (due.load() == 0) lockyard::native::wait(due, 0);
    due.store(0);
  }
  void make_due() {
    due.store(1);
    lockyard::native::wake(due, 1);
  }

  lockyard::native::atomic<std::uint32_t> due{0};
};

void note_start() {
  const auto now = clock_type::now();
  const int cpu = sched_getcpu();
  if (turns.waker_cpu >= 0) {
    kind_of_wakeup& kind = cpu == turns.waker_cpu ? turns.same : turns.other;
    ++kind.count;
    kind.length += now - turns.woken_at;
  }
  if (turns.first_cpus.size() < 200) turns.first_cpus += std::to_string(cpu) + ' ';
}

void wake(bed& next) {
  turns.waker_cpu = sched_getcpu();
  turns.woken_at = clock_type::now();
  next.make_due();
}

void take_turns(bed& mine, bed& next, const std::atomic<bool>& is_over) {
  for (;;) {
    mine.sleep_until_due();
    if (is_over) return next.make_due();  // the next thread ends, too
    note_start();
    wake(next);
  }
}

void print(const char* where, const kind_of_wakeup& kind, long all) {
  if (kind.count == 0) return;
  std::printf("%s: %.1f %%, %.1f us\n", where,
              100 * static_cast<double>(kind.count) / static_cast<double>(all),
              kind.length.count() / static_cast<double>(kind.count));
}

}  // namespace

int main(int count, char** given) {
  const int threads = count == 3 ? std::atoi(given[1]) : 0;
  const double seconds = count == 3 ? std::atof(given[2]) : 0;
  if (threads < 2 || seconds <= 0) {
    std::fprintf(stderr, "usage: placement THREADS SECONDS, with 2 threads at least\n");
    return 2;
  }
  std::vector<bed> beds(static_cast<std::size_t>(threads));
  std::atomic<bool> is_over{false};
  std::vector<std::jthread> team;
  for (std::size_t i = 0; i < beds.size(); ++i) {
    bed& next = beds[(i + 1) % beds.size()];
    team.emplace_back([&beds, &next, &is_over, i] { take_turns(beds[i], next, is_over); });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{20});  // until all sleep
  beds[0].make_due();
  std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
  is_over = true;
  team.clear();
  const long all = turns.same.count + turns.other.count;
  print("on the waker's processor", turns.same, all);
  print("on another one", turns.other, all);
  std::printf("first turns: %s\n", turns.first_cpus.c_str());
}
