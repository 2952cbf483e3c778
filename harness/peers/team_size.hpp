// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockyard::inline v0::peers {

/// How many threads at most use a lock that is constructed from now on, for locks with a slot for
/// each. Written before there is a second thread.
inline constinit unsigned team_size = 64;

}  // namespace lockyard::inline v0::peers
