// SPDX-License-Identifier: Apache-2.0

//! parking_lot's mutex and its reader-writer lock for C. A panic ends the process (Cargo.toml), so
//! none reaches the caller.

use parking_lot::lock_api::{RawMutex as _, RawRwLock as _};
use parking_lot::{RawMutex, RawRwLock};

// What the caller provides is one byte of any alignment.
const _: () = assert!(size_of::<RawMutex>() == 1 && align_of::<RawMutex>() == 1);
// And a word.
const _: () = assert!(size_of::<RawRwLock>() == size_of::<usize>());
const _: () = assert!(align_of::<RawRwLock>() == align_of::<usize>());

/// # Safety
/// `mutex` points to a byte that nobody else uses meanwhile.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_init(mutex: *mut RawMutex) {
    mutex.write(RawMutex::INIT);
}

/// # Safety
/// `mutex` was initialised.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_lock(mutex: *const RawMutex) {
    (*mutex).lock();
}

/// # Safety
/// `mutex` was initialised.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_try_lock(mutex: *const RawMutex) -> bool {
    (*mutex).try_lock()
}

/// # Safety
/// The calling thread holds `mutex`.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_unlock(mutex: *const RawMutex) {
    (*mutex).unlock();
}

/// # Safety
/// `lock` points to a word that nobody else uses meanwhile.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_rw_init(lock: *mut RawRwLock) {
    lock.write(RawRwLock::INIT);
}

/// # Safety
/// `lock` was initialised.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_rw_lock(lock: *const RawRwLock) {
    (*lock).lock_exclusive();
}

/// # Safety
/// `lock` was initialised.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_rw_try_lock(lock: *const RawRwLock) -> bool {
    (*lock).try_lock_exclusive()
}

/// # Safety
/// The calling thread holds `lock` alone.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_rw_unlock(lock: *const RawRwLock) {
    (*lock).unlock_exclusive();
}

/// # Safety
/// `lock` was initialised.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_rw_lock_shared(lock: *const RawRwLock) {
    (*lock).lock_shared();
}

/// # Safety
/// `lock` was initialised.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_rw_try_lock_shared(lock: *const RawRwLock) -> bool {
    (*lock).try_lock_shared()
}

/// # Safety
/// The calling thread holds `lock` beside others.
#[no_mangle]
pub unsafe extern "C" fn lockyard_parking_lot_rw_unlock_shared(lock: *const RawRwLock) {
    (*lock).unlock_shared();
}
