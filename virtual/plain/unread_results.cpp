// SPDX-License-Identifier: Apache-2.0
#include "unread_results.hpp"

#include "places.hpp"
#include "program.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace lockyard::plain {

namespace {

using mark = std::array<unsigned char, 7>;
// nopl with these displacements
constexpr mark unread{0x0f, 0x1f, 0x80, 'u', 'n', 'r', 'd'};
constexpr mark returned{0x0f, 0x1f, 0x80, 'r', 'e', 't', 'd'};

bool is_at(const mark& looked_for, const void* return_address) {
  return std::memcmp(return_address, looked_for.data(), looked_for.size()) == 0;
}

struct frame_record {
  const frame_record* caller;
  const void* return_address;
};

/// Whether the checker is the caller, and wants no result: of a thread's function, a client's or a
/// lock's. Other callers are functions of libraries.
bool is_dropped_by_checker(const void* return_address) {
  Dl_info own{};
  Dl_info found{};
  return dladdr(reinterpret_cast<const void*>(&is_result_read), &own) != 0 &&
         dladdr(return_address, &found) != 0 && own.dli_fbase == found.dli_fbase &&
         !worker::mine().threads.has_result(execution::current()->self());
}

}  // namespace

bool is_result_read(const void* return_address, const void* frame) {
#if defined(__x86_64__)
  const auto* record = static_cast<const frame_record*>(frame);
  while (is_in_module(return_address)) {
    if (is_at(unread, return_address)) return false;
    if (!is_at(returned, return_address)) return true;
    record = record->caller;
    return_address = record->return_address;
  }
  return !is_dropped_by_checker(return_address);
#else
  return true;
#endif
}

}  // namespace lockyard::plain
