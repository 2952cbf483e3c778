// SPDX-License-Identifier: Apache-2.0
#include "reuse_clients.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "clients.hpp"

namespace lockyard::checker {

namespace {

template <class Object>
struct kind {
  using type = Object;
  std::string_view name;
};

constexpr std::tuple kinds{
    kind<reused_mutex>{"mutex"},
    kind<reused_byte_mutex>{"byte_mutex"},
    kind<reused_shared_mutex>{"shared_mutex"},
    kind<reused_shared_mutex_read>{"shared_mutex_read"},
    kind<reused_shared_mutex_write>{"shared_mutex_write"},
    kind<reused_semaphore>{"semaphore"},
    kind<reused_condition_variable>{"condition_variable"},
    kind<reused_condition_variable_any>{"condition_variable_any"},
    kind<reused_event_count>{"event_count"},
    kind<reused_auto_reset_event>{"auto_reset_event"},
    kind<reused_manual_reset_event>{"manual_reset_event"},
    kind<reused_shared_mutex_timed>{"shared_mutex_timed"},
};
constexpr std::size_t count = std::tuple_size_v<decltype(kinds)>;

/// Which thread comes when is what matters here; what memory shows of each kind is searched by the
/// clients of that kind. A wake for no reason lets a thread go on between the word that it is told
/// and the wake that follows.
constexpr model::settings bounds(unsigned spurious_wakes, bool gives_up = false) {
  return {.preemptions = 1,
          .spurious_wakes = gives_up ? 0 : spurious_wakes,
          .timeouts = gives_up ? 1U : 0U,
          .short_spins = 0,
          .old_reads = 0};
}

template <class Object>
constexpr bool gives_up = std::is_same_v<Object, reused_shared_mutex_timed>;

/// Names that live as long as the program.
template <std::size_t Old, std::size_t New, unsigned Others>
constexpr auto name_of_pair = [] {
  constexpr std::array<std::string_view, 4> parts{Others == 1 ? "reuse_" : "reuse_several_",
                                                  std::get<Old>(kinds).name, "_then_",
                                                  std::get<New>(kinds).name};
  constexpr std::size_t length =
      parts[0].size() + parts[1].size() + parts[2].size() + parts[3].size();
  std::array<char, length> name{};
  auto* to = name.data();
  for (const std::string_view part : parts) to = std::copy(part.begin(), part.end(), to);
  return name;
}();

template <std::size_t Old, std::size_t New, unsigned Others>
subject of_pair(std::string_view summary, unsigned spurious_wakes) {
  using old_type = typename std::tuple_element_t<Old, decltype(kinds)>::type;
  using new_type = typename std::tuple_element_t<New, decltype(kinds)>::type;
  constexpr auto& name = name_of_pair<Old, New, Others>;
  return {.name = {name.data(), name.size()},
          .of = group::client,
          .summary = summary,
          .make = &client_of<reuse_client<old_type, new_type, Others>>,
          .shape = {.threads = 2 + Others},
          .how = bounds(spurious_wakes, gives_up<old_type> || gives_up<new_type>)};
}

template <std::size_t... Pairs>
std::vector<subject> pairs(std::index_sequence<Pairs...> /*each*/) {
  return {of_pair<Pairs / count, Pairs % count, 1>(
      "an object, and a second one in its memory; 1 preemption, no old reads", 1)...};
}

/// A mutex asks the bucket who sleeps when it may be gone. Without the last kind, for the size of
/// the search.
template <std::size_t... New>
std::vector<subject> pairs_with_several(std::index_sequence<New...> /*each*/) {
  return {of_pair<0, New, 2>(
      "the same where sleepers of several mutexes share the bucket; 1 preemption, no old reads",
      0)...};
}

}  // namespace

/// Each kind of object that sleeps in the parking lot in the memory of each, and
/// manual_reset_event, whose wakes name its address.
std::vector<subject> reuse_clients() {
  std::vector<subject> all = pairs(std::make_index_sequence<count * count>{});
  for (const subject& each : pairs_with_several(std::make_index_sequence<count - 1>{})) {
    all.push_back(each);
  }
  return all;
}

}  // namespace lockyard::checker
