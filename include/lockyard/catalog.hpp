// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only list of this library's locks. Typed tests, harness, checker, the command's tables and
// its completion derive from it. An entry is an instance: one lock type with one choice of
// parameters. Whether a lock is timed or shared is read from its type.

#include <lockyard/concepts.hpp>
#include <lockyard/lock_traits.hpp>
#include <lockyard/park/adaptive_mutex.hpp>
#include <lockyard/park/biased_mutex.hpp>
#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/fair_mutex.hpp>
#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/owner_aware_mutex.hpp>
#include <lockyard/park/pi_mutex.hpp>
#include <lockyard/park/recursive_mutex.hpp>
#include <lockyard/park/semaphore_mutex.hpp>
#include <lockyard/park/shared_memory_mutex.hpp>
#include <lockyard/park/shared_mutex.hpp>
#include <lockyard/park/single_spinner_mutex.hpp>
#include <lockyard/park/ticket_mutex.hpp>
#include <lockyard/queue/array_spinlock.hpp>
#include <lockyard/queue/clh_spinlock.hpp>
#include <lockyard/queue/cna_spinlock.hpp>
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

namespace detail {
/// Returns an entry for one of this library's locks, with what its type says.
template <class Lock>
constexpr catalog_entry<Lock> entry_of(lock_traits traits) {
  traits.timed = timed_lockable<Lock>;
  traits.shared = shared_lockable<Lock>;
  return {traits};
}
}  // namespace detail

// clang-format off
inline constexpr std::tuple catalog{
    detail::entry_of<tas_spinlock>({
        .name = "tas_spinlock", .seed_name = "terrible_spinlock",
        .family = lock_family::spin,
        .waiting = waiting::spin, .fairness = fairness::none,
        .origin = "M. Skarupke 2019"}),
    detail::entry_of<ttas_spinlock>({
        .name = "ttas_spinlock", .seed_name = "spinlock_amd",
        .family = lock_family::spin,
        .waiting = waiting::spin, .fairness = fairness::none,
        .origin = "Rudolph and Segall 1984; M. Skarupke 2019"}),
    detail::entry_of<yielding_spinlock>({
        .name = "yielding_spinlock", .seed_name = "spinlock",
        .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::none,
        .origin = "M. Skarupke 2019"}),
    detail::entry_of<backoff_spinlock>({
        .name = "backoff_spinlock", .seed_name = "",
        .family = lock_family::spin,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "T. Anderson 1990"}),
    detail::entry_of<ticket_spinlock>({
        .name = "ticket_spinlock", .seed_name = "ticket_spinlock",
        .family = lock_family::spin,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "Reed and Kanodia 1979; M. Skarupke 2019"}),
    detail::entry_of<mutex>({
        .name = "mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .origin = "this library; Dice, Huang and Yang 2001; Pizlo 2016"}),
    detail::entry_of<basic_mutex<default_world, release_fence::full>>({
        .name = "mutex[fence]", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .origin = "mutex, with a fence in unlock"}),
    detail::entry_of<biased_mutex<>>({
        .name = "biased_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .origin = "Vasudevan, Namjoshi and Edwards 2010; Dice, Huang and Yang 2001"}),
    detail::entry_of<byte_mutex>({
        .name = "byte_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "F. Pizlo 2016; the Rust crate parking_lot"}),
    detail::entry_of<array_spinlock>({
        .name = "array_spinlock", .seed_name = "",
        .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "T. Anderson 1990"}),
    detail::entry_of<mcs_spinlock>({
        .name = "mcs_spinlock", .seed_name = "",
        .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "Mellor-Crummey and Scott 1991"}),
    detail::entry_of<clh_spinlock>({
        .name = "clh_spinlock", .seed_name = "",
        .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "T. Craig 1993; Magnusson, Landin and Hagersten 1994"}),
    detail::entry_of<cna_spinlock>({
        .name = "cna_spinlock", .seed_name = "",
        .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::bounded_bypass,
        .origin = "Dice and Kogan 2019"}),
    detail::entry_of<queued_spinlock>({
        .name = "queued_spinlock", .seed_name = "",
        .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .origin = "W. Long and P. Zijlstra 2015"}),
    detail::entry_of<futex_mutex>({
        .name = "futex_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "U. Drepper 2004"}),
    detail::entry_of<adaptive_mutex>({
        .name = "adaptive_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "Solaris and the C library; U. Drepper 2004"}),
    detail::entry_of<owner_aware_mutex>({
        .name = "owner_aware_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "Linux' mutex (Zijlstra 2009); Gleixner 2025; U. Drepper 2004"}),
    detail::entry_of<single_spinner_mutex>({
        .name = "single_spinner_mutex", .seed_name = "spin_to_futex_mutex",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "M. Skarupke 2019"}),
    detail::entry_of<ticket_mutex>({
        .name = "ticket_mutex", .seed_name = "ticket_mutex",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::fifo,
        .origin = "Reed and Kanodia 1979; M. Skarupke 2019"}),
    detail::entry_of<pi_mutex>({
        .name = "pi_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "Molnar and Gleixner 2006; Sha, Rajkumar and Lehoczky 1990"}),
    detail::entry_of<fair_mutex>({
        .name = "fair_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .origin = "Windows' slim lock; Auslander and others 2002 (K42)"}),
    detail::entry_of<basic_fair_mutex<default_world, handoff_policy::strict>>({
        .name = "fair_mutex[strict]", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::fifo,
        .origin = "Windows' slim lock; Auslander and others 2002 (K42)"}),
    detail::entry_of<basic_fair_mutex<default_world, handoff_policy::barging>>({
        .name = "fair_mutex[barging]", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "Windows' slim lock; Auslander and others 2002 (K42)"}),
    detail::entry_of<recursive_mutex<>>({
        .name = "recursive_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .recursive = true,
        .origin = "mutex, with an owner and a count; POSIX"}),
    detail::entry_of<semaphore_mutex>({
        .name = "semaphore_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .owned = false,
        .origin = "E. Dijkstra 1965"}),
    detail::entry_of<shared_memory_mutex>({
        .name = "shared_memory_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::none,
        .origin = "U. Drepper 2004; Molnar and Gleixner 2006 (robust futexes)"}),
    detail::entry_of<shared_mutex>({
        .name = "shared_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .origin = "Brandenburg and Anderson 2010; Pizlo 2016; H. Hinnant 2007"}),
    detail::entry_of<throwing<resilient_spinlock>>({
        .name = "resilient_spinlock", .seed_name = "",
        .family = lock_family::queue,
        .waiting = waiting::yield, .fairness = fairness::fifo,
        .recovering = true,
        .origin = "Dwivedi and Starovoitov 2025 (Linux); Scott and Scherer 2001"}),
    detail::entry_of<throwing<resilient_mutex>>({
        .name = "resilient_mutex", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .recovering = true,
        .origin = "resilient_spinlock, with sleep"}),
    detail::entry_of<throwing<basic_resilient_mutex<default_world, resilience{.recovers = false}>>>({
        .name = "resilient_mutex[plain]", .seed_name = "",
        .family = lock_family::park,
        .waiting = waiting::park, .fairness = fairness::bounded_bypass,
        .origin = "resilient_mutex, with its recovery compiled out"}),
};
// clang-format on

/// Calls `visit` with every entry of the catalogue, in its order.
template <class Visitor>
constexpr void for_each_entry(Visitor&& visit) {
  std::apply([&](const auto&... entries) { (visit(entries), ...); }, catalog);
}

}  // namespace lockyard::inline v0
