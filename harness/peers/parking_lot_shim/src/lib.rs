// SPDX-License-Identifier: Apache-2.0

//! parking_lot's mutex for C. A panic ends the process (Cargo.toml), so none reaches the caller.

use parking_lot::lock_api::RawMutex as _;
use parking_lot::RawMutex;

// What the caller provides is one byte of any alignment.
const _: () = assert!(size_of::<RawMutex>() == 1 && align_of::<RawMutex>() == 1);

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
