// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

/// What a part of a program tells a test that knows nothing of the library.
struct part_interface {
  std::array<const void*, 15> states;  ///< where the part takes objects of the process to be
  void (*count)(void* mutex, unsigned* counter, unsigned rounds);
  void (*lock)(void* mutex);
  void (*unlock)(void* mutex);
  std::uint32_t (*slot)();  ///< the calling thread's
  std::uintptr_t (*key)();  ///< the calling thread's
};

#if !defined(PART_FUNCTION)
#define PART_FUNCTION describe_part
#endif

extern "C" void PART_FUNCTION(part_interface* to);
