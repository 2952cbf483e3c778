// SPDX-License-Identifier: Apache-2.0

// Enumerates the candidate executions of a program: where each thread ends, what each read takes,
// and the modification orders.

#include "oracle_candidate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace lockyard::oracle {

namespace {

using std::memory_order;

class enumeration {
 public:
  explicit enumeration(const program& of) : program_{of} {}

  verdicts run() {
    ends_.resize(program_.threads.size());
    choose_ends(0);
    return std::move(found_);
  }

 private:
  /// Where each thread ends: at its end, or at an await that never ends.
  void choose_ends(std::size_t thread) {
    if (thread == ends_.size()) return choose_reads_of_all();
    const auto& list = program_.threads[thread];
    for (std::size_t i = 0; i <= list.size(); ++i) {
      if (i < list.size() && !waits(list[i])) continue;
      ends_[thread] = i;
      choose_ends(thread + 1);
    }
  }

  static bool waits(const instruction& of) {
    return of.does == operation::await || of.does == operation::await_exchange;
  }

  void choose_reads_of_all() {
    now_.events.clear();
    now_.sequenced = {};
    std::size_t slot = 0;
    for (std::size_t thread = 0; thread < ends_.size(); ++thread) {
      const std::size_t first = now_.events.size();
      for (std::size_t i = 0; i < ends_[thread]; ++i) {
        const instruction& does = program_.threads[thread][i];
        event made{.thread = thread, .slot = slot + i, .does = &does, .order = does.order};
        made.is_fence = does.does == operation::fence || does.does == operation::light_fence ||
                        does.does == operation::heavy_fence;
        made.is_plain = does.does == operation::read_plain || does.does == operation::write_plain;
        made.reads = !made.is_plain && !made.is_fence && does.does != operation::store;
        made.writes = always_writes(does);
        for (std::size_t before = first; before < now_.events.size(); ++before) {
          now_.sequenced.add(before, now_.events.size());
        }
        now_.events.push_back(made);
      }
      slot += program_.threads[thread].size();
    }
    choose_read(0);
  }

  static bool always_writes(const instruction& of) {
    return of.does == operation::store || of.does == operation::exchange ||
           of.does == operation::await_exchange;
  }
  static bool may_write(const event& of) {
    return of.writes || of.does->does == operation::compare_exchange ||
           of.does->does == operation::weak_compare_exchange;
  }

  [[nodiscard]] unsigned value_of(int write) const {
    return write == initial ? 0 : now_.events[static_cast<std::size_t>(write)].does->value;
  }

  void choose_read(std::size_t which) {
    if (which == now_.events.size()) return with_reads();
    event& reader = now_.events[which];
    if (!reader.reads) return choose_read(which + 1);
    for (int write = initial; write < static_cast<int>(now_.events.size()); ++write) {
      if (write != initial) {
        const event& source = now_.events[static_cast<std::size_t>(write)];
        if (static_cast<std::size_t>(write) == which || source.is_plain || source.is_fence ||
            !may_write(source) || source.does->where != reader.does->where) {
          continue;
        }
      }
      reader.from = write;
      const bool matches = value_of(write) == reader.does->expected;
      switch (reader.does->does) {
        case operation::await:
        case operation::await_exchange:
          if (matches) choose_read(which + 1);
          break;
        case operation::weak_compare_exchange:
        case operation::compare_exchange:
          reader.writes = matches;
          reader.order = matches ? reader.does->order : reader.does->failure;
          choose_read(which + 1);
          if (!matches || reader.does->does == operation::compare_exchange) break;
          reader.writes = false;
          reader.order = reader.does->failure;
          choose_read(which + 1);
          break;
        default: choose_read(which + 1);
      }
    }
    reader.writes = always_writes(*reader.does);
  }

  /// All reads are chosen: prepares what does not depend on modification orders.
  void with_reads() {
    relation causes = now_.sequenced;
    for (std::size_t i = 0; i < now_.events.size(); ++i) {
      const event& reader = now_.events[i];
      if (!reader.reads || reader.from == initial) continue;
      const auto from = static_cast<std::size_t>(reader.from);
      if (!now_.events[from].writes) return;
      causes.add(from, i);
    }
    causes.close(now_.events.size());
    if (causes.is_cyclic(now_.events.size())) return;
    if (!now_.find_happens_before()) return;
    for (auto& order : orders_) order.clear();
    for (std::size_t i = 0; i < now_.events.size(); ++i) {
      if (now_.events[i].writes) orders_[now_.events[i].does->where].push_back(i);
    }
    order_word(0);
  }

