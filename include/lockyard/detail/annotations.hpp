// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clang's thread-safety analysis (-Wthread-safety) as macros, because only Clang knows the
// attributes. Clang's page "Thread Safety Analysis" defines each attribute; without an argument the
// capability is the object itself.

#if defined(__clang__)
#define LOCKYARD_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define LOCKYARD_THREAD_SAFETY(attribute)
#endif

/// A class that can be held: every lock.
#define LOCKYARD_CAPABILITY LOCKYARD_THREAD_SAFETY(capability("mutex"))
/// A class that holds a capability from its constructor to its destructor: every guard.
#define LOCKYARD_SCOPED_CAPABILITY LOCKYARD_THREAD_SAFETY(scoped_lockable)
/// Data that may be used only while the capability is held.
#define LOCKYARD_GUARDED_BY(...) LOCKYARD_THREAD_SAFETY(guarded_by(__VA_ARGS__))
#define LOCKYARD_ACQUIRE(...) LOCKYARD_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
/// The first argument is the result that means success.
#define LOCKYARD_TRY_ACQUIRE(...) LOCKYARD_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define LOCKYARD_RELEASE(...) LOCKYARD_THREAD_SAFETY(release_capability(__VA_ARGS__))
/// A function after whose call the analysis takes the capability to be held.
#define LOCKYARD_ASSERT_HELD(...) LOCKYARD_THREAD_SAFETY(assert_capability(__VA_ARGS__))
#define LOCKYARD_REQUIRES(...) LOCKYARD_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/// The same for a capability that many threads may hold at once, to read only.
#define LOCKYARD_ACQUIRE_SHARED(...) LOCKYARD_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define LOCKYARD_TRY_ACQUIRE_SHARED(...) \
  LOCKYARD_THREAD_SAFETY(try_acquire_shared_capability(__VA_ARGS__))
#define LOCKYARD_RELEASE_SHARED(...) LOCKYARD_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
#define LOCKYARD_ASSERT_HELD_SHARED(...) \
  LOCKYARD_THREAD_SAFETY(assert_shared_capability(__VA_ARGS__))
/// A function whose body the analysis cannot follow.
#define LOCKYARD_UNCHECKED LOCKYARD_THREAD_SAFETY(no_thread_safety_analysis)
#define LOCKYARD_EXCLUDES(...) LOCKYARD_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
