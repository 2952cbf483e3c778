// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether anything reads the result of a call of the module's code.

namespace lockyard::plain {

/// Reads the marks behind calls (src/lockyard/checks/unread_results.py). `frame` is the frame of
/// the called function, which has to have a frame pointer. Calls without a mark may read it.
bool is_result_read(const void* return_address, const void* frame);

}  // namespace lockyard::plain
