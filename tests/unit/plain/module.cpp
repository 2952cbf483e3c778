// SPDX-License-Identifier: Apache-2.0

// A module as `lockyard check --lock` makes one. The name of an entry is the verdict that it must
// have, and what it is.

#include "clients.hpp"
#include "failures.hpp"
#include "held.hpp"
#include "library.hpp"
#include "locks.hpp"
#include "orders.hpp"
#include "random_program.hpp"
#include "structures.hpp"
#include "texts.hpp"
#include "turns.hpp"
#include "unwritten.hpp"
#include "weak_turns.hpp"

#include <plain/module.hpp>

using namespace plain_locks;
namespace held = plain_held;
namespace library = plain_library;
namespace failures = plain_failures;
namespace orders = plain_orders;
namespace texts = plain_texts;
namespace turns = plain_turns;
namespace weak_turns = plain_weak_turns;
namespace unwritten = plain_unwritten;
namespace structures = plain_structures;
using lockyard::plain::entry_of_client;
using lockyard::plain::entry_of_lock;
using lockyard::plain::entry_of_readers;

extern "C" {
constinit const lockyard::plain::entry lockyard_plain_entries[] = {
    entry_of_lock<ttas<>>("passed: ttas"),
    entry_of_lock<ttas<relaxed>>("race: ttas, relaxed exchange"),
    entry_of_lock<ttas<acquire, relaxed>>("race: ttas, relaxed store"),
    entry_of_lock<counted_readers<>>("passed: try_lock_for"),
    entry_of_lock<counted_readers<false>>("passed: try_lock_for, if nothing calls it"),
    entry_of_readers<counted_readers<>>("passed: readers", ""),
    entry_of_readers<counted_readers<false>>("race: readers, not excluded", ""),
    entry_of_readers<ttas<>>("passed: no readers", ""),
    entry_of_client<failures::pushes<std::memory_order_release>>("passed: fails and rewrites"),
    entry_of_client<failures::pushes<std::memory_order_relaxed>>(
        "race: fails and rewrites, relaxed"),
    entry_of_client<failures::pushes_alone<false>>("passed: fails before the threads"),
    entry_of_client<failures::pushes_alone<true>>("passed: fails behind the threads"),
    entry_of_client<failures::fails_alone<false>>("assertion: fails before the threads"),
    entry_of_client<failures::fails_alone<true>>("assertion: fails behind the threads"),
    entry_of_client<failures::rewrites_shared_data>("race: a failure rewrites shared data"),
    entry_of_client<failures::counts_failures<3>>("assertion: counts failures in memory"),
    entry_of_client<failures::counts_failures<9>>("bounded: counts failures in memory"),
    entry_of_lock<adds_and_takes_back>("deep: adds and takes back"),
    entry_of_lock<flag<>>("passed: atomic_flag"),
    entry_of_lock<flag<relaxed>>("race: atomic_flag, relaxed"),
    entry_of_lock<ticket<>>("passed: ticket"),
    entry_of_lock<ticket<acquire, true>>("passed: ticket that yields"),
    entry_of_lock<ticket<relaxed>>("race: ticket, relaxed wait"),
    entry_of_lock<mcs<>>("passed: mcs"),
    entry_of_lock<mcs<acquire>>("hang: mcs, enqueues without release"),
    entry_of_lock<mcs<acq_rel, false>>("lifetime: mcs, forgets a late next"),
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
    entry_of_lock<lazily_made<acquire>>("race: on the heap, published without release"),
    entry_of_lock<keeps_holder<false>>("passed: plain member"),
    entry_of_lock<keeps_holder<true>>("race: plain member, written late"),
    entry_of_lock<stack_nodes<false>>("passed: nodes on stacks"),
    entry_of_lock<stack_nodes<true>>("lifetime: nodes on stacks, touched late"),
    entry_of_client<counted_spin>("bounded: a spin that counts"),
    entry_of_lock<patient>("bounded: a spin that counts, and gives way twice"),
    entry_of_client<lazy_static<true>>("passed: static variable of a function"),
    entry_of_client<lazy_static<false>>("race: static variable, its guard by hand"),
    entry_of_client<handed_value<release>>("passed: message passing"),
    entry_of_client<handed_value<relaxed>>("race: message passing, relaxed"),
    entry_of_client<late_plain_read>("race: plain read of an atomic object"),
    entry_of_client<freed_too_early>("lifetime: memory that was freed"),
    entry_of_client<library::shared_values<true>>("passed: shared_mutex"),
    entry_of_client<library::shared_values<false>>("race: shared_mutex, not taken"),
    entry_of_client<library::c_rwlock<true>>("passed: pthread_rwlock"),
    entry_of_client<library::c_rwlock<false>>("race: pthread_rwlock, written outside"),
    entry_of_client<library::c_spinlock<true>>("passed: pthread_spin"),
    entry_of_client<library::c_spinlock<false>>("race: pthread_spin, not taken"),
    entry_of_client<library::c_semaphore<2>>("passed: sem_t"),
    entry_of_client<library::c_semaphore<1>>("hang: sem_t, one post is missing"),
    entry_of_client<library::c_barrier<2>>("passed: pthread_barrier"),
    entry_of_client<library::c_barrier<1>>("race: pthread_barrier, of one thread"),
    entry_of_client<library::called_once<true>>("passed: call_once"),
    entry_of_client<library::called_once<false>>("race: call_once, left out"),
    entry_of_client<library::c_key<true>>("passed: pthread_key"),
    entry_of_client<library::c_key<false>>("race: pthread_key, one value for all"),
    entry_of_client<library::atomic_waits<true, int>>("passed: atomic::wait"),
    entry_of_client<library::atomic_waits<false, int>>("hang: atomic::wait, never notified"),
    entry_of_client<library::atomic_waits<true, long>>("passed: atomic::wait of 8 bytes"),
    entry_of_client<library::atomic_waits<false, long>>(
        "hang: atomic::wait of 8 bytes, never notified"),
    entry_of_client<library::flag_waits<true>>("passed: atomic_flag::wait"),
    entry_of_client<library::flag_waits<false>>("hang: atomic_flag::wait, never notified"),
    entry_of_client<library::semaphore<1>>("passed: counting_semaphore"),
    entry_of_client<library::semaphore<2>>("race: counting_semaphore, a token too many"),
    entry_of_client<library::latch<2>>("passed: latch"),
    entry_of_client<library::latch<3>>("hang: latch, a thread is missing"),
    entry_of_client<library::condition_for_any<true>>("passed: condition_variable_any, sleeps"),
    entry_of_client<library::condition_for_any<false>>(
        "hang: condition_variable_any, never notified"),
    entry_of_client<library::counted_pointer<false>>("passed: shared_ptr, two sizes"),
    entry_of_client<library::counted_pointer<true>>("race: shared_ptr, one for both threads"),
    entry_of_client<library::exceptions<true>>("passed: exceptions"),
    entry_of_client<library::exceptions<false>>("race: exceptions, without the lock"),
    entry_of_client<structures::stack<release>>("passed: stack"),
    entry_of_client<structures::stack<relaxed>>("race: stack, published relaxed"),
    entry_of_client<structures::ring<release>>("passed: ring"),
    entry_of_client<structures::ring<relaxed>>("race: ring, published relaxed"),
    entry_of_client<structures::seqlock<acquire>>("passed: seqlock"),
    entry_of_client<structures::seqlock<relaxed>>("assertion: seqlock, without the fence"),
    entry_of_client<structures::hazard<seq_cst>>("passed: hazard pointer"),
    entry_of_client<structures::hazard<acq_rel>>("lifetime: hazard pointer, without a total order"),
    entry_of_client<structures::counted<acq_rel>>("passed: reference count"),
    entry_of_client<structures::counted<release>>(
        "lifetime: reference count, the last owner does not acquire"),
    entry_of_lock<counting>("deep: a spin that writes"),
    entry_of_client<orders::read_before_a_word<0>>("race: read before it became a word, by T0"),
    entry_of_client<orders::ended_and_made<0>>("race: ended and made at the same time, by T0"),
    entry_of_client<orders::locked_after_its_end<0>>("lifetime: ended by T0, and then locked"),
    entry_of_client<orders::behind_an_object<0, false>>("lifetime: read behind an object of T0"),
    entry_of_client<orders::behind_an_object<0, true>>("lifetime: freed behind an object of T0"),
    entry_of_client<orders::beyond_what_was_read<0>>("lifetime: beyond what T0 has read"),
    entry_of_client<orders::read_before_a_word<1>>("race: read before it became a word, by T1"),
    entry_of_client<orders::ended_and_made<1>>("race: ended and made at the same time, by T1"),
    entry_of_client<orders::locked_after_its_end<1>>("lifetime: ended by T1, and then locked"),
    entry_of_client<orders::behind_an_object<1, false>>("lifetime: read behind an object of T1"),
    entry_of_client<orders::behind_an_object<1, true>>("lifetime: freed behind an object of T1"),
    entry_of_client<orders::beyond_what_was_read<1>>("lifetime: beyond what T1 has read"),
    entry_of_client<orders::block_that_tries<0>>("passed: a block of T0 that tries"),
    entry_of_client<orders::block_that_tries<1>>("passed: a block of T1 that tries"),
    entry_of_client<orders::divided_block<0>>("assertion: a block of T0 that waits"),
    entry_of_client<orders::divided_block<1>>("assertion: a block of T1 that waits"),
    entry_of_client<turns::reads_plain_data<0>>("race: plain data that a turn of T0 reads"),
    entry_of_client<turns::reads_plain_data<1>>("race: plain data that a turn of T1 reads"),
    entry_of_client<turns::reads_a_freed_word<0>>("lifetime: a word that a turn of T0 reads"),
    entry_of_client<turns::reads_a_freed_word<1>>("lifetime: a word that a turn of T1 reads"),
    entry_of_client<turns::reads_plain_data<0, true>>("race: an atomic write of what T0 reads"),
    entry_of_client<turns::reads_plain_data<1, true>>("race: an atomic write of what T1 reads"),
    entry_of_client<turns::reads_a_word_of_a_thread<0>>("lifetime: T1's word that T0 reads"),
    entry_of_client<turns::reads_a_word_of_a_thread<1>>("lifetime: T0's word that T1 reads"),
    entry_of_client<turns::reads_its_own_stack<0>>("race: a write to the stack of T0, which spins"),
    entry_of_client<turns::reads_its_own_stack<1>>("race: a write to the stack of T1, which spins"),
    entry_of_client<turns::expects_a_shared_value<0>>("race: a value that T0 expects"),
    entry_of_client<turns::expects_a_shared_value<1>>("race: a value that T1 expects"),
    entry_of_client<turns::uses_a_later_function<0>>("lifetime: a variable of T0, after its end"),
    entry_of_client<turns::uses_a_later_function<1>>("lifetime: a variable of T1, after its end"),
    entry_of_client<weak_turns::reads_plain_data<0>>("race: data that T0 reads as it fails"),
    entry_of_client<weak_turns::reads_plain_data<1>>("race: data that T1 reads as it fails"),
    entry_of_client<weak_turns::reads_a_freed_word<0>>(
        "lifetime: a word that T0 reads as it fails"),
    entry_of_client<weak_turns::reads_a_freed_word<1>>(
        "lifetime: a word that T1 reads as it fails"),
    entry_of_client<weak_turns::writes_its_own_stack<0>>("race: what T0 expects as it fails"),
    entry_of_client<weak_turns::writes_its_own_stack<1>>("race: what T1 expects as it fails"),
    entry_of_client<weak_turns::counts_its_failures<0>>("assertion: a failure of T0 is counted"),
    entry_of_client<weak_turns::counts_its_failures<1>>("assertion: a failure of T1 is counted"),
    entry_of_client<weak_turns::takes_the_next_number>("assertion: another number after a failure"),
    entry_of_client<weak_turns::locks_and_counts<true>>("passed: weak attempts in loops"),
    entry_of_client<weak_turns::locks_and_counts<false>>("passed: strong attempts in loops"),
    entry_of_client<turns::ends_by_itself>("passed: a spin with a time limit"),
    entry_of_client<turns::does_something_in_turns>("passed: a loop that does something"),
    entry_of_client<turns::fails_to_wait>("passed: a wait that fails in turns, sleeps"),
    entry_of_client<turns::leaves_a_reason>("passed: a loop that errno ends"),
    entry_of_client<turns::bakery<2>>("passed: bakery"),
    entry_of_client<unwritten::late_value<0>>(
        "lifetime: a value that T0 reads before it is written"),
    entry_of_client<unwritten::late_value<1>>(
        "lifetime: a value that T1 reads before it is written"),
    entry_of_client<unwritten::sum<0>>("lifetime: a sum of T0 without a first value"),
    entry_of_client<unwritten::sum<1>>("lifetime: a sum of T1 without a first value"),
    entry_of_client<unwritten::late_mutex<0>>("lifetime: a mutex of T0 that is not initialised"),
    entry_of_client<unwritten::late_mutex<1>>("lifetime: a mutex of T1 that is not initialised"),
    entry_of_client<unwritten::first_exchange>("passed: an exchange writes the first value"),
    entry_of_client<unwritten::local_words<false>>("passed: a local node, copied"),
    entry_of_client<unwritten::local_words<true>>(
        "lifetime: a local node, a member without a value"),
    entry_of_client<unwritten::local_number<false>>("passed: a local number"),
    entry_of_client<unwritten::local_number<true>>("lifetime: a local number without a value"),
    entry_of_client<failures::pushes_words<std::memory_order_release, 1>>(
        "bounded: push with words, alone"),
    entry_of_client<failures::pushes_words<std::memory_order_release>>("bounded: push with words"),
    entry_of_client<failures::pushes_words<std::memory_order_relaxed>>(
        "race: push with words, relaxed"),
    entry_of_client<held::freed<std::mutex, false>>("passed: a freed mutex"),
    entry_of_client<held::freed<std::mutex, true>>("lifetime: a freed mutex, held"),
    entry_of_client<held::freed<std::recursive_mutex, true>>("lifetime: recursive_mutex, held"),
    entry_of_client<held::freed<std::timed_mutex, true>>("lifetime: timed_mutex, held"),
    entry_of_client<held::freed<std::shared_mutex, true>>("lifetime: shared_mutex, held"),
    entry_of_client<held::local<false>>("passed: a local shared_mutex"),
    entry_of_client<held::local<true>>("lifetime: a local shared_mutex, held by a reader"),
    entry_of_client<held::made_again<false>>("passed: a mutex made again"),
    entry_of_client<held::made_again<true>>("lifetime: a mutex made again, held"),
    entry_of_client<held::counted<false>>("passed: freed by the last user"),
    entry_of_client<held::counted<true>>("lifetime: freed by the last user, held"),
    entry_of_client<held::kept<std::mutex>>("assertion: a mutex of a thread that has ended"),
    entry_of_client<held::kept<std::shared_mutex>>("assertion: a shared_mutex of such a thread"),
    entry_of_client<held::kept<held::posix_lock>>("passed: a mutex of POSIX of such a thread"),
    entry_of_client<held::waits_with_two<true>>("bounded: condition variable, one mutex"),
    entry_of_client<held::waits_with_two<false>>("assertion: condition variable, two mutexes"),
    entry_of_client<texts::read_by<texts::use::puts>>("race: puts"),
    entry_of_client<texts::read_by<texts::use::printf>>("race: printf"),
    entry_of_client<texts::read_by<texts::use::number>>("race: atoi"),
    entry_of_client<texts::read_by<texts::use::real>>("race: strtod"),
    entry_of_client<texts::read_by<texts::use::stoi>>("race: stoi"),
    entry_of_client<texts::read_by<texts::use::number, true>>("passed: atoi"),
    entry_of_client<texts::read_by<texts::use::stoi, true>>("passed: stoi"),
    entry_of_client<texts::read_by<texts::use::printf, true>>("passed: printf"),
    entry_of_client<texts::read_to_the_end_of_a_number>("passed: strtol"),
    entry_of_client<texts::assumed_by_abort>("passed: abort() as an assumption"),
    entry_of_client<plain_random::program>("passed: random"),
};
constinit const std::size_t lockyard_plain_entry_count =
    sizeof lockyard_plain_entries / sizeof *lockyard_plain_entries;
}
