// SPDX-License-Identifier: Apache-2.0
#include "reuse_clients.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "clients.hpp"

namespace lockyard::checker {

namespace {

constexpr std::size_t count = reused_kinds.size();

/// Which thread comes when is what matters here; what memory shows of each kind is searched by the
/// clients of that kind. A wake for no reason lets a thread go on between the word that it is told
/// and the wake that follows.
constexpr model::settings bounds(unsigned spurious_wakes, bool gives_up) {
  return {.preemptions = 1,
          .spurious_wakes = gives_up ? 0 : spurious_wakes,
          .timeouts = gives_up ? 1U : 0U,
          .short_spins = 0,
          .old_reads = 0};
}

/// Names that live as long as the program.
template <std::size_t Old, std::size_t New, unsigned Others>
constexpr auto name_of_pair = [] {
  constexpr std::array<std::string_view, 4> parts{Others == 1 ? "reuse_" : "reuse_several_",
                                                  reused_kinds[Old].name, "_then_",
                                                  reused_kinds[New].name};
  constexpr std::size_t length =
      parts[0].size() + parts[1].size() + parts[2].size() + parts[3].size();
  std::array<char, length> name{};
  auto* to = name.data();
  for (const std::string_view part : parts) to = std::copy(part.begin(), part.end(), to);
  return name;
}();

template <std::size_t Old, std::size_t New, unsigned Others>
checked_client of_pair(std::string_view summary, unsigned spurious_wakes) {
  constexpr auto& name = name_of_pair<Old, New, Others>;
  return {.name = {name.data(), name.size()},
          .of = group::client,
          .summary = summary,
          .make = [](const model::client_size& /*size*/) -> model::client_maker {
            return [] {
              return std::make_unique<reused_memory_client>(reused_kinds[Old], reused_kinds[New],
                                                            Others);
            };
          },
          .size = {.threads = 2 + Others},
          .how = bounds(spurious_wakes, reused_kinds[Old].gives_up || reused_kinds[New].gives_up)};
}

template <std::size_t... Pairs>
std::vector<checked_client> pairs(std::index_sequence<Pairs...> /*each*/) {
  return {of_pair<Pairs / count, Pairs % count, 1>(
      "an object, and a second one in its memory; 1 preemption, no old reads", 1)...};
}

/// A mutex asks the bucket who sleeps when it may be gone. Without the last kind, for the size of
/// the search.
template <std::size_t... New>
std::vector<checked_client> pairs_with_several(std::index_sequence<New...> /*each*/) {
  return {of_pair<0, New, 2>(
      "the same where sleepers of several mutexes share the bucket; 1 preemption, no old reads",
      0)...};
}

}  // namespace

std::vector<checked_client> reuse_clients() {
  std::vector<checked_client> all = pairs(std::make_index_sequence<count * count>{});
  for (const checked_client& each : pairs_with_several(std::make_index_sequence<count - 1>{})) {
    all.push_back(each);
  }
  return all;
}

}  // namespace lockyard::checker
