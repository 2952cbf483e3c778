// SPDX-License-Identifier: Apache-2.0
#pragma once

// Durations and clocks without the rest of <chrono>: its calendars and time zones take longer to
// compile than a mutex. They are part of <mutex>, for try_lock_for().

#include <mutex>