  /// Each modification order of each word.
  void order_word(unsigned word) {
    if (word == words) return check();
    auto& order = orders_[word];
    std::ranges::sort(order);
    do {
      if (find_places(word)) order_word(word + 1);
    } while (std::ranges::next_permutation(order).found);
  }

  /// Gives each access of a word a number, so that an access is coherence-ordered before another
  /// one if its number is lower. False if a read-modify-write does not write right behind what it
  /// has read.
  bool find_places(unsigned word) {
    const auto& order = orders_[word];
    for (std::size_t i = 0; i < order.size(); ++i) now_.events[order[i]].place = 2 * (i + 1);
    for (event& each : now_.events) {
      if (!each.reads || each.does->where != word) continue;
      const std::size_t from =
          each.from == initial ? 0 : now_.events[static_cast<std::size_t>(each.from)].place;
      if (!each.writes) {
        each.place = from + 1;
      } else if (each.place != from + 2) {
        return false;
      }
    }
    return true;
  }

  void check() {
    const std::size_t count = now_.events.size();
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        if (now_.happens.has(a, b) && now_.is_coherence_ordered(b, a)) return;
      }
    }
    if (!now_.has_total_order() || !now_.has_order_of_asymmetric_fences()) return;
    if (has_race()) found_.races = true;
    bool all_end = true;
    for (std::size_t thread = 0; thread < ends_.size(); ++thread) {
      const auto& list = program_.threads[thread];
      if (ends_[thread] == list.size()) continue;
      all_end = false;
      // The await goes on forever if the last value is another one.
      const instruction& stuck = list[ends_[thread]];
      if (last_of(stuck.where) == stuck.expected) return;
    }
    if (all_end) {
      found_.outcomes.insert(outcome_of());
    } else {
      found_.hangs = true;
    }
  }

  [[nodiscard]] unsigned last_of(unsigned word) const {
    return orders_[word].empty() ? 0 : now_.events[orders_[word].back()].does->value;
  }

  [[nodiscard]] bool has_race() const {
    for (std::size_t a = 0; a < now_.events.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!now_.events[a].is_plain || !now_.events[b].is_plain) continue;
        if (now_.events[a].thread == now_.events[b].thread) continue;
        if (now_.events[a].does->where != now_.events[b].does->where) continue;
        if (!writes_plain(a) && !writes_plain(b)) continue;
        if (!now_.happens.has(a, b) && !now_.happens.has(b, a)) return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool writes_plain(std::size_t which) const {
    return now_.events[which].does->does == operation::write_plain;
  }

  [[nodiscard]] outcome outcome_of() const {
    outcome all = 0;
    std::size_t slots = 0;
    for (std::size_t i = 0; i < now_.events.size(); ++i) {
      const event& each = now_.events[i];
      slots = std::max(slots, each.slot + 1);
      if (each.reads) {
        const bool has_exchanged = each.writes && !always_writes(*each.does);
        all |= outcome{value_of(each.from) + (has_exchanged ? 8U : 0U)} << 4 * each.slot;
      } else if (each.is_plain && !writes_plain(i)) {
        all |= outcome{visible_to(i)} << 4 * each.slot;
      }
    }
    for (unsigned word = 0; word < words; ++word) {
      all |= outcome{last_of(word)} << 4 * (slots + word);
    }
    return all;
  }

  /// The value of plain data where there is no race: the last write that happens before.
  [[nodiscard]] unsigned visible_to(std::size_t read) const {
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < now_.events.size(); ++i) {
      if (!now_.events[i].is_plain || !writes_plain(i) || !now_.happens.has(i, read)) continue;
      if (now_.events[i].does->where != now_.events[read].does->where) continue;
      if (!last || now_.happens.has(*last, i)) last = i;
    }
    return last ? now_.events[*last].does->value : 0;
  }

  const program& program_;
  std::vector<std::size_t> ends_;
  candidate now_;
  std::array<std::vector<std::size_t>, words> orders_;
  verdicts found_;
};

}  // namespace

verdicts all_executions(const program& of) {
  return enumeration{of}.run();
}

}  // namespace lockyard::oracle
