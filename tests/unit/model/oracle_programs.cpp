// SPDX-License-Identifier: Apache-2.0

// Random straight-line programs, and their text.

#include "oracle.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace lockyard::oracle {

namespace {

using std::memory_order;

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
    const unsigned most = with_.awaits ? 21 : 16;
    const unsigned kind = with_.asymmetric && below(4) == 0 ? 14 : below(most);
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
    if (with_.asymmetric && below(5) != 0) {
      return below(2) == 0 ? instruction{.does = operation::light_fence}
                           : instruction{.does = operation::heavy_fence, .order = seq_cst};
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
    case operation::light_fence: return "light fence";
    case operation::heavy_fence: return "heavy fence";
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
