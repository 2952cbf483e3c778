// SPDX-License-Identifier: Apache-2.0

// The rules of C++20: what synchronizes, the order S, and the order of light and heavy fences.

#include "oracle_candidate.hpp"

#include <utility>

namespace lockyard::oracle {

namespace {

using std::memory_order;

bool acquires(memory_order order) {
  return order == memory_order::acquire || order == memory_order::acq_rel ||
         order == memory_order::seq_cst;
}
bool releases(memory_order order) {
  return order == memory_order::release || order == memory_order::acq_rel ||
         order == memory_order::seq_cst;
}

}  // namespace

bool candidate::find_happens_before() {
  synchronizes = {};
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].reads) continue;
    // The writes whose release sequences the value that was read belongs to.
    for (int head = events[i].from; head != initial;) {
      const event& write = events[static_cast<std::size_t>(head)];
      synchronize(static_cast<std::size_t>(head), i);
      head = write.reads ? write.from : initial;
    }
  }
  happens = sequenced;
  for (std::size_t i = 0; i < events.size(); ++i) happens.of[i] |= synchronizes.of[i];
  happens.close(events.size());
  return !happens.is_cyclic(events.size());
}

void candidate::synchronize(std::size_t write, std::size_t read) {
  for (std::size_t from = 0; from < events.size(); ++from) {
    const bool is_release =
        (from == write || (events[from].is_fence && sequenced.has(from, write))) &&
        releases(events[from].order);
    if (!is_release) continue;
    for (std::size_t to = 0; to < events.size(); ++to) {
      const bool is_acquire = (to == read || (events[to].is_fence && sequenced.has(read, to))) &&
                              acquires(events[to].order);
      if (is_acquire) synchronizes.add(from, to);
    }
  }
}

bool candidate::has_total_order() const {
  const std::size_t count = events.size();
  relation strongly = compose(compose(sequenced, happens, count), sequenced, count);
  for (std::size_t a = 0; a < count; ++a) {
    strongly.of[a] |= sequenced.of[a];
    for (std::size_t b = 0; b < count; ++b) {
      if (synchronizes.has(a, b) && events[a].is_sequential() && events[b].is_sequential()) {
        strongly.add(a, b);
      }
    }
  }
  strongly.close(count);
  relation total;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      if (!events[a].is_sequential() || !events[b].is_sequential()) continue;
      if (strongly.has(a, b)) total.add(a, b);
      if (is_ordered_by_coherence(a, b)) total.add(a, b);
    }
  }
  total.close(count);
  return !total.is_cyclic(count);
}

bool candidate::is_ordered_by_coherence(std::size_t a, std::size_t b) const {
  for (std::size_t first = 0; first < events.size(); ++first) {
    if (first != a && !(events[a].is_fence && happens.has(a, first))) continue;
    for (std::size_t last = 0; last < events.size(); ++last) {
      if (last != b && !(events[b].is_fence && happens.has(last, b))) continue;
      if (is_coherence_ordered(first, last)) return true;
    }
  }
  return false;
}

namespace {

/// Each pair of a heavy fence and another such fence of another thread has one of two directions.
class order_of_fences {
 public:
  explicit order_of_fences(const candidate& of) : of_{of}, before_{of.sequenced} {
    const auto& events = of.events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].reads && events[i].from != initial) {
        before_.add(static_cast<std::size_t>(events[i].from), i);
      }
      for (std::size_t other = 0; other < i; ++other) {
        const bool is_pair = is(operation::heavy_fence, i)
                                 ? is_either(other)
                                 : is(operation::heavy_fence, other) && is_either(i);
        if (is_pair && events[i].thread != events[other].thread) pairs_.emplace_back(i, other);
      }
    }
  }

  [[nodiscard]] bool exists() { return choose(0); }

 private:
  [[nodiscard]] bool is(operation what, std::size_t which) const {
    return of_.events[which].does->does == what;
  }
  [[nodiscard]] bool is_either(std::size_t which) const {
    return is(operation::heavy_fence, which) || is(operation::light_fence, which);
  }

  bool choose(std::size_t pair) {
    if (pair == pairs_.size()) return is_possible();
    const auto [a, b] = pairs_[pair];
    for (const auto& [first, second] : {std::pair{a, b}, std::pair{b, a}}) {
      ordered_.add(first, second);
      if (choose(pair + 1)) return true;
      ordered_.of[first] &= ~(1U << second);
    }
    return false;
  }

  /// A fence knows what a fence before it knew, so nothing behind the later fence may be older.
  [[nodiscard]] bool is_possible() const {
    const std::size_t count = of_.events.size();
    relation run = before_;
    relation known = of_.happens;
    for (std::size_t i = 0; i < count; ++i) {
      run.of[i] |= ordered_.of[i];
      known.of[i] |= ordered_.of[i];
    }
    run.close(count);
    if (run.is_cyclic(count)) return false;
    known.close(count);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        if (is_either(a) && is_either(b) && known.has(a, b) && of_.is_ordered_by_coherence(b, a)) {
          return false;
        }
      }
    }
    return true;
  }

  const candidate& of_;
  relation before_;   ///< what runs before what: a read comes after the write that it takes
  relation ordered_;  ///< the directions of the pairs
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

}  // namespace

bool candidate::has_order_of_asymmetric_fences() const {
  return order_of_fences{*this}.exists();
}

}  // namespace lockyard::oracle
