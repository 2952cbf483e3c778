// SPDX-License-Identifier: Apache-2.0

// A library for LD_PRELOAD that replaces the functions by ones that call glibc. The difference to
// the program alone is what being preloaded costs, and what the difference of two equal runs is.

#include "../forwarding.hpp"
#include "../start.hpp"

namespace lockyard::preload {

using backend = forwarding;

namespace {
[[gnu::constructor]] void begin() {
  start("glibc");
}
}  // namespace

}  // namespace lockyard::preload

#include "../entry.hpp"
