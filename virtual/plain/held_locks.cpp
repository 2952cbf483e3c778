// SPDX-License-Identifier: Apache-2.0
#include "held_locks.hpp"

#include "places.hpp"

namespace lockyard::plain {

namespace {

model::execution& now() {
  return *model::execution::current();
}

/// The number of the thread that holds the lock alone, from 1; 0 if readers hold it.
std::uint64_t number_of_owner(lock_form form, std::uint64_t value) {
  return form == lock_form::mutex ? value % holds_once_more : value / has_writer;
}

}  // namespace

void held_locks::note(const void* lock, lock_form form, model::location_index word,
                      const void* pc) {
  const taken by{form, word, pc};
  const bool is_first = all_.insert_or_assign(reinterpret_cast<std::uintptr_t>(lock), by).second;
  // Its first value, and what the thread has made of it.
  if (is_first && now().messages_of(word) > 2) now().note_unordered();
}

std::string held_locks::owner_of(lock_form form, std::uint64_t value) {
  const std::uint64_t number = number_of_owner(form, value);
  return number == 0 ? "a reader" : "T" + std::to_string(number - 1);
}

void held_locks::check_free(std::uintptr_t at, const char* how, std::source_location where) const {
  const auto found = all_.find(at);
  if (found == all_.end()) return;
  const std::uint64_t value = now().newest_value(found->second.word);
  if (value == 0) return;
  now().fail(model::verdict::lifetime,
             std::string{how} + " although " + owner_of(found->second.form, value) + " holds it",
             where);
}

void held_locks::check_end_of_thread() const {
  for (const auto& [at, each] : all_) {
    const std::uint64_t value = now().newest_value(each.word);
    if (number_of_owner(each.form, value) != now().self() + std::uint64_t{1}) continue;
    const bool is_of_cxx =
        is_in_function(each.pc, "__gthread_") || is_in_function(each.pc, "__glibcxx_rwlock_");
    if (!is_of_cxx) continue;
    now().fail(model::verdict::assertion,
               "T" + std::to_string(now().self()) + " ends while it holds a mutex",
               place_of(each.pc));
  }
}

}  // namespace lockyard::plain
