// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/catalog.hpp>

// The functions of parking_lot_shim/src/lib.rs, each on a byte that the caller provides.
extern "C" {
void lockyard_parking_lot_init(unsigned char* mutex) noexcept;
void lockyard_parking_lot_lock(unsigned char* mutex) noexcept;
bool lockyard_parking_lot_try_lock(unsigned char* mutex) noexcept;
void lockyard_parking_lot_unlock(unsigned char* mutex) noexcept;
}

namespace lockyard::inline v0::peers {

/// Adds a call and a return to each function, which a Rust program has inlined.
class parking_lot_mutex {
 public:
  parking_lot_mutex() noexcept { lockyard_parking_lot_init(&state_); }
  parking_lot_mutex(const parking_lot_mutex&) = delete;
  parking_lot_mutex& operator=(const parking_lot_mutex&) = delete;

  void lock() noexcept { lockyard_parking_lot_lock(&state_); }
  bool try_lock() noexcept { return lockyard_parking_lot_try_lock(&state_); }
  void unlock() noexcept { lockyard_parking_lot_unlock(&state_); }

 private:
  unsigned char state_;
};

}  // namespace lockyard::inline v0::peers
