// SPDX-License-Identifier: Apache-2.0
#pragma once

// The position of a thread in the program. Only the debug mode uses this file: the native world
// does not include it.

#include <lockyard/detail/os/linux.hpp>

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace lockyard::inline v0::detail::os {

/// A stack of calls, the innermost first: return addresses, and null after the last one.
struct call_stack {
  static constexpr std::size_t depth = 12;
  std::array<const void*, depth> calls;
};

/// Returns the stack of calls whose innermost call returns to `from`. Acquires no lock of the
/// program, and allocates no memory.
[[gnu::noinline]] inline call_stack calls_from(const void* from) noexcept {
  struct walk {
    const void* from;
    call_stack found;
    std::size_t count;
  };
  walk walked{from, {}, 0};
  const auto step = [](_Unwind_Context* frame, void* argument) {
    auto& self = *static_cast<walk*>(argument);
    const auto* const call = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
    if (call == nullptr || self.count == call_stack::depth) return _URC_END_OF_STACK;
    if (self.count > 0 || call == self.from) self.found.calls[self.count++] = call;
    return _URC_NO_REASON;
  };
  _Unwind_Backtrace(step, &walked);
  if (walked.count == 0) walked.found.calls[0] = from;  // the caller has no unwind table
  return walked.found;
}

/// Whether the address belongs to the static data of a program or library, not to stack or heap.
inline bool is_static(const void* address) noexcept {
  Dl_info found;
  return dladdr(address, &found) != 0;
}

/// Prints `module+offset (symbol+offset)`. The first offset is for addr2line; both offsets point
/// into the call instruction, not behind it.
inline void print_call(std::FILE* out, const void* return_address) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  Dl_info info{};
  void* extra = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(address), &info, &extra, RTLD_DL_LINKMAP) == 0 ||
      extra == nullptr) {
    std::fprintf(out, "%#zx", static_cast<std::size_t>(address));
    return;
  }
  const auto* const module = static_cast<const link_map*>(extra);
  std::fprintf(out, "%s+%#zx", info.dli_fname, static_cast<std::size_t>(address - module->l_addr));
  if (info.dli_sname == nullptr) return;
  const auto symbol = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
  std::fprintf(out, " (%s+%#zx)", info.dli_sname, static_cast<std::size_t>(address - symbol));
}

}  // namespace lockyard::inline v0::detail::os
