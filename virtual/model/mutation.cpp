// SPDX-License-Identifier: Apache-2.0
#include "mutation.hpp"

#include "trace.hpp"

#include <array>
#include <cstring>
#include <string_view>

namespace lockyard::model {

namespace {

std::vector<std::memory_order> weaker_than(std::memory_order order) {
  switch (order) {
    case std::memory_order_seq_cst: return {std::memory_order_acq_rel};
    case std::memory_order_acq_rel: return {std::memory_order_acquire, std::memory_order_release};
    case std::memory_order_acquire:
    case std::memory_order_release: return {std::memory_order_relaxed};
    default: return {};
  }
}

}  // namespace

std::string file_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

site site::of(std::source_location where, unsigned argument) {
  return {.file = file_name(where.file_name()),
          .line = where.line(),
          .column = where.column(),
          .argument = argument};
}

bool mutation::is_at(std::source_location place, unsigned argument) const {
  return place.line() == where.line && place.column() == where.column &&
         argument == where.argument && file_name(place.file_name()) == where.file;
}

std::vector<mutation> mutations_of(const site_list& sites) {
  std::vector<mutation> all;
  for (const site_use& each : sites) {
    if (each.where.argument == wake_argument) {
      all.push_back({.where = each.where, .becomes = each.order});
      continue;
    }
    for (const std::memory_order weaker : weaker_than(each.order)) {
      all.push_back({.where = each.where, .becomes = weaker});
    }
  }
  return all;
}

std::string name_of(std::memory_order order) {
  constexpr std::array<std::string_view, 6> names{"relaxed", "consume", "acquire",
                                                  "release", "acq_rel", "seq_cst"};
  return std::string{names[static_cast<std::size_t>(order)]};
}

std::string described(const mutation& of, std::memory_order was) {
  const std::string place =
      of.where.file + ":" + std::to_string(of.where.line) + ":" + std::to_string(of.where.column);
  if (of.drops_wake()) return place + " wake dropped";
  const std::string which = of.where.argument == 0 ? " " : " (failure) ";
  return place + which + name_of(was) + " -> " + name_of(of.becomes);
}

}  // namespace lockyard::model
