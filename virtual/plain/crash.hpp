// SPDX-License-Identifier: Apache-2.0
#pragma once

// Signals that end a program: code under the checker calls a function where there is none, or
// divides by zero. The execution in which it does so fails, and the search ends with a verdict.

namespace lockyard::plain {

/// From now on a crash of the code is the failure of its execution. After a crash of the checker
/// itself, and where the code needs more stack than there is, `end` is called, which must not
/// return and uses nothing that the crash may have left locked.
void report_crashes(void (*end)(const char* reason));
/// Gives the calling thread of the system the stack on which its crash is reported.
void prepare_for_crashes();

}  // namespace lockyard::plain
