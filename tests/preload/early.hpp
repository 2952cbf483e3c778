// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A library whose constructor runs before a preloaded library's, and its destructor after.
namespace early {

/// Uses a mutex of each type, a condition variable and a thread; returns 0 if all went well.
int use_all();

/// What use_all() returned in the library's constructor.
extern int result_of_constructor;

}  // namespace early
