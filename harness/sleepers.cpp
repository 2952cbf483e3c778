// SPDX-License-Identifier: Apache-2.0
#include "sleepers.hpp"

#include "topology.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>

namespace lockyard::harness {

namespace {

/// Enough places for a table of some thousand buckets.
constexpr std::size_t most_places = 65536;
constexpr int looks = 1000;
/// Limits looks at threads that may be spinning, and would never be seen asleep.
constexpr int looks_at_unknown = 50;
constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 1'000'000};

bool sleeps(int thread_id) {
  std::ifstream file{"/proc/self/task/" + std::to_string(thread_id) + "/stat"};
  std::string text;
  std::getline(file, text);
  const auto end_of_name = text.rfind(')');
  return end_of_name != std::string::npos && text.substr(end_of_name).starts_with(") S");
}

}  // namespace

sleepers::sleepers(const subject& of, const void* beside, unsigned count)
    : of_{of},
      pages_{most_places * of.operations.spacing / pages::size},
      next_place_{pages_.first()},
      all_(count) {
  for (sleeper& each : all_) {
    each.lock = next_lock(beside);
    if (each.lock == nullptr) return;
    of_.operations.lock(each.lock);
    try {
      start(each);
    } catch (const condition_error&) {
      end();
      throw;
    }
  }
  await_sleep();
}

sleepers::~sleepers() {
  end();
}

void sleepers::end() {
  for (sleeper& each : all_) {
    if (each.lock == nullptr) continue;
    of_.operations.unlock(each.lock);
    if (each.thread.joinable()) each.thread.join();
    of_.operations.destroy(each.lock);
  }
}

void* sleepers::next_lock(const void* beside) {
  while (next_place_ != pages_.first() + most_places * of_.operations.spacing) {
    void* const place = next_place_;
    next_place_ += of_.operations.spacing;
    of_.operations.construct(place);
    if (!share_bucket() || of_.operations.share_bucket(place, beside)) return place;
    of_.operations.destroy(place);
  }
  return nullptr;
}

void sleepers::start(sleeper& each) {
  try {
    each.thread = std::jthread{[this, &each] {
      // relaxed(hint): a reader that sees it late looks again.
      each.thread_id.store(gettid(), std::memory_order_relaxed);
      of_.operations.lock(each.lock);
      of_.operations.unlock(each.lock);
    }};
  } catch (const std::system_error& error) {
    throw condition_error{std::string{"a sleeping thread cannot be started ("} + error.what() +
                          "), so nothing was measured; raise the limit of processes, or ask for "
                          "fewer --sleepers"};
  }
}

bool sleepers::all_sleep() const {
  return std::ranges::all_of(all_, [](const sleeper& each) {
    // relaxed(hint): 0 until the thread runs, which counts as not asleep.
    const int thread_id = each.thread_id.load(std::memory_order_relaxed);
    return thread_id != 0 && sleeps(thread_id);
  });
}

/// Looks twice in a row: a thread may also sleep for a moment on its way.
void sleepers::await_sleep() {
  int in_a_row = 0;
  const int most = of_.traits.waiting == waiting::unknown ? looks_at_unknown : looks;
  for (int look = 0; look < most && in_a_row < 2; ++look) {
    clock_nanosleep(CLOCK_MONOTONIC, 0, &between_looks, nullptr);
    in_a_row = all_sleep() ? in_a_row + 1 : 0;
  }
  asleep_ = in_a_row == 2;
}

}  // namespace lockyard::harness
