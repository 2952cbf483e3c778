// SPDX-License-Identifier: Apache-2.0
#include "choices.hpp"

#include <utility>

namespace lockyard::model {

namespace {

constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr char wide = '_';  // precedes two digits

}  // namespace

std::optional<std::vector<choice>> choices::split() {
  for (std::size_t i = base_; i < taken_.size(); ++i) {
    choice& mine = taken_[i];
    if (mine.taken + 1U >= mine.limit) continue;
    std::vector<choice> given(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    given.back().taken = --mine.limit;
    given.back().means = unknown_meaning;
    return given;
  }
  return std::nullopt;
}

std::string to_text(const std::vector<choice>& list) {
  std::string text;
  for (const choice& each : list) {
    if (each.taken < digits.size()) {
      text += digits[each.taken];
    } else {
      text += wide;
      text += digits[each.taken / digits.size()];
      text += digits[each.taken % digits.size()];
    }
  }
  return text;
}

std::optional<std::vector<std::uint8_t>> from_text(std::string_view text) {
  std::vector<std::uint8_t> list;
  const auto digit = [&text]() -> std::optional<std::size_t> {
    if (text.empty()) return std::nullopt;
    const auto value = digits.find(text.front());
    text.remove_prefix(1);
    if (value == std::string_view::npos) return std::nullopt;
    return value;
  };
  while (!text.empty()) {
    std::size_t value = 0;
    const bool is_wide = text.front() == wide;
    if (is_wide) text.remove_prefix(1);
    for (int i = 0; i < (is_wide ? 2 : 1); ++i) {
      const auto next = digit();
      if (!next) return std::nullopt;
      value = value * digits.size() + *next;
    }
    list.push_back(static_cast<std::uint8_t>(value));
  }
  return list;
}

}  // namespace lockyard::model
