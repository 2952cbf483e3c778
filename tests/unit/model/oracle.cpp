// SPDX-License-Identifier: Apache-2.0
#include "oracle.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <random>
#include <utility>

namespace lockyard::oracle {

namespace {

using std::memory_order;

constexpr std::size_t most_events = 24;

/// A relation between events: a row of bits for each.
struct relation {
  std::array<std::uint32_t, most_events> of{};

  void add(std::size_t from, std::size_t to) { of[from] |= 1U << to; }
  [[nodiscard]] bool has(std::size_t from, std::size_t to) const {
    return (of[from] >> to & 1U) != 0;
  }
  void close(std::size_t count) {
    for (std::size_t via = 0; via < count; ++via) {
      for (std::size_t from = 0; from < count; ++from) {
        if (has(from, via)) of[from] |= of[via];
      }
    }
  }
  [[nodiscard]] bool is_cyclic(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (has(i, i)) return true;
    }
    return false;
  }
};

/// Relates a to c where `first` relates a to some b, and `second` b to c.
relation compose(const relation& first, const relation& second, std::size_t count) {
  relation all;
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t via = 0; via < count; ++via) {
      if (first.has(from, via)) all.of[from] |= second.of[via];
    }
  }
  return all;
}

bool acquires(memory_order order) {
  return order == memory_order::acquire || order == memory_order::acq_rel ||
         order == memory_order::seq_cst;
}
bool releases(memory_order order) {
  return order == memory_order::release || order == memory_order::acq_rel ||
         order == memory_order::seq_cst;
}

constexpr int initial = -1;

struct event {
  std::size_t thread;
  std::size_t slot;  ///< the place of its instruction among all
  const instruction* does;
  bool reads = false;
  bool writes = false;
  bool is_plain = false;
  bool is_fence = false;
  memory_order order = memory_order::relaxed;
  int from = initial;     ///< the write that it reads
  std::size_t place = 0;  ///< among the accesses of its word, see find_places

