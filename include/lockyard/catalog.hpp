// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only list of locks. Typed tests, harness, checker, the command's tables and its completion
// derive from it. An entry is an instance: one lock type with one choice of parameters.

#include <lockyard/detail/peer_names.hpp>
#include <lockyard/lock_traits.hpp>
#include <lockyard/park/adaptive_mutex.hpp>
#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/fair_mutex.hpp>
#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/pi_mutex.hpp>
#include <lockyard/park/recursive_mutex.hpp>
#include <lockyard/park/semaphore_mutex.hpp>
#include <lockyard/park/shared_mutex.hpp>
#include <lockyard/park/single_spinner_mutex.hpp>
#include <lockyard/park/ticket_mutex.hpp>
#include <lockyard/queue/array_spinlock.hpp>
#include <lockyard/queue/clh_spinlock.hpp>
#include <lockyard/queue/mcs_spinlock.hpp>
#include <lockyard/queue/queued_spinlock.hpp>
#include <lockyard/resilient/resilient_mutex.hpp>
#include <lockyard/resilient/resilient_spinlock.hpp>
#include <lockyard/spin/backoff_spinlock.hpp>
#include <lockyard/spin/tas_spinlock.hpp>
#include <lockyard/spin/ticket_spinlock.hpp>
#include <lockyard/spin/ttas_spinlock.hpp>
#include <lockyard/spin/yielding_spinlock.hpp>
#include <lockyard/world/in_world.hpp>

#include <tuple>

namespace lockyard::inline v0 {

// clang-format off
inline constexpr std::tuple catalog{
    catalog_entry<tas_spinlock>{{
        .name = "tas_spinlock", .seed_name = "terrible_spinlock",
        .kind = lock_kind::ours, .family = lock_family::spin,
        .waiting = waiting::spin, .fairness = fairness::none,
        .origin = "M. Skarupke 2019"}},
    catalog_entry<ttas_spinlock>{{
        .name = "ttas_spinlock", .seed_name = "spinlock_amd",
        .kind = lock_kind::ours, .family = lock_family::spin,
        .waiting = waiting::spin, .fairness = fairness::none,
        .origin = "Rudolph and Segall 1984; M. Skarupke 2019"}},
    catalog_entry<yielding_spinlock>{{
        .name = "yielding_spinlock", .seed_name = "spinlock",
        .kind = lock_kind::ours, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019"}},
    catalog_entry<backoff_spinlock>{{
        .name = "backoff_spinlock", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::spin,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "T. Anderson 1990"}},
    catalog_entry<ticket_spinlock>{{
        .name = "ticket_spinlock", .seed_name = "ticket_spinlock",
        .kind = lock_kind::ours, .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "Reed and Kanodia 1979; M. Skarupke 2019"}},
    catalog_entry<mutex>{{
        .name = "mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .timed = true,
        .origin = "this library; Dice, Huang and Yang 2001; Pizlo 2016"}},
    catalog_entry<basic_mutex<default_world, release_fence::full>>{{
        .name = "mutex[fence]", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .timed = true,
        .origin = "mutex, with a fence in unlock"}},
    catalog_entry<byte_mutex>{{
        .name = "byte_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .timed = true, .shared = false, .recursive = false, .recovering = false, .excludes = true,
        .origin = "F. Pizlo 2016; the Rust crate parking_lot"}},
    catalog_entry<array_spinlock>{{
        .name = "array_spinlock", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "T. Anderson 1990"}},
    catalog_entry<mcs_spinlock>{{
        .name = "mcs_spinlock", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "Mellor-Crummey and Scott 1991"}},
    catalog_entry<clh_spinlock>{{
        .name = "clh_spinlock", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "T. Craig 1993; Magnusson, Landin and Hagersten 1994"}},
    catalog_entry<queued_spinlock>{{
        .name = "queued_spinlock", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "W. Long and P. Zijlstra 2015"}},
    catalog_entry<futex_mutex>{{
        .name = "futex_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .timed = true,
        .origin = "U. Drepper 2004"}},
    catalog_entry<adaptive_mutex>{{
        .name = "adaptive_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .timed = true,
        .origin = "Solaris and the C library; U. Drepper 2004"}},
    catalog_entry<single_spinner_mutex>{{
        .name = "single_spinner_mutex", .seed_name = "spin_to_futex_mutex",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .timed = true,
        .origin = "M. Skarupke 2019"}},
    catalog_entry<ticket_mutex>{{
        .name = "ticket_mutex", .seed_name = "ticket_mutex",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::fifo,
        .timed = true,
        .origin = "Reed and Kanodia 1979; M. Skarupke 2019"}},
    catalog_entry<pi_mutex>{{
        .name = "pi_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .timed = true,
        .origin = "Molnar and Gleixner 2006; Sha, Rajkumar and Lehoczky 1990"}},
    catalog_entry<fair_mutex>{{
        .name = "fair_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .timed = true,
        .origin = "Windows' slim lock; Auslander and others 2002 (K42)"}},
    catalog_entry<basic_fair_mutex<default_world, handoff_policy::strict>>{{
        .name = "fair_mutex[strict]", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::fifo,
        .timed = true,
        .origin = "Windows' slim lock; Auslander and others 2002 (K42)"}},
    catalog_entry<basic_fair_mutex<default_world, handoff_policy::barging>>{{
        .name = "fair_mutex[barging]", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .timed = true,
        .origin = "Windows' slim lock; Auslander and others 2002 (K42)"}},
    catalog_entry<recursive_mutex<>>{{
        .name = "recursive_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .timed = true, .shared = false, .recursive = true,
        .origin = "mutex, with an owner and a count; POSIX"}},
    catalog_entry<semaphore_mutex>{{
        .name = "semaphore_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .timed = true, .shared = false, .recursive = false, .recovering = false, .excludes = true,
        .owned = false,
        .origin = "E. Dijkstra 1965"}},
    catalog_entry<shared_mutex>{{
        .name = "shared_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .timed = true, .shared = true,
        .origin = "Brandenburg and Anderson 2010; Pizlo 2016; H. Hinnant 2007"}},
    catalog_entry<throwing<resilient_spinlock>>{{
        .name = "resilient_spinlock", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .timed = true, .shared = false, .recursive = false, .recovering = true,
        .origin = "Dwivedi and Starovoitov 2025 (Linux); Scott and Scherer 2001"}},
    catalog_entry<throwing<resilient_mutex>>{{
        .name = "resilient_mutex", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .timed = true, .shared = false, .recursive = false, .recovering = true,
        .origin = "resilient_spinlock, with sleep"}},
    catalog_entry<throwing<basic_resilient_mutex<default_world, resilience{.recovers = false}>>>{{
        .name = "resilient_mutex[plain]", .seed_name = "",
        .kind = lock_kind::ours, .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .origin = "resilient_mutex, with its recovery compiled out"}},

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
};
// clang-format on

/// Calls `visit` with every entry of the catalogue, in its order.
template <class Visitor>
constexpr void for_each_entry(Visitor&& visit) {
  std::apply([&](const auto&... entries) { (visit(entries), ...); }, catalog);
}

}  // namespace lockyard::inline v0
