// SPDX-License-Identifier: Apache-2.0
#pragma once

// The locks that are measured: the library's catalogue, the locks of other libraries, variants of
// M. Skarupke's spinlock (spin_variants.hpp), and controls.
// An entry may name an incomplete type: its library may be missing.

#include <lockyard/catalog.hpp>

#include <peers/names.hpp>

#include <tuple>
#include <utility>

namespace lockyard::harness::catalogued {

// clang-format off
inline constexpr std::tuple others{
    catalog_entry<peers::std_mutex>{{
        .name = "std::mutex", .seed_name = "std::mutex",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "the C++ standard library"}},
    catalog_entry<peers::std_shared_mutex>{{
        .name = "std::shared_mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none, .shared = true,
        .origin = "the C++ standard library"}},
    catalog_entry<peers::std_recursive_mutex>{{
        .name = "std::recursive_mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .recursive = true,
        .origin = "the C++ standard library"}},
    catalog_entry<peers::std_counting_semaphore>{{
        .name = "std::counting_semaphore", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "the C++ standard library"}},
    catalog_entry<peers::pthread_mutex_normal>{{
        .name = "pthread_mutex[normal]", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "the C library"}},
    catalog_entry<peers::pthread_mutex_adaptive>{{
        .name = "pthread_mutex[adaptive]", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "the C library"}},
    catalog_entry<peers::pthread_mutex_recursive>{{
        .name = "pthread_mutex[recursive]", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .recursive = true,
        .origin = "the C library"}},
    catalog_entry<peers::pthread_mutex_pi>{{
        .name = "pthread_mutex[pi]", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "the C library"}},
    catalog_entry<peers::pthread_mutex_robust>{{
        .name = "pthread_mutex[robust]", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .recovering = true,
        .origin = "the C library"}},
    catalog_entry<peers::pthread_spinlock>{{
        .name = "pthread_spinlock", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::spin,
        .waiting = waiting::spin, .fairness = fairness::none,
        .origin = "the C library"}},
    catalog_entry<peers::posix_semaphore>{{
        .name = "sem_t", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "the C library"}},
    catalog_entry<peers::pthread_rwlock_readers>{{
        .name = "pthread_rwlock[readers]", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none, .shared = true,
        .origin = "the C library"}},
    catalog_entry<peers::pthread_rwlock_writers>{{
        .name = "pthread_rwlock[writers]", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none, .shared = true,
        .origin = "the C library"}},
    catalog_entry<peers::absl_mutex>{{
        .name = "absl::Mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none, .shared = true,
        .origin = "Abseil"}},
    catalog_entry<peers::tbb_mutex>{{
        .name = "tbb::mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "oneTBB"}},
    catalog_entry<peers::tbb_spin_mutex>{{
        .name = "tbb::spin_mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "oneTBB"}},
    catalog_entry<peers::tbb_queuing_mutex>{{
        .name = "tbb::queuing_mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "oneTBB"}},
    catalog_entry<peers::tbb_speculative_spin_mutex>{{
        .name = "tbb::speculative_spin_mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "oneTBB"}},
    catalog_entry<peers::tbb_rw_mutex>{{
        .name = "tbb::rw_mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none, .shared = true,
        .origin = "oneTBB"}},
    catalog_entry<peers::tbb_spin_rw_mutex>{{
        .name = "tbb::spin_rw_mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none, .shared = true,
        .origin = "oneTBB"}},
    catalog_entry<peers::ck_fas>{{
        .name = "ck_spinlock_fas", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::spin,
        .waiting = waiting::spin, .fairness = fairness::none,
        .origin = "Concurrency Kit"}},
    catalog_entry<peers::ck_ticket>{{
        .name = "ck_spinlock_ticket", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::spin,
        .waiting = waiting::spin, .fairness = fairness::fifo,
        .origin = "Concurrency Kit"}},
    catalog_entry<peers::ck_mcs>{{
        .name = "ck_spinlock_mcs", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::queue,
        .waiting = waiting::spin, .fairness = fairness::fifo,
        .origin = "Concurrency Kit"}},
    catalog_entry<peers::ck_clh>{{
        .name = "ck_spinlock_clh", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::queue,
        .waiting = waiting::spin, .fairness = fairness::fifo,
        .origin = "Concurrency Kit"}},
    catalog_entry<peers::ck_anderson>{{
        .name = "ck_spinlock_anderson", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::queue,
        .waiting = waiting::spin, .fairness = fairness::fifo,
        .origin = "Concurrency Kit"}},
    catalog_entry<peers::nsync_mutex>{{
        .name = "nsync_mu", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "nsync"}},
    catalog_entry<peers::parking_lot_mutex>{{
        .name = "parking_lot::Mutex", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "parking_lot"}},
    catalog_entry<peers::parking_lot_rw_lock>{{
        .name = "parking_lot::RwLock", .seed_name = "",
        .kind = lock_kind::peer, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none, .shared = true,
        .origin = "parking_lot"}},

    catalog_entry<variants::exchange_only>{{
        .name = "spin_variant[exchange_only]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: exchanges, and never reads in between"}},
    catalog_entry<variants::exchange_once>{{
        .name = "spin_variant[exchange_once]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: one exchange, then a yield, and so on"}},
    catalog_entry<variants::compare_exchange>{{
        .name = "spin_variant[compare_exchange]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: reads, then compares and exchanges"}},
    catalog_entry<variants::compare_exchange_only>{{
        .name = "spin_variant[compare_exchange_only]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: compares and exchanges, and never reads in between"}},
    catalog_entry<variants::unlock_by_exchange>{{
        .name = "spin_variant[unlock_by_exchange]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: yielding_spinlock whose unlock is an exchange"}},
    catalog_entry<variants::ticket_unlock_by_addition>{{
        .name = "spin_variant[unlock_by_addition]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "M. Skarupke 2019: ticket_spinlock whose unlock is an atomic addition"}},
    catalog_entry<variants::sixteen_noops>{{
        .name = "spin_variant[16_noops]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: yielding_spinlock with idle loops instead of pauses"}},
    catalog_entry<variants::four_pauses>{{
        .name = "spin_variant[4_pauses]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: yielding_spinlock that yields after 4 pauses"}},
    catalog_entry<variants::many_pauses>{{
        .name = "spin_variant[256_pauses]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: yielding_spinlock that yields after 256 pauses"}},
    catalog_entry<variants::four_yields>{{
        .name = "spin_variant[4_yields]", .seed_name = "",
        .kind = lock_kind::variant, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019: yielding_spinlock that yields four times"}},

    catalog_entry<controls::null_lock>{{
        .name = "null_lock", .seed_name = "",
        .kind = lock_kind::control, .family = lock_family::none,
        .waiting = waiting::none, .fairness = fairness::none,
        .shared = true, .excludes = false,
        .origin = "does nothing: what remains is the harness's own cost"}},
    catalog_entry<controls::broken_lock>{{
        .name = "broken_lock", .seed_name = "",
        .kind = lock_kind::control, .family = lock_family::none,
        .waiting = waiting::none, .fairness = fairness::none, .shared = true,
        .origin = "claims to exclude and does not: every check has to catch it"}},
    catalog_entry<controls::handwritten_spinlock>{{
        .name = "handwritten_spinlock", .seed_name = "",
        .kind = lock_kind::control, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "exchange and store, written without a world: the floor for yielding_spinlock"}},
    catalog_entry<controls::handwritten_futex_mutex>{{
        .name = "handwritten_futex_mutex", .seed_name = "",
        .kind = lock_kind::control, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "three states, written without a world: the floor for futex_mutex"}},
    catalog_entry<controls::kernel_mutex>{{
        .name = "kernel_mutex", .seed_name = "",
        .kind = lock_kind::control, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "enters the kernel for each call: what locks are said to cost"}},
    catalog_entry<controls::lock_free>{{
        .name = "lock_free", .seed_name = "",
        .kind = lock_kind::control, .family = lock_family::none,
        .waiting = waiting::none, .fairness = fairness::none, .excludes = false,
        .origin = "no lock: an atomic addition, in patterns a lock-free stack or queue"}},
    catalog_entry<controls::cas_counter>{{
        .name = "lock_free[cas]", .seed_name = "",
        .kind = lock_kind::control, .family = lock_family::none,
        .waiting = waiting::none, .fairness = fairness::none, .excludes = false,
        .origin = "no lock: compare-and-exchange, at once again after a failure"}},
    catalog_entry<controls::backing_off_cas_counter>{{
        .name = "lock_free[backoff]", .seed_name = "",
        .kind = lock_kind::control, .family = lock_family::none,
        .waiting = waiting::none, .fairness = fairness::none, .excludes = false,
        .origin = "no lock: compare-and-exchange, with growing pauses after failures"}},
};
// clang-format on

inline constexpr auto all = std::tuple_cat(catalog, others);

/// Calls `visit` with every entry, in its order.
template <class Visitor>
constexpr void for_each_lock(Visitor&& visit) {
  std::apply([&](const auto&... entries) { (visit(entries), ...); }, all);
}

/// The entry of one of the locks.
template <class Lock>
constexpr const lock_traits& traits_of() {
  return std::get<catalog_entry<Lock>>(all).traits;
}

}  // namespace lockyard::harness::catalogued