  [[nodiscard]] bool is_sequential() const { return order == memory_order::seq_cst; }
};

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
    events_.clear();
    sequenced_ = {};
    std::size_t slot = 0;
    for (std::size_t thread = 0; thread < ends_.size(); ++thread) {
      const std::size_t first = events_.size();
      for (std::size_t i = 0; i < ends_[thread]; ++i) {
        const instruction& does = program_.threads[thread][i];
        event made{.thread = thread, .slot = slot + i, .does = &does, .order = does.order};
        made.is_fence = does.does == operation::fence;
        made.is_plain = does.does == operation::read_plain || does.does == operation::write_plain;
        made.reads = !made.is_plain && !made.is_fence && does.does != operation::store;
        made.writes = always_writes(does);
        for (std::size_t before = first; before < events_.size(); ++before) {
          sequenced_.add(before, events_.size());
        }
        events_.push_back(made);
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
    return write == initial ? 0 : events_[static_cast<std::size_t>(write)].does->value;
  }

  void choose_read(std::size_t which) {
    if (which == events_.size()) return with_reads();
    event& reader = events_[which];
    if (!reader.reads) return choose_read(which + 1);
    for (int write = initial; write < static_cast<int>(events_.size()); ++write) {
      if (write != initial) {
        const event& source = events_[static_cast<std::size_t>(write)];
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
    relation causes = sequenced_;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const event& reader = events_[i];
      if (!reader.reads || reader.from == initial) continue;
      const auto from = static_cast<std::size_t>(reader.from);
      if (!events_[from].writes) return;
      causes.add(from, i);
    }
    causes.close(events_.size());
    if (causes.is_cyclic(events_.size())) return;
    find_synchronization();
    happens_ = sequenced_;
    for (std::size_t i = 0; i < events_.size(); ++i) happens_.of[i] |= synchronizes_.of[i];
    happens_.close(events_.size());
    if (happens_.is_cyclic(events_.size())) return;
    for (auto& order : orders_) order.clear();
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].writes) orders_[events_[i].does->where].push_back(i);
    }
    order_word(0);
  }

  void find_synchronization() {
    synchronizes_ = {};
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (!events_[i].reads) continue;
      // The writes whose release sequences the value that was read belongs to.
      for (int head = events_[i].from; head != initial;) {
        const event& write = events_[static_cast<std::size_t>(head)];
        synchronize(static_cast<std::size_t>(head), i);
        head = write.reads ? write.from : initial;
      }
    }
  }

  void synchronize(std::size_t write, std::size_t read) {
    for (std::size_t from = 0; from < events_.size(); ++from) {
      const bool is_release =
          (from == write || (events_[from].is_fence && sequenced_.has(from, write))) &&
          releases(events_[from].order);
      if (!is_release) continue;
      for (std::size_t to = 0; to < events_.size(); ++to) {
        const bool is_acquire =
            (to == read || (events_[to].is_fence && sequenced_.has(read, to))) &&
            acquires(events_[to].order);
        if (is_acquire) synchronizes_.add(from, to);
      }
    }
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
    for (std::size_t i = 0; i < order.size(); ++i) events_[order[i]].place = 2 * (i + 1);
    for (event& each : events_) {
      if (!each.reads || each.does->where != word) continue;
      const std::size_t from =
          each.from == initial ? 0 : events_[static_cast<std::size_t>(each.from)].place;
      if (!each.writes) {
        each.place = from + 1;
      } else if (each.place != from + 2) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool is_access(std::size_t which) const {
    return !events_[which].is_plain && !events_[which].is_fence;
  }
  [[nodiscard]] bool is_coherence_ordered(std::size_t a, std::size_t b) const {
    return a != b && is_access(a) && is_access(b) &&
           events_[a].does->where == events_[b].does->where && events_[a].place < events_[b].place;
  }

  void check() {
    const std::size_t count = events_.size();
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        if (happens_.has(a, b) && is_coherence_ordered(b, a)) return;
      }
    }
    if (!has_total_order()) return;
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
    return orders_[word].empty() ? 0 : events_[orders_[word].back()].does->value;
  }

  /// [atomics.order] 3 and 4.
  [[nodiscard]] bool has_total_order() const {
    const std::size_t count = events_.size();
    relation strongly = compose(compose(sequenced_, happens_, count), sequenced_, count);
    for (std::size_t a = 0; a < count; ++a) {
      strongly.of[a] |= sequenced_.of[a];
      for (std::size_t b = 0; b < count; ++b) {
        if (synchronizes_.has(a, b) && events_[a].is_sequential() && events_[b].is_sequential()) {
          strongly.add(a, b);
        }
      }
    }
    strongly.close(count);
    relation total;
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        if (!events_[a].is_sequential() || !events_[b].is_sequential()) continue;
        if (strongly.has(a, b)) total.add(a, b);
        if (is_ordered_by_coherence(a, b)) total.add(a, b);
      }
    }
    total.close(count);
    return !total.is_cyclic(count);
  }

  /// a, or something that a fence a happens before, is coherence-ordered before b, or before
  /// something that happens before a fence b.
  [[nodiscard]] bool is_ordered_by_coherence(std::size_t a, std::size_t b) const {
    for (std::size_t first = 0; first < events_.size(); ++first) {
      if (first != a && !(events_[a].is_fence && happens_.has(a, first))) continue;
      for (std::size_t last = 0; last < events_.size(); ++last) {
        if (last != b && !(events_[b].is_fence && happens_.has(last, b))) continue;
        if (is_coherence_ordered(first, last)) return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool has_race() const {
    for (std::size_t a = 0; a < events_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!events_[a].is_plain || !events_[b].is_plain) continue;
        if (events_[a].thread == events_[b].thread) continue;
        if (events_[a].does->where != events_[b].does->where) continue;
        if (!writes_plain(a) && !writes_plain(b)) continue;
        if (!happens_.has(a, b) && !happens_.has(b, a)) return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool writes_plain(std::size_t which) const {
    return events_[which].does->does == operation::write_plain;
  }

  [[nodiscard]] outcome outcome_of() const {
    outcome all = 0;
    std::size_t slots = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const event& each = events_[i];
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
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (!events_[i].is_plain || !writes_plain(i) || !happens_.has(i, read)) continue;
      if (events_[i].does->where != events_[read].does->where) continue;
      if (!last || happens_.has(*last, i)) last = i;
    }
    return last ? events_[*last].does->value : 0;
  }

  const program& program_;
  std::vector<std::size_t> ends_;
  std::vector<event> events_;
  relation sequenced_;
  relation synchronizes_;
  relation happens_;
  std::array<std::vector<std::size_t>, words> orders_;
  verdicts found_;
};

class generator {
 public:
  generator(std::uint64_t seed, kinds with) : random_{seed * 2654435761U + 17}, with_{with} {}

  program make() {
    program all;
    const std::size_t threads = 2 + one_of({0U, 0U, 1U, 1U, 2U});
    constexpr std::array<std::size_t, 5> most{0, 0, 5, 4, 3};
    std::size_t left = 9;
    words_ = threads == 2 ? 2 : 2 + below(2);
    is_sequential_ = below(3) == 0;
    has_plain_ = below(3) == 0;
    for (std::size_t i = 0; i < threads; ++i) {
      auto& list = all.threads.emplace_back();
      const std::size_t length = 1 + below(static_cast<unsigned>(most[threads]));
      for (std::size_t j = 0; j < length && left != 0; ++j, --left) {
        list.push_back(make_instruction());
      }
    }
    return all;
  }

 private:
  unsigned below(unsigned count) { return static_cast<unsigned>(random_() >> 8U) % count; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<unsigned>(list.size()))];
  }

  instruction make_instruction() {
    using enum memory_order;
    const unsigned kind = below(with_.awaits ? 21 : 16);
    const unsigned where = below(words_);
    const unsigned value = 1 + below(2);
    const bool hard = is_sequential_ && below(2) == 0;
    if (kind >= 18) {
      return {.does = operation::await_exchange,
              .where = where,
              .order = hard ? seq_cst : one_of({relaxed, acquire, release, acq_rel, seq_cst}),
              .value = value,
              .expected = below(3)};
    }
    if (kind >= 16) {
      return {.does = operation::await,
              .where = where,
              .order = hard ? seq_cst : one_of({relaxed, acquire, seq_cst}),
              .expected = below(4) == 0 ? 0 : value};
    }
    if (has_plain_ && kind % 4 == 3) {
      return {.does = kind < 8 ? operation::read_plain : operation::write_plain, .value = value};
    }
    if (kind < 6) {
      return {.does = operation::load,
              .where = where,
              .order = hard ? seq_cst : one_of({relaxed, acquire, seq_cst})};
    }
    if (kind < 12) {
      return {.does = operation::store,
              .where = where,
              .order = hard ? seq_cst : one_of({relaxed, release, seq_cst}),
              .value = value};
    }
    const memory_order order =
        hard ? seq_cst : one_of({relaxed, acquire, release, acq_rel, seq_cst});
    if (kind == 12) {
      return {.does = operation::exchange, .where = where, .order = order, .value = value};
    }
    if (kind == 13) {
      return {.does = one_of({operation::compare_exchange, operation::weak_compare_exchange}),
              .where = where,
              .order = order,
              .failure = one_of({relaxed, acquire, seq_cst}),
              .value = value,
              .expected = below(3)};
    }
    return {.does = operation::fence,
            .order = below(2) == 0 ? seq_cst : one_of({acquire, release, acq_rel})};
  }

  std::minstd_rand random_;
  kinds with_;
  unsigned words_ = 2;
  bool is_sequential_ = false;
  bool has_plain_ = false;
};

