// SPDX-License-Identifier: Apache-2.0

// A module as `lockyard check --lock` makes one. The name of an entry is the verdict that it must
// have, and what it is.

#include "clients.hpp"
#include "locks.hpp"

#include <plain/module.hpp>

using namespace plain_locks;
using lockyard::plain::entry_of_client;
using lockyard::plain::entry_of_lock;

extern "C" {
constinit const lockyard::plain::entry lockyard_plain_entries[] = {
    entry_of_lock<ttas<>>("passed: ttas"),
    entry_of_lock<ttas<relaxed>>("race: ttas, relaxed exchange"),
    entry_of_lock<ttas<acquire, relaxed>>("race: ttas, relaxed store"),
    entry_of_lock<flag<>>("passed: atomic_flag"),
    entry_of_lock<flag<relaxed>>("race: atomic_flag, relaxed"),
    entry_of_lock<ticket<>>("passed: ticket"),
    entry_of_lock<ticket<relaxed>>("race: ticket, relaxed wait"),
    entry_of_lock<mcs<>>("passed: mcs"),
    entry_of_lock<mcs<acquire>>("hang: mcs, enqueues without release"),
    entry_of_lock<mcs<acq_rel, false>>("hang: mcs, forgets a late next"),
    entry_of_lock<peterson<>>("passed: peterson"),
    entry_of_lock<peterson<release, acquire>>("race: peterson, without a total order"),
    entry_of_lock<futex_mutex<>>("passed: futex"),
    entry_of_lock<futex_mutex<false>>("hang: futex, never wakes"),
    entry_of_lock<conditional<>>("passed: condition variable"),
    entry_of_lock<conditional<false>>("hang: condition variable, never notifies"),
    entry_of_lock<referred<>>("passed: atomic_ref"),
    entry_of_lock<referred<relaxed>>("race: atomic_ref, relaxed"),
    entry_of_lock<mixed<>>("passed: two sizes"),
    entry_of_lock<mixed<relaxed>>("race: two sizes, relaxed store"),
    entry_of_lock<wide<>>("passed: 16 bytes"),
    entry_of_lock<wide<relaxed>>("race: 16 bytes, relaxed"),
    entry_of_lock<lazily_made<>>("passed: on the heap"),
    entry_of_lock<lazily_made<acquire>>("lifetime: on the heap, published without release"),
    entry_of_lock<keeps_holder<false>>("passed: plain member"),
    entry_of_lock<keeps_holder<true>>("race: plain member, written late"),
    entry_of_lock<stack_nodes<false>>("passed: nodes on stacks"),
    entry_of_lock<stack_nodes<true>>("lifetime: nodes on stacks, touched late"),
    entry_of_client<counted_spin>("bounded: a spin that counts"),
    entry_of_client<lazy_static<true>>("passed: static variable of a function"),
    entry_of_client<lazy_static<false>>("race: static variable, its guard by hand"),
    entry_of_client<handed_value<release>>("passed: message passing"),
    entry_of_client<handed_value<relaxed>>("race: message passing, relaxed"),
    entry_of_client<late_plain_read>("race: plain read of an atomic object"),
    entry_of_client<freed_too_early>("lifetime: memory that was freed"),
};
constinit const std::size_t lockyard_plain_entry_count =
    sizeof lockyard_plain_entries / sizeof *lockyard_plain_entries;
}
