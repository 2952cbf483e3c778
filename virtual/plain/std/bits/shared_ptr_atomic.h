// SPDX-License-Identifier: Apache-2.0
#pragma once

// std::atomic<std::shared_ptr> as the C++ standard says: in version 12 of libstdc++, load() and a
// compare_exchange that fails leave the lock inside by a store that need not release, so that they
// race with the next store(). In code that is compiled for the checker that store releases.
#pragma GCC system_header

#if _GLIBCXX_RELEASE != 12
#include_next <bits/shared_ptr_atomic.h>
#else
#define LOCKYARD_LEAVES_BY_memory_order_relaxed memory_order_release
#define LOCKYARD_LEAVES_BY___o2 __o2 == memory_order_seq_cst ? __o2 : memory_order_release
#define LOCKYARD_LEAVES_BY_memory_order memory_order  // the declaration of a parameter
#define unlock(order) unlock(LOCKYARD_LEAVES_BY_##order)
#include_next <bits/shared_ptr_atomic.h>
#undef unlock
#undef LOCKYARD_LEAVES_BY_memory_order_relaxed
#undef LOCKYARD_LEAVES_BY___o2
#undef LOCKYARD_LEAVES_BY_memory_order
#endif
