// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <peers/names.hpp>

#include <cstdint>

// The functions of parking_lot_shim/src/lib.rs, each on a byte or a word that the caller provides.
extern "C" {
void lockyard_parking_lot_init(unsigned char* mutex) noexcept;
void lockyard_parking_lot_lock(unsigned char* mutex) noexcept;
bool lockyard_parking_lot_try_lock(unsigned char* mutex) noexcept;
void lockyard_parking_lot_unlock(unsigned char* mutex) noexcept;

void lockyard_parking_lot_rw_init(std::uintptr_t* lock) noexcept;
void lockyard_parking_lot_rw_lock(std::uintptr_t* lock) noexcept;
bool lockyard_parking_lot_rw_try_lock(std::uintptr_t* lock) noexcept;
void lockyard_parking_lot_rw_unlock(std::uintptr_t* lock) noexcept;
void lockyard_parking_lot_rw_lock_shared(std::uintptr_t* lock) noexcept;
bool lockyard_parking_lot_rw_try_lock_shared(std::uintptr_t* lock) noexcept;
void lockyard_parking_lot_rw_unlock_shared(std::uintptr_t* lock) noexcept;
}

namespace lockyard::inline v0::peers {

/// Adds a call and a return to each function, which a Rust program would inline.
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

/// The library's reader-writer lock, likewise.
class parking_lot_rw_lock {
 public:
  parking_lot_rw_lock() noexcept { lockyard_parking_lot_rw_init(&state_); }
  parking_lot_rw_lock(const parking_lot_rw_lock&) = delete;
  parking_lot_rw_lock& operator=(const parking_lot_rw_lock&) = delete;

  void lock() noexcept { lockyard_parking_lot_rw_lock(&state_); }
  bool try_lock() noexcept { return lockyard_parking_lot_rw_try_lock(&state_); }
  void unlock() noexcept { lockyard_parking_lot_rw_unlock(&state_); }

  void lock_shared() noexcept { lockyard_parking_lot_rw_lock_shared(&state_); }
  bool try_lock_shared() noexcept { return lockyard_parking_lot_rw_try_lock_shared(&state_); }
  void unlock_shared() noexcept { lockyard_parking_lot_rw_unlock_shared(&state_); }

 private:
  std::uintptr_t state_;
};

}  // namespace lockyard::inline v0::peers
