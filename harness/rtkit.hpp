// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockyard::harness {

/// Asks rtkit-daemon, by the command busctl, to put the calling thread under rr with this priority,
/// as desktop programs do that may not do it themselves. From then on the kernel ends a process one
/// of whose threads runs for 200 ms without blocking, on which rtkit insists. Returns why it was
/// not done; empty if it was.
std::string ask_rtkit(unsigned priority);

}  // namespace lockyard::harness
