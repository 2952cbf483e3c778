// SPDX-License-Identifier: Apache-2.0
#pragma once

// std::atomic<std::shared_ptr> as the C++ standard says: in version 12 of libstdc++, load(), wait()
// and a compare_exchange that fails leave the lock inside by a change that need not release, so
// that they race with the next store(). In code that is compiled for the checker it releases.
#pragma GCC system_header

#if _GLIBCXX_RELEASE != 12
#include_next <bits/shared_ptr_atomic.h>
#else
#include <bits/atomic_base.h>  // before the macros
#define LOCKYARD_LEAVES_BY_memory_order_relaxed memory_order_release
#define LOCKYARD_LEAVES_BY___o __o  // the parameter of unlock()
#define LOCKYARD_LEAVES_BY___o2 __o2 == memory_order_seq_cst ? __o2 : memory_order_release
#define LOCKYARD_LEAVES_BY_memory_order memory_order  // the declaration of a parameter
#define unlock(order) unlock(LOCKYARD_LEAVES_BY_##order)
#define fetch_sub(operand, order) fetch_sub(operand, LOCKYARD_LEAVES_BY_##order)
#include_next <bits/shared_ptr_atomic.h>
#undef fetch_sub
#undef unlock
#undef LOCKYARD_LEAVES_BY_memory_order_relaxed
#undef LOCKYARD_LEAVES_BY___o
#undef LOCKYARD_LEAVES_BY___o2
#undef LOCKYARD_LEAVES_BY_memory_order
#endif
