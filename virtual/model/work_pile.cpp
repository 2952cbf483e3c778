// SPDX-License-Identifier: Apache-2.0
#include "work_pile.hpp"

#include <cstring>
#include <mutex>
#include <type_traits>

namespace lockyard::model {

static_assert(std::is_trivially_copyable_v<choice>);

void work_pile::kept_list::keep(const std::vector<choice>& list) {
  size = list.size();
  std::memcpy(bytes.data(), list.data(), size * sizeof(choice));
}

std::vector<choice> work_pile::kept_list::list() const {
  std::vector<choice> copy(size);
  std::memcpy(copy.data(), bytes.data(), size * sizeof(choice));
  return copy;
}

void work_pile::join() {
  const std::scoped_lock guard{here_->lock};
  ++here_->busy;
}

bool work_pile::wants(const std::vector<choice>& list) {
  if (list.size() > most_choices) return false;
  const std::scoped_lock guard{here_->lock};
  const std::size_t parts = here_->parts.count;
  return here_->waiting > parts && parts < most_lists;
}

void work_pile::give(const std::vector<choice>& part) {
  const std::scoped_lock guard{here_->lock};
  here_->parts.all[here_->parts.count++].keep(part);
  here_->changed.notify_all();
}

std::optional<std::vector<choice>> work_pile::take(const std::function<void()>& look) {
  std::unique_lock guard{here_->lock};
  --here_->busy;
  while (!here_->is_off && (here_->busy != 0 || here_->parts.count != 0)) {
    if (here_->parts.count != 0) {
      ++here_->busy;
      return here_->parts.all[--here_->parts.count].list();
    }
    ++here_->waiting;
    here_->changed.wait(here_->lock);
    --here_->waiting;
    guard.unlock();
    look();
    guard.lock();
  }
  here_->changed.notify_all();
  return std::nullopt;
}

void work_pile::call_off() {
  const std::scoped_lock guard{here_->lock};
  here_->is_off = true;
  here_->changed.notify_all();
}

bool work_pile::is_off() {
  const std::scoped_lock guard{here_->lock};
  return here_->is_off;
}

tally work_pile::add(const tally& more) {
  const std::scoped_lock guard{here_->lock};
  return here_->counts += more;
}

void work_pile::report(const news& of) {
  const std::scoped_lock guard{here_->lock};
  here_->is_off |= of.ends_search;
  here_->changed.notify_all();
  if (of.list.size() > most_choices || here_->reports.count == most_lists) return give_up();
  kept_list& there = here_->reports.all[here_->reports.count++];
  there.keep(of.list);
  there.ends_search = of.ends_search;
  there.begins_anew = of.begins_anew;
}

void work_pile::give_up() {
  here_->is_broken = true;
  here_->is_off = true;
}

void work_pile::break_off() {
  const std::scoped_lock guard{here_->lock};
  give_up();
}

std::optional<news> work_pile::hear() {
  const std::scoped_lock guard{here_->lock};
  if (here_->reports.count == 0) return std::nullopt;
  const kept_list& last = here_->reports.all[--here_->reports.count];
  return news{
      .list = last.list(), .ends_search = last.ends_search, .begins_anew = last.begins_anew};
}

bool work_pile::is_broken() {
  const std::scoped_lock guard{here_->lock};
  return here_->is_broken;
}

}  // namespace lockyard::model
