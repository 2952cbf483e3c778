// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random programs that sleep, wake, time out, spin, and perform several operations in one step, and
// the comparison of two searches of one.

#include <model/client.hpp>
#include <model/explorer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace lockyard::model::testing {

using std::memory_order;

enum class action : std::uint8_t {
  load,
  store,
  exchange,
  compare,
  compare_weakly,
  compare_until_sure,
  fence,
  await,
  await_exchange,
  await_until,
  await_spinning,
  await_either,
  sleep,
  sleep_until,
  sleep_while,
  sleep_in_turns,
  sleep_and_wake,
  wake,
  requeue,
  look_at_clock,
  pause_until,
  count_pauses,
  section,
  light_fence,
  heavy_fence,
  publish,
  receive,
};
constexpr std::array<const char*, 27> names{
    "load",           "store",          "exchange",
    "compare",        "compare_weakly", "compare_until_sure",
    "fence",          "await",          "await_exchange",
    "await_until",    "await_spinning", "await_either",
    "sleep",          "sleep_until",    "sleep_while",
    "sleep_in_turns", "sleep_and_wake", "wake",
    "requeue",        "look_at_clock",  "pause_until",
    "count_pauses",   "section",        "light_fence",
    "heavy_fence",    "publish",        "receive"};

struct instruction {
  action does;
  unsigned where;
  memory_order order;
  unsigned value;
  unsigned expected;

  bool operator==(const instruction&) const = default;
};
using program = std::vector<std::vector<instruction>>;
using outcome = std::vector<unsigned>;

constexpr std::size_t words = 2;

struct equals {
  unsigned wanted;
  bool operator()(unsigned value) const noexcept { return value == wanted; }
};

inline constexpr std::size_t most_reads = 5;

class random_client : public client {
 public:
  /// An outcome has the last `kept` reads of each thread.
  random_client(const program& of, std::set<outcome>& outcomes, std::size_t kept = most_reads)
      : of_{of}, outcomes_{outcomes}, kept_{kept} {}

  [[nodiscard]] unsigned threads() const override { return static_cast<unsigned>(of_.size()); }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return static_cast<unsigned>(std::ranges::find(of_, of_[index]) - of_.begin());
  }

  void thread(unsigned index) override {
    std::size_t slot = 0;
    for (const instruction& each : of_[index]) read_[index][slot++ % kept_] = run(each);
  }

  /// Which of the threads with one list has read what does not count.
  void finish() override {
    outcome all;
    for (unsigned i = 0; i < of_.size(); ++i) {
      for (unsigned j = 0; j < i; ++j) {
        if (of_[i] == of_[j] && read_[i] < read_[j]) std::swap(read_[i], read_[j]);
      }
    }
    for (const auto& of_thread : read_) all.insert(all.end(), of_thread.begin(), of_thread.end());
    for (const auto& each : words_) all.push_back(each.load(memory_order::relaxed));
    outcomes_.insert(all);
  }

 private:
  unsigned run(const instruction& does) {
    auto& word = words_[does.where];
    auto& other = words_[1 - does.where];
    const equals wanted{does.expected};
    constexpr unsigned missed = 99;
    unsigned expected = does.expected;
    switch (does.does) {
      case action::load: return word.load(does.order);
      case action::store: word.store(does.value, does.order); return 0;
      case action::exchange: return word.exchange(does.value, does.order);
      case action::compare:
        return word.compare_exchange_strong(expected, does.value, does.order, memory_order::relaxed)
                   ? 10 + expected
                   : expected;
      case action::compare_weakly:
        return word.compare_exchange_weak(expected, does.value, does.order, memory_order::relaxed)
                   ? 10 + expected
                   : expected;
      case action::compare_until_sure:
        do {
          expected = does.expected;
          if (word.compare_exchange_weak(expected, does.value, does.order, memory_order::relaxed))
            return 10 + expected;
        } while (expected == does.expected);
        return expected;
      case action::fence: model::fence(does.order); return 0;
      case action::await: return model::await(word, wanted, does.order, wait_policies::busy{});
      case action::await_exchange:
        return model::await_exchange(word, does.value, wanted, does.order, wait_policies::busy{});
      case action::await_until: {
        const auto limit = model::deadline_after(std::chrono::milliseconds{1});
        return model::await(word, wanted, does.order, wait_policies::busy{}, limit)
            .value_or(missed);
      }
      case action::await_spinning:
        return model::await(word, wanted, does.order, wait_policies::busy{}, model::spin_limit())
            .value_or(missed);
      case action::await_either:
        return static_cast<unsigned>(
            model::await_any(wait_policies::busy{}, condition{word, wanted, does.order},
                             condition{other, equals{does.value}, memory_order::relaxed}));
      case action::sleep: return static_cast<unsigned>(model::wait(word, does.expected));
      case action::sleep_until: {
        const auto limit = model::deadline_after(std::chrono::milliseconds{1});
        return static_cast<unsigned>(model::wait(word, does.expected, limit));
      }
      case action::sleep_while: {
        unsigned found = word.load(does.order);
        while (found == does.expected) {
          static_cast<void>(model::wait(word, does.expected));
          found = word.load(does.order);
        }
        return found;
      }
      case action::sleep_in_turns: {
        // The first turn is another one than those that follow, and a later one may end the loop.
        unsigned turns = 0;
        while (word.load(does.order) == does.expected && other.load(memory_order::relaxed) == 0) {
          if (model::wait(word, does.expected) != model::wait_result::woken) break;
          if (turns < 2) ++turns;
        }
        return turns;
      }
      case action::sleep_and_wake:
        while (word.load(does.order) == does.expected) {
          static_cast<void>(model::wait(word, does.expected));
          model::wake(other, 1);
        }
        return 0;
      case action::wake: return model::wake(word, does.value);
      case action::requeue:
        return model::requeue(word, does.expected, 1, 1, other).value_or(missed);
      case action::look_at_clock: {
        const auto limit = model::deadline_after(std::chrono::milliseconds{1});
        const unsigned first = model::passed(limit) ? 1 : 0;
        return first * 10 + word.load(does.order);
      }
      case action::pause_until:
        while (word.load(does.order) != does.expected) model::pause();
        return 0;
      case action::count_pauses:
        for (unsigned i = 0; i < 2; ++i) {
          if (word.load(does.order) == does.expected) return i;
          model::pause();
        }
        return missed;
      case action::section: {
        lock_.lock();
        const unsigned found = word.load(does.order);
        other.store(does.value, memory_order::relaxed);
        const unsigned woken = found == does.expected ? model::wake(word, 1) : 0;
        lock_.unlock();
        return found * 10 + woken;
      }
      case action::light_fence: model::asymmetric_fence_light(); return 0;
      case action::heavy_fence: model::asymmetric_fence_heavy(); return 0;
      case action::publish:
        plain_[does.where].write(does.value);
        word.store(1, does.order);
        return 0;
      case action::receive: return word.load(does.order) == 1 ? plain_[does.where].read() : missed;
    }
    return 0;
  }

  const program& of_;
  std::set<outcome>& outcomes_;
  std::array<word<unsigned>, words> words_{};
  std::array<plain_data<unsigned>, words> plain_{};
  model::abstract_lock lock_;
  std::size_t kept_;
  std::array<std::array<unsigned, most_reads>, 4> read_{};
};

