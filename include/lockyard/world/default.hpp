// SPDX-License-Identifier: Apache-2.0
#pragma once

// The world of the locks without a world argument: the real machine, watched where LOCKYARD_DEBUG
// is defined.

#if defined(LOCKYARD_DEBUG)
#include <lockyard/world/debugging.hpp>
#else
#include <lockyard/world/native.hpp>
#endif

namespace lockyard::inline v0 {

#if defined(LOCKYARD_DEBUG)
using default_world = debugging;
#else
using default_world = native;
#endif

}  // namespace lockyard::inline v0
