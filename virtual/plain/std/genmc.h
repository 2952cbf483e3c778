// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of GenMC's header in a program that is compiled for the checker.
#pragma GCC system_header

#include <pthread.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#define LOCKYARD_AUTO auto
#else
#define LOCKYARD_AUTO __auto_type
#endif
void __VERIFIER_assume(int holds);
void __VERIFIER_assert(int holds);
int __VERIFIER_nondet_int(void);
void __VERIFIER_loop_begin(void);
void __VERIFIER_loop_bound(int most);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
void __VERIFIER_spin_start(void);
void __VERIFIER_spin_end(int is_done);

// Threads

typedef pthread_t __VERIFIER_thread_t;

static inline __VERIFIER_thread_t __VERIFIER_spawn(void* (*run)(void*), void* argument) {
  pthread_t made;
  pthread_create(&made, NULL, run, argument);
  return made;
}
static inline void* __VERIFIER_join(__VERIFIER_thread_t which) {
  void* result;
  pthread_join(which, &result);
  return result;
}
// Threads that are alike are searched like others.
#define __VERIFIER_spawn_symmetric(run, argument, like) __VERIFIER_spawn(run, argument)
#define __VERIFIER_join_symmetric(which) ((void)__VERIFIER_join(which))

// Marks of operations, which help GenMC and mean nothing here

#define LOCKYARD_STATEMENT(operation) \
  do {                                \
    operation;                        \
  } while (0)
#define LOCKYARD_VALUE(operation)        \
  __extension__({                        \
    LOCKYARD_AUTO lockyard_ = operation; \
    lockyard_;                           \
  })
#define __VERIFIER_helped_CAS(operation) LOCKYARD_STATEMENT(operation)
#define __VERIFIER_helping_CAS(operation) LOCKYARD_STATEMENT(operation)
#define __VERIFIER_local_write(operation) LOCKYARD_STATEMENT(operation)
#define __VERIFIER_final_write(operation) LOCKYARD_STATEMENT(operation)
#define __VERIFIER_speculative_read(operation) LOCKYARD_VALUE(operation)
#define __VERIFIER_confirming_read(operation) LOCKYARD_VALUE(operation)
#define __VERIFIER_confirming_CAS(operation) LOCKYARD_VALUE(operation)
#define __VERIFIER_final_CAS(operation) LOCKYARD_VALUE(operation)
/// The block only passes time, and GenMC need not run it either.
#define __VERIFIER_optional(block) \
  do {                             \
    if (0) {                       \
      block;                       \
    }                              \
  } while (0)

// Hazard pointers (Michael, 2004). The list of them only grows.

typedef struct lockyard_hazard {
  void* protects;
  struct lockyard_hazard* next;
} __VERIFIER_hp_t;

__attribute__((weak)) __VERIFIER_hp_t* lockyard_hazards;

static inline __VERIFIER_hp_t* __VERIFIER_hp_alloc(void) {
  __VERIFIER_hp_t* const made = (__VERIFIER_hp_t*)malloc(sizeof *made);
  made->protects = NULL;
  made->next = __atomic_load_n(&lockyard_hazards, __ATOMIC_RELAXED);
  // order[list]: release; pairs [walk]; publishes the new hazard pointer.
  while (!__atomic_compare_exchange_n(&lockyard_hazards, &made->next, made, 0, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
  return made;
}

static inline void lockyard_set_hazard(__VERIFIER_hp_t* self, void* object) {
  // order[let go]: release; pairs [scan]; the uses of the object before come before its end.
  __atomic_store_n(&self->protects, object, __ATOMIC_RELEASE);
}

/// Returns what the pointer at `from` points to, which stays until the hazard pointer is cleared,
/// freed, or protects something else. Every fence here and in retire() is sequentially consistent:
/// either the thread that retires sees the protection, or this one sees that the object is gone.
static inline void* lockyard_protect(__VERIFIER_hp_t* self, void** from) {
  for (;;) {
    void* const found = __atomic_load_n(from, __ATOMIC_ACQUIRE);
    lockyard_set_hazard(self, found);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(from, __ATOMIC_ACQUIRE) == found) return found;
  }
}
#define __VERIFIER_hp_protect(self, from) lockyard_protect(self, (void**)(from))

static inline void __VERIFIER_hp_clear(__VERIFIER_hp_t* self) {
  lockyard_set_hazard(self, NULL);
}
static inline void __VERIFIER_hp_free(__VERIFIER_hp_t* self) {
  lockyard_set_hazard(self, NULL);
}

/// Frees the object unless a hazard pointer protects it. If one does, the object stays: the
/// execution in which it is retired later frees it.
static inline void __VERIFIER_hp_retire(void* object) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  // order[walk]: acquire; pairs [list]; the hazard pointers are whole.
  __VERIFIER_hp_t* each = __atomic_load_n(&lockyard_hazards, __ATOMIC_ACQUIRE);
  for (; each != NULL; each = each->next) {
    // order[scan]: acquire; pairs [let go]; uses of the object come before its end.
    if (__atomic_load_n(&each->protects, __ATOMIC_ACQUIRE) == object) return;
  }
  free(object);
}

// Memory that outlasts a crash

#define LOCKYARD_NOT_MODELLED \
  __attribute__((error("the checker has no model of persistent memory")))
void* __VERIFIER_palloc(size_t bytes) LOCKYARD_NOT_MODELLED;
void __VERIFIER_pbarrier(void) LOCKYARD_NOT_MODELLED;
#ifdef __cplusplus
}
#endif
