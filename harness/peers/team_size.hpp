// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockyard::inline v0::peers {

/// The largest number of threads that use a lock constructed from now on, for locks with a slot for
/// each thread. Written before there is a second thread.
inline constinit unsigned team_size = 64;

}  // namespace lockyard::inline v0::peers
