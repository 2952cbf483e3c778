// SPDX-License-Identifier: Apache-2.0

// The lock that std::atomic_load() and its relatives hold while they use a std::shared_ptr. The C++
// library has a pool of them, one of which an address selects.

#include "wrapped.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>

namespace lockyard::plain {

namespace {

/// As the C++ library's headers lay it out.
struct locker {
  unsigned char first;
  unsigned char second;
};

constexpr std::size_t locks = 64;

unsigned char key_of(const void* pointer) {
  // Not the address, which differs from process to process.
  return static_cast<unsigned char>(name_of(reinterpret_cast<std::uintptr_t>(pointer)) / 16 %
                                    locks);
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex);
static std::array<pthread_mutex_t, lockyard::plain::locks> lockyard_pool;

void __wrap__ZNSt10_Sp_lockerC1EPKvS1_(lockyard::plain::locker* self, const void* one,
                                       const void* other) {
  if (!lockyard::plain::is_active()) return;
  const auto [first, second] =
      std::minmax({lockyard::plain::key_of(one), lockyard::plain::key_of(other)});
  *self = {.first = first, .second = second};
  __wrap_pthread_mutex_lock(&lockyard_pool[first]);
  if (second != first) __wrap_pthread_mutex_lock(&lockyard_pool[second]);
}
void __wrap__ZNSt10_Sp_lockerC1EPKv(lockyard::plain::locker* self, const void* pointer) {
  __wrap__ZNSt10_Sp_lockerC1EPKvS1_(self, pointer, pointer);
}
void __wrap__ZNSt10_Sp_lockerD1Ev(lockyard::plain::locker* self) {
  if (!lockyard::plain::is_active()) return;
  __wrap_pthread_mutex_unlock(&lockyard_pool[self->first]);
  if (self->second != self->first) __wrap_pthread_mutex_unlock(&lockyard_pool[self->second]);
}
}
// NOLINTEND(bugprone-reserved-identifier)
