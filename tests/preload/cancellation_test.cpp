// SPDX-License-Identifier: Apache-2.0
#include "posix.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

namespace {

struct scene {
  pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  std::atomic<int> waiting{0};
  std::atomic<int> unlocked{-1};  ///< what unlock said in the cleanup handler
  bool ready = false;

  static void release(void* self) {
    auto& in = *static_cast<scene*>(self);
    in.unlocked = pthread_mutex_unlock(&in.mutex);
  }
  void lock() { ASSERT_EQ(pthread_mutex_lock(&mutex), 0); }
  void unlock() { ASSERT_EQ(pthread_mutex_unlock(&mutex), 0); }
  /// `wait` is called with the mutex held, and may end the thread.
  template <class Wait>
  void with_handler(Wait wait) {
    lock();
    pthread_cleanup_push(release, this);
    ++waiting;
    wait();
    pthread_cleanup_pop(1);
  }
  void wait_forever() {
    while (!ready) pthread_cond_wait(&condition, &mutex);
  }
  void await_waiter() {
    while (waiting == 0) usleep(500);
    lock();  // the waiter has released it
    unlock();
  }
};

TEST(Cancellation, ends_a_wait_and_the_handler_owns_the_mutex) {
  for (const int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
    scene in;
    posix::thread waiter{[&] {
      in.with_handler([&] {
        pthread_setcanceltype(type, nullptr);
        in.wait_forever();
      });
    }};
    in.await_waiter();
    EXPECT_EQ(waiter.cancel(), 0);
    EXPECT_TRUE(waiter.join());
    EXPECT_EQ(in.unlocked, 0);
  }
}

TEST(Cancellation, ends_a_timed_wait) {
  scene in;
  const timespec limit = posix::after_ms(CLOCK_REALTIME, 1'000'000);
  posix::thread waiter{[&] {
    in.with_handler([&] {
      while (!in.ready) pthread_cond_timedwait(&in.condition, &in.mutex, &limit);
    });
  }};
  in.await_waiter();
  waiter.cancel();
  EXPECT_TRUE(waiter.join());
  EXPECT_EQ(in.unlocked, 0);
}

TEST(Cancellation, canceller_may_hold_the_mutex) {
  scene in;
  posix::thread waiter{[&] { in.with_handler([&] { in.wait_forever(); }); }};
  in.await_waiter();
  in.lock();
  EXPECT_EQ(waiter.cancel(), 0);
  in.unlock();
  EXPECT_TRUE(waiter.join());
  EXPECT_EQ(in.unlocked, 0);
}

TEST(Cancellation, request_from_before_the_wait_acts_with_the_mutex_held) {
  scene in;
  std::atomic<bool> is_requested{false};
  posix::thread waiter{[&] {
    in.with_handler([&] {
      while (!is_requested) {
      }
      in.wait_forever();
    });
  }};
  waiter.cancel();
  is_requested = true;
  EXPECT_TRUE(waiter.join());
  EXPECT_EQ(in.unlocked, 0);
}

TEST(Cancellation, disabled_thread_goes_on_waiting) {
  scene in;
  std::atomic<int> wakes{0};
  posix::thread waiter{[&] {
    in.with_handler([&] {
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
      for (; !in.ready; ++wakes) pthread_cond_wait(&in.condition, &in.mutex);
      in.ready = false;
      in.waiting = 2;
      for (; !in.ready; ++wakes) pthread_cond_wait(&in.condition, &in.mutex);
      pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
      in.ready = false;
      in.wait_forever();
    });
  }};
  in.await_waiter();
  waiter.cancel();
  for (const int seen : {1, 2}) {
    while (in.waiting != seen) usleep(500);
    in.lock();
    in.ready = true;
    pthread_cond_signal(&in.condition);
    in.unlock();
  }
  EXPECT_TRUE(waiter.join());
  EXPECT_EQ(in.unlocked, 0);
  EXPECT_LE(wakes, 20);  // a wait may end spuriously, and must not do so each time
}

TEST(Cancellation, takes_no_signal_from_other_waiters) {
  for (int round = 0; round < 300; ++round) {
    scene in;
    std::atomic<int> got{0};
    const auto wait = [&] {
      in.with_handler([&] {
        in.wait_forever();
        ++got;
      });
    };
    posix::thread first{wait}, second{wait};
    while (in.waiting < 2) usleep(200);
    in.lock();
    in.ready = true;
    in.unlock();
    // Either the signal wakes the first, which ignores the request, or the second gets it.
    posix::thread signaller{[&] { pthread_cond_signal(&in.condition); }};
    first.cancel();
    signaller.join();
    for (int i = 0; i < 20'000 && got == 0; ++i) usleep(500);
    ASSERT_GE(got, 1) << "round " << round;
    pthread_cond_broadcast(&in.condition);
    first.join();
    second.join();
  }
}

TEST(Cancellation, does_not_end_a_deferred_wait_for_a_mutex) {
  scene in;
  in.lock();
  std::atomic<bool> came_through{false};
  posix::thread waiter{[&] {
    in.waiting = 1;
    pthread_mutex_lock(&in.mutex);
    came_through = true;
    pthread_mutex_unlock(&in.mutex);
    pthread_testcancel();
  }};
  while (in.waiting == 0) usleep(500);
  usleep(5000);
  waiter.cancel();
  in.unlock();
  EXPECT_TRUE(waiter.join());
  EXPECT_TRUE(came_through);
}

TEST(Cancellation, ends_an_asynchronous_wait_for_a_mutex) {
  scene in;
  in.lock();
  const timespec limit = posix::after_ms(CLOCK_REALTIME, 1'000'000);
  for (const bool timed : {false, true}) {
    in.waiting = 0;
    posix::thread waiter{[&] {
      pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
      in.waiting = 1;
      timed ? pthread_mutex_timedlock(&in.mutex, &limit) : pthread_mutex_lock(&in.mutex);
    }};
    while (in.waiting == 0) usleep(500);
    usleep(5000);
    waiter.cancel();
    EXPECT_TRUE(waiter.join());
  }
  in.unlock();
  in.lock();
  in.unlock();
}

TEST(Cancellation, thread_that_has_ended_may_be_cancelled_until_it_is_joined) {
  scene in;
  std::atomic<bool> ends{false};
  posix::thread ended{[&] { ends = true; }};
  while (!ends) usleep(500);
  usleep(5000);
  EXPECT_EQ(ended.cancel(), 0);
  ended.join();
}

}  // namespace