std::string name_of(memory_order order) {
  constexpr std::array<const char*, 6> names{"relaxed", "consume", "acquire",
                                             "release", "acq_rel", "seq_cst"};
  return names[static_cast<std::size_t>(order)];
}

std::string to_text(const instruction& of) {
  const std::string word = std::string{"w"} + std::to_string(of.where);
  const std::string order = name_of(of.order);
  const std::string value = std::to_string(of.value);
  switch (of.does) {
    case operation::load: return word + ".load(" + order + ")";
    case operation::store: return word + ".store(" + value + ", " + order + ")";
    case operation::exchange: return word + ".exchange(" + value + ", " + order + ")";
    case operation::weak_compare_exchange:
    case operation::compare_exchange:
      return word + (of.does == operation::compare_exchange ? ".strong(" : ".weak(") +
             std::to_string(of.expected) + " -> " + value + ", " + order + ", " +
             name_of(of.failure) + ")";
    case operation::fence: return "fence(" + order + ")";
    case operation::await:
      return "await(" + word + " == " + std::to_string(of.expected) + ", " + order + ")";
    case operation::await_exchange:
      return "await(" + word + " == " + std::to_string(of.expected) + ").exchange(" + value + ", " +
             order + ")";
    case operation::read_plain: return "plain";
    case operation::write_plain: return "plain = " + value;
  }
  return "";
}

}  // namespace

verdicts all_executions(const program& of) {
  return enumeration{of}.run();
}

program random_program(std::uint64_t seed, kinds with) {
  return generator{seed, with}.make();
}

std::string to_text(const program& of) {
  std::string text;
  for (std::size_t i = 0; i < of.threads.size(); ++i) {
    text += "T" + std::to_string(i) + ":";
    for (const instruction& each : of.threads[i]) text += " " + to_text(each) + ";";
    text += "\n";
  }
  return text;
}

}  // namespace lockyard::oracle