class generator {
 public:
  explicit generator(std::uint64_t seed) : random_{seed * 2654435761U + 99} {}

  program make() {
    program all;
    const unsigned threads = below(3) == 0 ? 3 : 2;
    has_barriers_ = below(3) == 0;
    for (unsigned i = 0; i < threads; ++i) {
      auto& list = all.emplace_back();
      const unsigned length = 1 + below(threads == 2 ? 4 : 3);
      for (unsigned j = 0; j < length; ++j) list.push_back(make_instruction());
    }
    return all;
  }
  /// All threads do the same, or two of three do.
  program make_symmetric() {
    program all = make();
    if (all.size() > 2) {
      for (auto& each : all) each.resize(std::min<std::size_t>(each.size(), 2));
      if (below(2) == 0) all[1] = all.front();
    }
    all.back() = all.front();
    return all;
  }
  /// Many messages have the same value, no loop waits for another one, and nothing fails but for
  /// races.
  program make_of_equal_values() {
    program all;
    const unsigned threads = 2 + below(2);
    const bool has_fences = below(2) == 0;
    for (unsigned i = 0; i < threads; ++i) {
      auto& list = all.emplace_back();
      const unsigned length = 1 + below(threads == 2 ? 5 : 3);
      for (unsigned j = 0; j < length; ++j) list.push_back(make_of_equal_values(has_fences));
    }
    return all;
  }
  /// Threads that sleep in loops, and others that wake them, or forget to.
  program make_of_sleeps() {
    program all;
    const unsigned threads = 2 + below(2);
    for (unsigned i = 0; i < threads; ++i) {
      auto& list = all.emplace_back();
      const unsigned length = 1 + below(threads == 2 ? 4 : 3);
      for (unsigned j = 0; j < length; ++j) list.push_back(make_call_for_sleeps());
    }
    return all;
  }
  settings make_settings() {
    return {.spurious_wakes = below(2),
            .timeouts = below(3),
            .short_spins = below(2),
            .counted_pauses = 1 + below(2),
            .wakes_any = below(2) == 0};
  }

 private:
  unsigned below(unsigned count) { return static_cast<unsigned>(random_() >> 8U) % count; }

