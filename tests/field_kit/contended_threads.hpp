// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the scenes of contended-threads share. Its locks and the functions that `lockyard profile`
// must name are external and not inlined, so that their symbols have these names.

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>

#define PLACE extern "C" __attribute__((noinline))

extern pthread_mutex_t account;
extern pthread_mutex_t journal;
extern pthread_mutex_t index_lock;
extern pthread_rwlock_t table;
extern std::atomic<int> turn;
extern int count;

inline void await(int value) {
  while (turn.load() < value) usleep(100);
}

// contended_sections.cpp: critical sections, and threads that take turns in them.
PLACE void sleep_in_section();
PLACE void read_in_section();
PLACE void compute_in_section();
PLACE void want_account();
PLACE void change_table_slowly();
PLACE void read_table();
PLACE void hold_and_compute();
PLACE void short_section();
PLACE void take_in_order();
PLACE void want_permit_in_vain();
/// Calls `hold` again and again; another thread calls `want` each time.
void alternate(void (*hold)(), void (*want)() = want_account);
/// The holder computes, and another thread of the same processor is in its way.
void preempted();
void together(int threads, void (*body)());
/// Waits for one of each kind.
void wait_for_all();

// contended_cycles.cpp: threads that wait for each other.
void cycle(int size);
void cycle_with_writer();
void cycle_with_reader();
void upgrade();
void cycle_with_join();
void cycle_with_c11_join();
void read_and_write();
void many_cycles(int size);
void timed_cycle();

// contended_orders.cpp: mutexes in different orders, and other mistakes.
void inverted();
void inverted_under_a_gate();
void inverted_by_one_thread();
void reused_memory();
void recursive();
void inverted_after_many();
void recursion();
void held_at_the_end();
void unlocked_at_the_end();
/// Threads contend after the process has forbidden itself all that they do not need.
int confined();
int forked_unlock();
