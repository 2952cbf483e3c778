// SPDX-License-Identifier: Apache-2.0
#pragma once

// A mark that the kernel wipes out when the thread loses its processor, or handles a signal: the
// descriptor of a restartable sequence in which the thread never is. Needs no system call.

#include "layout.hpp"

namespace lockyard::preload::record {

/// Sets the calling thread's mark, unless the thread is in a restartable sequence of the program's.
void set_mark();

/// Returns whether the calling thread kept its processor since set_mark(), and takes the mark off.
/// Where the kernel or glibc has no marks, every thread seems to have kept its processor.
bool take_mark_off();

}  // namespace lockyard::preload::record