  instruction make_instruction() {
    using enum action;
    static constexpr std::array usual{load,
                                      load,
                                      store,
                                      store,
                                      store,
                                      exchange,
                                      compare,
                                      fence,
                                      compare_weakly,
                                      await,
                                      await_until,
                                      await_either,
                                      sleep,
                                      sleep_until,
                                      wake,
                                      wake,
                                      await_exchange,
                                      requeue,
                                      look_at_clock,
                                      pause_until,
                                      section,
                                      section,
                                      await_spinning,
                                      count_pauses,
                                      compare_until_sure,
                                      compare_until_sure};
    using enum memory_order;
    const action does = has_barriers_ && below(3) == 0
                            ? (below(2) == 0 ? light_fence : heavy_fence)
                            : usual[below(static_cast<unsigned>(usual.size()))];
    const bool is_store = does == store;
    const bool is_load = does == load || does == await || does == await_until ||
                         does == await_spinning || does == await_either || does == look_at_clock ||
                         does == pause_until || does == count_pauses || does == section;
    const std::array orders{relaxed, is_load ? acquire : release, seq_cst};
    const memory_order order = does == fence ? seq_cst : orders[below(3)];
    return {.does = does,
            .where = below(words),
            .order = is_store || is_load || order != acquire ? order : acq_rel,
            .value = 1 + below(2),
            .expected = below(3)};
  }

  instruction make_call_for_sleeps() {
    using enum action;
    using enum memory_order;
    static constexpr std::array usual{sleep_while, sleep_while, sleep_in_turns, sleep_and_wake,
                                      sleep,       sleep_until, store,          store,
                                      store,       wake,        wake,           wake,
                                      exchange,    load,        requeue};
    const action does = usual[below(usual.size())];
    const bool is_relaxed = below(2) == 0;
    memory_order order = does == store ? release : acquire;
    if (does == exchange) order = acq_rel;
    return {.does = does,
            .where = below(words),
            .order = is_relaxed ? relaxed : order,
            .value = below(3),
            .expected = below(2)};
  }

  instruction make_of_equal_values(bool has_fences) {
    using enum action;
    using enum memory_order;
    static constexpr std::array usual{
        load,    load,    load,     store,   store,       store,          compare,
        publish, receive, exchange, section, await_until, await_spinning, compare_until_sure};
    const bool is_fence = has_fences && below(3) == 0;
    const action does =
        is_fence ? (below(5) == 0 ? heavy_fence : fence) : usual[below(usual.size())];
    memory_order order = std::array{relaxed, relaxed, acquire, seq_cst}[below(4)];
    if (does == fence) order = std::array{acquire, release, seq_cst, seq_cst}[below(4)];
    if (does == publish) order = std::array{relaxed, release, release}[below(3)];
    if (does == store && order == acquire) order = release;
    if ((does == exchange || does == compare) && order == acquire) order = acq_rel;
    return {.does = does,
            .where = below(words),
            .order = order,
            .value = below(4) == 0 ? 2U : 1U,
            .expected = below(2)};
  }

  std::minstd_rand random_;
  bool has_barriers_ = false;
};

inline std::string to_text(const program& of) {
  std::string text;
  for (const auto& list : of) {
    for (const instruction& each : list) {
      text += std::string{" "} + names[static_cast<std::size_t>(each.does)] + "(w" +
              std::to_string(each.where) + ", " + name_of(each.order) + ", value " +
              std::to_string(each.value) + ", expected " + std::to_string(each.expected) + ");";
    }
    text += "\n";
  }
  return text;
}

struct result {
  std::set<outcome> outcomes;
  found by;
};

inline result search_of(const program& of, plan by, std::size_t kept = most_reads) {
  result all;
  by.on_begin = [&all] { all.outcomes.clear(); };
  all.by = explore([&] { return std::make_unique<random_client>(of, all.outcomes, kept); }, by);
  return all;
}

inline std::uint64_t programs(std::uint64_t usual) {
  const char* const wanted = std::getenv("LOCKYARD_ORACLE_PROGRAMS");
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

/// How the search differs from the whole one, which leaves nothing out; nothing where it does not.
inline std::string difference(const program& tried, plan by) {
  const result reduced = search_of(tried, by);
  by.reduces = false;
  by.exchanges = false;
  const result whole = search_of(tried, by);
  const bool fails = whole.by.result != verdict::passed;
  std::string text;
  if (whole.by.result != reduced.by.result) {
    text = name_of(reduced.by.result) + " instead of " + name_of(whole.by.result) + "\n";
  } else if (!fails && whole.outcomes != reduced.outcomes) {
    text = std::to_string(reduced.outcomes.size()) + " outcomes instead of " +
           std::to_string(whole.outcomes.size()) + "\n";
  } else if (!fails && whole.by.bounded != reduced.by.bounded) {
    text = "bounded: " + reduced.by.bounded + " instead of " + whole.by.bounded + "\n";
  }
  return text.empty() ? text : text + to_text(tried) + to_text(whole.by.steps);
}

}  // namespace lockyard::model::testing
