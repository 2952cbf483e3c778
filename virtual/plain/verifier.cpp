// SPDX-License-Identifier: Apache-2.0

// What programs for GenMC, and for the competition on software verification, call. A module has
// these functions undefined unless the program defines them itself.

#include "wrapped.hpp"

#include <pthread.h>

#include <cstddef>
#include <type_traits>

namespace lockyard::plain {

namespace {

unsigned choose(unsigned count, std::source_location where) {
  worker::mine().loop().note_choice();
  return now().random(count, where);
}

/// 0 to 3, and -1 for a type with a sign: values apart from these are not tried.
long long any_number(bool has_sign, std::source_location where) {
  constexpr unsigned numbers = 4;
  if (!is_active()) return 0;
  now().note_cap(model::cap::open_numbers);
  const unsigned which = choose(numbers + (has_sign ? 1U : 0U), where);
  return which == numbers ? -1 : static_cast<long long>(which);
}

/// Blocks within blocks are parts of the outermost one.
void begin_block(pthread_mutex_t* block, const void* pc) {
  if (worker::mine().storage[now().self()].blocks++ == 0) {
    lock_in_loop(block, pc);
    now().undisturbed(true);
  }
  clear_dead_stack();
}

void end_block(pthread_mutex_t* block, std::source_location where) {
  unsigned& blocks = worker::mine().storage[now().self()].blocks;
  if (blocks != 0) --blocks;
  if (blocks == 0) {
    unlock(block, where);
    now().undisturbed(false);
  }
  clear_dead_stack();
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier, bugprone-macro-parentheses): the names are the
// programs', and the arguments are types.
#define LOCKYARD_ANY(name, type)                                                                  \
  type __VERIFIER_nondet_##name() {                                                               \
    return static_cast<type>(lockyard::plain::any_number(std::is_signed_v<type>, LOCKYARD_HERE)); \
  }

extern "C" {

static pthread_mutex_t lockyard_atomic_block = PTHREAD_MUTEX_INITIALIZER;

bool __VERIFIER_nondet_bool() {
  return lockyard::plain::is_active() && lockyard::plain::choose(2, LOCKYARD_HERE) == 1;
}
LOCKYARD_ANY(char, char)
LOCKYARD_ANY(uchar, unsigned char)
LOCKYARD_ANY(short, short)
LOCKYARD_ANY(ushort, unsigned short)
LOCKYARD_ANY(int, int)
LOCKYARD_ANY(uint, unsigned)
LOCKYARD_ANY(unsigned, unsigned)
LOCKYARD_ANY(long, long)
LOCKYARD_ANY(ulong, unsigned long)
LOCKYARD_ANY(longlong, long long)
LOCKYARD_ANY(ulonglong, unsigned long long)
LOCKYARD_ANY(size_t, std::size_t)

void __VERIFIER_assert(int holds) {
  if (holds != 0 || !lockyard::plain::is_active()) return;
  lockyard::plain::now().fail(lockyard::model::verdict::assertion, "__VERIFIER_assert() fails",
                              LOCKYARD_HERE);
}

// A block that no step of another thread divides. Blocks of different threads have an order, so
// their accesses do not race: each acquires what the one before it has released.
void __VERIFIER_atomic_begin() {
  if (!lockyard::plain::is_active()) return;
  LOCKYARD_NOTE_CALLER;
  lockyard::plain::begin_block(&lockyard_atomic_block, LOCKYARD_PC);
}
void __VERIFIER_atomic_end() {
  if (!lockyard::plain::is_active()) return;
  lockyard::plain::end_block(&lockyard_atomic_block, LOCKYARD_HERE);
}

// What functions call whose names begin with __VERIFIER_atomic_, in place of __tsan_func_entry()
// and __tsan_func_exit(): each call of such a function is a block.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-address"
void lockyard_atomic_function_entry(void* /*caller*/) {
  if (!lockyard::plain::is_active()) return;
  lockyard::plain::enter_function(__builtin_frame_address(1), __builtin_frame_address(0),
                                  __builtin_return_address(0));
  LOCKYARD_NOTE_CALLER;
  lockyard::plain::begin_block(&lockyard_atomic_block, LOCKYARD_PC);
}
void lockyard_atomic_function_exit() {
  if (!lockyard::plain::is_active()) return;
  lockyard::plain::end_block(&lockyard_atomic_block, LOCKYARD_HERE);
  lockyard::plain::leave_function(__builtin_frame_address(1), LOCKYARD_HERE);
}
#pragma GCC diagnostic pop

// Marks of loops that wait: the checker finds them itself.
void __VERIFIER_loop_begin() {}
void __VERIFIER_loop_bound(int /*most*/) {}
void __VERIFIER_spin_start() {}
void __VERIFIER_spin_end(int /*is_done*/) {}
}
// NOLINTEND(bugprone-reserved-identifier, bugprone-macro-parentheses)
