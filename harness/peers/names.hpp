// SPDX-License-Identifier: Apache-2.0
#pragma once

// Declarations of the locks of other libraries, of variants and of the controls, for catalog.hpp.
// Code that uses these locks includes all.hpp. The origin of a peer is its library, under the name
// that CMakeLists.txt next to this file has for it if the library may be missing.

namespace lockyard::inline v0 {

namespace peers {
class std_mutex;
class std_shared_mutex;
class std_recursive_mutex;
class std_counting_semaphore;
class pthread_mutex_normal;
class pthread_mutex_adaptive;
class pthread_mutex_recursive;
class pthread_mutex_pi;
class pthread_mutex_robust;
class pthread_spinlock;
class posix_semaphore;
class pthread_rwlock_readers;
class pthread_rwlock_writers;
class absl_mutex;
class tbb_mutex;
class tbb_spin_mutex;
class tbb_rw_mutex;
class tbb_spin_rw_mutex;
class tbb_queuing_mutex;
class tbb_speculative_spin_mutex;
class ck_fas;
class ck_ticket;
class ck_mcs;
class ck_clh;
class ck_anderson;
class nsync_mutex;
class parking_lot_mutex;
class parking_lot_rw_lock;
}  // namespace peers
namespace controls {
class null_lock;
class broken_lock;
class handwritten_spinlock;
class handwritten_futex_mutex;
class kernel_mutex;
class lock_free;
class cas_counter;
class backing_off_cas_counter;
}  // namespace controls
namespace variants {
class exchange_only;
class exchange_once;
class compare_exchange;
class compare_exchange_only;
class unlock_by_exchange;
class ticket_unlock_by_addition;
class sixteen_noops;
class four_pauses;
class many_pauses;
class four_yields;
}  // namespace variants

}  // namespace lockyard::inline v0
