// SPDX-License-Identifier: Apache-2.0
#pragma once

// All choices of an execution go through one place: which thread runs, which message is read, where
// a write lands, whether a timer fires. An execution is the list of its choices.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockyard::model {

enum class choice_kind : std::uint8_t { thread, message, place, failure, time, barrier, state };

struct choice {
  choice_kind kind;
  std::uint8_t taken;
  std::uint8_t count;
  std::uint8_t limit;        ///< from here on, other workers explore the alternatives
  std::uint8_t means;        ///< what the choice stands for, if the caller has said so
  std::uint16_t defers = 0;  ///< the threads that the choice of a thread defers, one bit each
};

inline constexpr std::uint8_t unknown_meaning = 255;

struct meaning {
  std::uint8_t what;
  std::uint16_t defers = 0;
};

/// Thrown if a replayed execution offers other choices than before.
struct not_deterministic {
  std::size_t step;
};

/// Thrown if a list of choices from outside does not fit the execution.
struct stale_replay {
  std::size_t step;
};

class choices {
 public:
  /// Called before each execution: it has made so many of the choices already.
  void rewind(std::size_t made = 0) noexcept {
    next_ = made;
    settles_ = false;
    if (translation_) translation_->clear();
  }

  /// Returns one of `count` alternatives; the first if none is recorded yet.
  unsigned choose(choice_kind kind, unsigned count) {
    if (count == 1) return 0;
    const unsigned taken = choose_written(kind, count);
    translate(kind, taken, count);
    return taken;
  }

  /// Returns one of the alternatives that `allowed` names, out of `count` that there would be in a
  /// search without reduction.
  unsigned choose_of(choice_kind kind, std::span<const std::uint8_t> allowed, unsigned count) {
    const auto some = static_cast<unsigned>(allowed.size());
    const unsigned taken = allowed[some == 1 ? 0 : choose_written(kind, some)];
    if (count > 1) translate(kind, taken, count);
    return taken;
  }

  unsigned choose_written(choice_kind kind, unsigned count) {
    if (next_ < taken_.size()) {
      const choice& known = taken_[next_];
      if (known.kind != kind || known.count != count) throw not_deterministic{next_};
      return taken_[next_++].taken;
    }
    const unsigned taken = fresh(count);
    push(kind, taken, count);
    return taken;
  }

  /// Takes the preferred alternative, unless one is recorded already.
  unsigned decide(choice_kind kind, unsigned preferred, unsigned count) {
    if (next_ < taken_.size() || script_) return choose_written(kind, count);
    push(kind, preferred, count);
    return preferred;
  }

  /// From here to the end of the execution no choice that is new has another alternative.
  void settle() noexcept { settles_ = true; }

  /// Writes down what an execution has found out, so that others which follow its choices find the
  /// same; no alternative is explored.
  bool record(choice_kind kind, bool found) {
    if (next_ < taken_.size() || script_) {
      found = choose_written(kind, 2) != 0;
    } else {
      push(kind, found ? 1 : 0, 2);
      taken_.back().limit = taken_.back().taken;
    }
    translate(kind, found ? 1 : 0, 2);
    return found;
  }

  /// Lets the search take the second alternative of a choice by record(), which this execution was
  /// the first to make. False if the execution follows a list, or is a random one.
  bool reopen(std::size_t which) {
    if (script_ || random_ || which < base_) return false;
    taken_[which].limit = taken_[which].count;
    return true;
  }

  /// What the next choice, if it is one that was made before, was said to mean; taken with it.
  std::optional<meaning> take_known(choice_kind kind) {
    if (next_ >= taken_.size()) return std::nullopt;
    const choice& known = taken_[next_];
    if (known.kind != kind) throw not_deterministic{next_};
    if (known.means == unknown_meaning) return std::nullopt;
    ++next_;
    return meaning{.what = known.means, .defers = known.defers};
  }
  /// Like choose(), but records even a single alternative; the caller then adds its meaning.
  unsigned choose_always(choice_kind kind, unsigned count) {
    if (count > 1 || next_ < taken_.size() || script_) return choose_written(kind, count);
    push(kind, 0, 1);
    return 0;
  }
  void last_means(const meaning& of) noexcept {
    taken_[next_ - 1].means = of.what;
    taken_[next_ - 1].defers = of.defers;
  }

  /// Tells whether the execution has left the recorded choices, and is somewhere new.
  [[nodiscard]] bool is_new() const noexcept { return next_ >= taken_.size(); }

  /// Moves to the next execution in depth-first order; false if there is none below `base`.
  bool advance() noexcept {
    while (taken_.size() > base_ && taken_.back().taken + 1U >= taken_.back().limit) {
      taken_.pop_back();
    }
    if (taken_.size() <= base_) return false;
    ++taken_.back().taken;
    taken_.back().means = unknown_meaning;
    return true;
  }

  /// Gives away the alternatives of the earliest choice that has any, for another worker to
  /// explore.
  std::optional<std::vector<choice>> split();

  /// The choice from which on an execution differs from the one before advance().
  [[nodiscard]] std::size_t changed() const noexcept {
    return taken_.empty() ? 0 : taken_.size() - 1;
  }

  /// Starts from a list of choices; those are never changed.
  void start_from(std::vector<choice> list) {
    taken_ = std::move(list);
    base_ = taken_.size();
    next_ = 0;
  }
  /// Writes down the list of the same execution in a search without reduction.
  void start_translation() { translation_.emplace(); }
  [[nodiscard]] bool is_translated() const noexcept { return translation_.has_value(); }
  void translate(choice_kind kind, unsigned taken, unsigned count) {
    if (translation_) translation_->push_back(made(kind, taken, count));
  }
  [[nodiscard]] const std::vector<choice>& translation() const noexcept { return *translation_; }

  /// Follows a list of choices from outside, and then always takes the first alternative.
  void follow(std::vector<std::uint8_t> script) { script_ = std::move(script); }
  void be_random(std::uint64_t seed) { random_.emplace(seed); }

  /// Whether all executions are searched, and this one is not a given or a random one.
  [[nodiscard]] bool explores() const noexcept { return !script_ && !random_; }

  [[nodiscard]] const std::vector<choice>& list() const noexcept { return taken_; }
  [[nodiscard]] std::size_t used() const noexcept { return next_; }

 private:
  unsigned fresh(unsigned count) {
    if (script_) {
      const unsigned taken = next_ < script_->size() ? (*script_)[next_] : 0;
      if (taken >= count) throw stale_replay{next_};
      return taken;
    }
    return random_ ? static_cast<unsigned>((*random_)() % count) : 0;
  }

  void push(choice_kind kind, unsigned taken, unsigned count) {
    taken_.push_back(made(kind, taken, count));
    if (settles_) taken_.back().limit = taken_.back().taken;
    ++next_;
  }
  static choice made(choice_kind kind, unsigned taken, unsigned count) noexcept {
    return {.kind = kind,
            .taken = static_cast<std::uint8_t>(taken),
            .count = static_cast<std::uint8_t>(count),
            .limit = static_cast<std::uint8_t>(count),
            .means = unknown_meaning};
  }

  std::vector<choice> taken_;
  std::size_t base_ = 0;
  std::size_t next_ = 0;
  bool settles_ = false;
  std::optional<std::minstd_rand> random_;
  std::optional<std::vector<std::uint8_t>> script_;
  std::optional<std::vector<choice>> translation_;
};

/// Returns the list as text: each choice is a digit of base 36; nullopt if the text is invalid.
std::string to_text(const std::vector<choice>& list);
std::optional<std::vector<std::uint8_t>> from_text(std::string_view text);

}  // namespace lockyard::model
