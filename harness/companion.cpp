// SPDX-License-Identifier: Apache-2.0
#include "companion.hpp"

#include "team.hpp"
#include "topology.hpp"

#include <pthread.h>
#include <sched.h>

#include <system_error>
#include <utility>

namespace lockyard::harness {

companion::companion(std::optional<int> cpu, const schedule& under, std::function<void()> work) {
  const auto take_part = [this, cpu, under, work = std::move(work)] {
    try {
      if (cpu) pin_this_thread(*cpu);
      run_under(under);
    } catch (const condition_error& error) {
      failure_ = error.what();
    }
    in_place_.count_down();
    // order[told]: acquire; pairs [tell]; makes visible what was made before the run.
    told_.wait(told::nothing, std::memory_order_acquire);
    // order[seen_told]: acquire; pairs [tell]; as above.
    if (told_.load(std::memory_order_acquire) == told::to_work) work();
  };
  try {
    thread_ = std::jthread{take_part};
  } catch (const std::system_error& error) {
    throw condition_error{std::string{"the thread next to the contenders cannot be started ("} +
                          error.what() +
                          "), so nothing was measured; raise the limit of processes"};
  }
  in_place_.wait();
  if (failure_) {
    dismiss();
    throw condition_error{*failure_};
  }
}

void companion::begin() noexcept {
  tell(told::to_work);
}

void companion::dismiss() noexcept {
  if (!thread_.joinable()) return;
  tell(told::to_leave);
  thread_.join();
}

void companion::tell(told what) noexcept {
  told expected = told::nothing;
  // order[tell]: release; pairs [told, seen_told]; publishes what was made before the run.
  // relaxed(hint): only the first value counts.
  told_.compare_exchange_strong(expected, what, std::memory_order_release,
                                std::memory_order_relaxed);
  told_.notify_all();
}

double companion::used_cpu_ns() noexcept {
  clockid_t clock{};
  return pthread_getcpuclockid(thread_.native_handle(), &clock) == 0 ? cpu_ns(clock) : 0;
}

void companion::hurry() noexcept {
  const sched_param none{};
  if (thread_.joinable()) pthread_setschedparam(thread_.native_handle(), SCHED_OTHER, &none);
}

}  // namespace lockyard::harness
