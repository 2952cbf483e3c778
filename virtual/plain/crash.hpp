// SPDX-License-Identifier: Apache-2.0
#pragma once

// Code under the checker that uses memory which does not exist ends the checker. One record with
// the reason comes first.

namespace lockyard::plain {

/// From now on a crash writes its reason, as the record of an error, to this file.
void report_crashes(int to);
/// Gives the calling thread of the system the stack on which its crash is reported.
void prepare_for_crashes();

}  // namespace lockyard::plain
