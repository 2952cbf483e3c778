// SPDX-License-Identifier: Apache-2.0
#include "subject.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace lockyard::harness {

lock_row::lock_row(const subject& of, std::size_t count)
    : operations_{of.operations},
      count_{count},
      pages_{(count * of.operations.spacing + pages::size - 1) / pages::size} {
  for (std::size_t i = 0; i < count_; ++i)
    operations_.construct(pages_.first() + i * operations_.spacing);
}

lock_row::~lock_row() {
  for (std::size_t i = 0; i < count_; ++i)
    operations_.destroy(pages_.first() + i * operations_.spacing);
}

refusal_check::refusal_check(const subject& of, void* lock)
    : operations_{of.operations}, lock_{lock}, claimed_{of.traits.excludes} {
  operations_.lock(lock_);
}

refusal_check::~refusal_check() {
  if (!finished_) operations_.unlock(lock_);
}

void refusal_check::probe() {
  if (!applies() || !operations_.try_lock(lock_)) return;
  // relaxed(unpublished): the starter reads it after joining the thread.
  admitted_.store(true, std::memory_order_relaxed);
  std::fputs("lockyard-harness: the lock admits a thread while another thread holds it\n", stderr);
}

void refusal_check::finish() {
  finished_ = true;
  operations_.unlock(lock_);
}

bool refusal_check::applies() const noexcept {
  return claimed_ && operations_.try_lock != nullptr;
}

bool refusal_check::passed() const {
  // relaxed(owner): no thread is left that could write.
  return !admitted_.load(std::memory_order_relaxed);
}

nlohmann::ordered_json checks_of(const subject& of, const refusal_check& refusal,
                                 bool counter_is_exact) {
  if (!of.traits.excludes) return {{"refused_while_held", nullptr}, {"counter", nullptr}};
  nlohmann::ordered_json checks{{"refused_while_held", nullptr}, {"counter", counter_is_exact}};
  if (refusal.applies()) checks["refused_while_held"] = refusal.passed();
  return checks;
}

}  // namespace lockyard::harness
