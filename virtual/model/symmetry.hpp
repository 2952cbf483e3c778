// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tells interchangeable threads apart in an execution. symmetry.cpp says how the search uses
// that.

#include "sequential_order.hpp"

#include <cstdint>

namespace lockyard::model {

enum class access_kind : std::uint8_t { load, store, change, failed_change, await };

/// An access to a word of the client.
struct symmetry_mark {
  access_kind kind;
  location_index where;
  message_index which;  ///< the message that was read, or written by a store
};

}  // namespace lockyard::model
