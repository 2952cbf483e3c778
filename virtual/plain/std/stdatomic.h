// SPDX-License-Identifier: Apache-2.0
#pragma once
#pragma GCC system_header

#include_next <stdatomic.h>

/* It writes without an atomic access: C11 7.17.2.2 calls a concurrent access a data race, even an
   atomic one. The compiler's header has a relaxed store. */
#ifndef __cplusplus
#undef atomic_init
#define atomic_init(OBJECT, VALUE)                                                 \
  __extension__({                                                                  \
    __auto_type lockyard_object = (OBJECT);                                        \
    __typeof__((void)0, *lockyard_object) lockyard_value = (VALUE);                \
    *(__typeof__((void)0, *lockyard_object)*)lockyard_object = lockyard_value;     \
    (void)0;                                                                       \
  })
#endif
