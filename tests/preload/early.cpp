// SPDX-License-Identifier: Apache-2.0
#include "early.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>

namespace early {

int result_of_constructor = -1;

namespace {

struct scene {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool ready = false;
};

void* make_ready(void* of) {
  auto& in = *static_cast<scene*>(of);
  pthread_mutex_lock(&in.mutex);
  in.ready = true;
  pthread_cond_signal(&in.condition);
  pthread_mutex_unlock(&in.mutex);
  return nullptr;
}

[[gnu::constructor]] void begin() {
  result_of_constructor = use_all();
}
/// A process that cannot lock any longer shows it by its exit status.
[[gnu::destructor]] void end() {
  if (const int result = use_all(); result != 0) _exit(100 + result);
}

}  // namespace

int use_all() {
  pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  if (pthread_mutex_lock(&checked) != 0 || pthread_mutex_lock(&checked) != EDEADLK) return 1;
  if (pthread_mutex_unlock(&checked) != 0) return 2;
  if (pthread_mutex_lock(&recursive) != 0 || pthread_mutex_trylock(&recursive) != 0) return 3;
  if (pthread_mutex_unlock(&recursive) != 0 || pthread_mutex_unlock(&recursive) != 0) return 4;
  scene in;
  pthread_t thread{};
  pthread_mutex_lock(&in.mutex);
  if (pthread_create(&thread, nullptr, make_ready, &in) != 0) return 5;
  while (!in.ready) pthread_cond_wait(&in.condition, &in.mutex);
  pthread_mutex_unlock(&in.mutex);
  pthread_join(thread, nullptr);
  return 0;
}

}  // namespace early
