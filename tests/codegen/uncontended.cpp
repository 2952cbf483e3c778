// SPDX-License-Identifier: Apache-2.0

// One uncontended pair each, and a notification without waiters, for test_codegen.py to read.

#include <lockyard/event/event_count.hpp>
#include <lockyard/park/byte_mutex.hpp>
#include <lockyard/park/futex_mutex.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/recursive_mutex.hpp>
#include <lockyard/park/semaphore.hpp>
#include <lockyard/queue/array_spinlock.hpp>
#include <lockyard/queue/clh_spinlock.hpp>
#include <lockyard/queue/mcs_spinlock.hpp>
#include <lockyard/queue/queued_spinlock.hpp>
#include <lockyard/spin/backoff_spinlock.hpp>
#include <lockyard/spin/yielding_spinlock.hpp>

template <class Lock>
static void pair(Lock& lock, int& counter) {
  lock.lock();
  ++counter;
  lock.unlock();
}

extern "C" {
void mutex_pair(lockyard::mutex& lock, int& counter) {
  pair(lock, counter);
}
void byte_pair(lockyard::byte_mutex& lock, int& counter) {
  pair(lock, counter);
}
void yielding_pair(lockyard::yielding_spinlock& lock, int& counter) {
  pair(lock, counter);
}
void backoff_pair(lockyard::backoff_spinlock& lock, int& counter) {
  pair(lock, counter);
}
void array_pair(lockyard::array_spinlock& lock, int& counter) {
  pair(lock, counter);
}
void mcs_pair(lockyard::mcs_spinlock& lock, int& counter) {
  pair(lock, counter);
}
void clh_pair(lockyard::clh_spinlock& lock, int& counter) {
  pair(lock, counter);
}
void queued_pair(lockyard::queued_spinlock& lock, int& counter) {
  pair(lock, counter);
}
void recursive_pair(lockyard::recursive_mutex<>& lock, int& counter) {
  pair(lock, counter);
}
void semaphore_pair(lockyard::semaphore& permits, int& counter) {
  permits.acquire();
  ++counter;
  permits.release();
}
void futex_pair(lockyard::futex_mutex& lock, int& counter) {
  pair(lock, counter);
}
void notify_nobody(lockyard::event_count& count) {
  count.notify_one();
}
}
