// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes the place of GenMC's header in a program that is compiled for the checker.
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
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
#ifdef __cplusplus
}
#endif
