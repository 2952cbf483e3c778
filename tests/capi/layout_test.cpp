// SPDX-License-Identifier: Apache-2.0

// That an initialiser of lockyard.h makes the same bytes as the constructor of the C++ class.

#include <lockyard.h>

#include <lockyard/lockyard.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace {

template <class Object, class Struct, class... Arguments>
bool begins_as(const Struct& initialised, Arguments... arguments) {
  static_assert(sizeof(Object) == sizeof(Struct) && alignof(Object) <= alignof(Struct));
  alignas(Object) std::byte place[sizeof(Object)]{};
  ::new (place) Object(arguments...);
  return std::memcmp(place, &initialised, sizeof(Object)) == 0;
}

TEST(CLayout, begins_as_the_class_of_the_same_name_does) {
  EXPECT_TRUE(begins_as<lockyard::mutex>(lockyard_mutex LOCKYARD_MUTEX_INITIALIZER));
  EXPECT_TRUE(begins_as<lockyard::fair_mutex>(lockyard_fair_mutex LOCKYARD_FAIR_MUTEX_INITIALIZER));
  EXPECT_TRUE(
      begins_as<lockyard::shared_mutex>(lockyard_shared_mutex LOCKYARD_SHARED_MUTEX_INITIALIZER));
  EXPECT_TRUE(
      begins_as<lockyard::condition_variable>(lockyard_condition LOCKYARD_CONDITION_INITIALIZER));
  EXPECT_TRUE(begins_as<lockyard::manual_reset_event>(
      lockyard_manual_event LOCKYARD_MANUAL_EVENT_INITIALIZER));
  EXPECT_TRUE(
      begins_as<lockyard::auto_reset_event>(lockyard_auto_event LOCKYARD_AUTO_EVENT_INITIALIZER));
}

TEST(CLayout, begins_with_the_permits_that_the_initialiser_names) {
  EXPECT_TRUE(
      begins_as<lockyard::semaphore>(lockyard_semaphore LOCKYARD_SEMAPHORE_INITIALIZER(0), 0));
  EXPECT_TRUE(
      begins_as<lockyard::semaphore>(lockyard_semaphore LOCKYARD_SEMAPHORE_INITIALIZER(5), 5));
  EXPECT_TRUE(begins_as<lockyard::semaphore>(
      lockyard_semaphore LOCKYARD_SEMAPHORE_INITIALIZER(LOCKYARD_SEMAPHORE_MAX),
      lockyard::semaphore::max()));
}

}  // namespace
