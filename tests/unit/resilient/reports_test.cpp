// SPDX-License-Identifier: Apache-2.0

// Reports of failures, their receivers, and how failures look to code with the standard's guards.

#include <lockyard/resilient/resilient_guard.hpp>
#include <lockyard/world/native.hpp>

#include <array>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/directed_world.hpp"
#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class Reports : public ::testing::Test {};
using told_forms = both_forms<directed_world>;
TYPED_TEST_SUITE(Reports, told_forms, form_name);

bool is_here(const std::source_location& at, unsigned line) {
  return at.line() == line && std::string_view{at.file_name()} == __FILE__;
}

TYPED_TEST(Reports, of_a_relock_name_the_lock_the_call_and_what_is_held) {
  const reports told;
  TypeParam first{"first"}, second{"second"}, nameless;
  EXPECT_STREQ(first.name(), "first");
  EXPECT_EQ(nameless.name(), nullptr);
  ASSERT_TRUE(first.lock() && nameless.lock() && second.lock());
  const unsigned line = __LINE__ + 1;
  EXPECT_EQ(nameless.lock(), lock_errc::deadlock);
  second.unlock();
  nameless.unlock();
  first.unlock();
  const auto list = told.list();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].what, lock_event::deadlock);
  EXPECT_EQ(list[0].wait.thread, native::thread_id());
  EXPECT_EQ(list[0].wait.wanted.address, &nameless);
  EXPECT_EQ(list[0].wait.wanted.name, nullptr);
  EXPECT_TRUE(is_here(list[0].wait.at, line));
  EXPECT_TRUE(list[0].cycle.empty());
  ASSERT_EQ(list[0].held.size(), 3U);
  EXPECT_EQ(list[0].held[0].address, &first);
  EXPECT_STREQ(list[0].held[0].name, "first");
  EXPECT_EQ(list[0].held[1].address, &nameless);
  EXPECT_EQ(list[0].held[1].name, nullptr);
  EXPECT_STREQ(list[0].held[2].name, "second");
}

TYPED_TEST(Reports, are_written_by_a_thread_with_a_pending_cancellation) {
  static bool written;
  written = false;
  static TypeParam relocked{"relocked"};
  const auto before = set_lock_report_handler([](const lock_report&) {
    pthread_testcancel();
    written = true;
  });
  pthread_t thread{};
  const auto relock = [](void*) -> void* {
    pthread_cancel(pthread_self());
    if (!relocked.lock()) return nullptr;
    const bool failed = relocked.lock() == lock_errc::deadlock;
    relocked.unlock();
    pthread_testcancel();  // ends the thread
    return failed ? nullptr : &relocked;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, relock, nullptr), 0);
  void* result = nullptr;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  set_lock_report_handler(before);
  EXPECT_TRUE(written);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

/// A name would be read from the next lock.
TEST(UnnamedReports, have_the_addresses_of_locks_and_no_names) {
  const reports told;
  std::array<unnamed_in<directed_world>, 3> locks;
  basic_resilient_spinlock<directed_world> named{"named"};
  ASSERT_TRUE(locks[0].lock() && named.lock() && locks[2].lock());
  EXPECT_EQ(locks[2].lock(), lock_errc::deadlock);
  EXPECT_EQ(locks[2].name(), nullptr);
  locks[2].unlock();
  named.unlock();
  locks[0].unlock();
  const auto list = told.list();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].wait.wanted.address, &locks[2]);
  EXPECT_EQ(list[0].wait.wanted.name, nullptr);
  ASSERT_EQ(list[0].held.size(), 3U);
  EXPECT_EQ(list[0].held[0].address, &locks[0]);
  EXPECT_EQ(list[0].held[0].name, nullptr);
  EXPECT_STREQ(list[0].held[1].name, "named");
  EXPECT_EQ(list[0].held[2].address, &locks[2]);
  EXPECT_EQ(list[0].held[2].name, nullptr);
}

/// The last one to come is the youngest, and tells of all, itself first.
TYPED_TEST(Reports, of_a_cycle_list_its_threads_in_order) {
  const std::vector<const char*> names{"a", "b", "c"};
  for (const std::size_t length : {2U, 3U}) {
    const limits_for<TypeParam> limits{patient};
    const reports told;
    std::vector<std::unique_ptr<TypeParam>> locks;
    for (std::size_t i = 0; i < length; ++i) locks.push_back(std::make_unique<TypeParam>(names[i]));
    std::vector<std::uint32_t> ids(length);
    std::atomic<std::size_t> holding{0};
    std::atomic<std::size_t> may_begin{0};
    unsigned line = 0;
    std::vector<std::unique_ptr<actor>> actors;
    for (std::size_t i = 0; i < length; ++i) {
      actors.push_back(std::make_unique<actor>([&, i] {
        ids[i] = native::thread_id();
        EXPECT_TRUE(locks[i]->lock());
        ++holding;
        await([&] { return may_begin > i; });
        TypeParam& next = *locks[(i + 1) % length];
        const lock_result how = next.lock();
        if (i == 0) line = __LINE__ - 1;
        if (how) next.unlock();
        locks[i]->unlock();
      }));
    }
    await([&] { return holding == length; });
    for (const auto& each : actors) {
      ++may_begin;
      ++directed_world::now_ns;
      each->arrive();
      each->look();
    }
    actors.clear();
    const auto list = told.list();
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].what, lock_event::deadlock);
    ASSERT_EQ(list[0].held.size(), 1U);
    EXPECT_STREQ(list[0].held[0].name, names[length - 1]);
    EXPECT_STREQ(list[0].wait.wanted.name, "a");
    ASSERT_EQ(list[0].cycle.size(), length);
    for (std::size_t i = 0; i < length; ++i) {
      const lock_wait& each = list[0].cycle[i];
      const std::size_t thread = (i + length - 1) % length;
      EXPECT_EQ(each.thread, ids[thread]);
      EXPECT_STREQ(each.wanted.name, names[i]);
      EXPECT_EQ(each.wanted.address, locks[i].get());
      EXPECT_TRUE(is_here(each.at, line));
    }
  }
}

TYPED_TEST(Reports, may_end_by_an_exception_which_goes_no_further) {
  const auto before =
      set_lock_report_handler([](const lock_report&) { throw std::runtime_error{"no"}; });
  TypeParam lock;
  ASSERT_TRUE(lock.lock());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(lock.lock(), lock_errc::deadlock);
  lock.unlock();
  EXPECT_NE(set_lock_report_handler(before), nullptr);
  EXPECT_TRUE(is_free(lock));
}

/// Its own failures are not reported, or it would not end.
TYPED_TEST(Reports, may_lock_the_same_and_other_locks) {
  static TypeParam* same = nullptr;
  static TypeParam* other = nullptr;
  static int calls = 0;
  TypeParam one, two;
  same = &one;
  other = &two;
  calls = 0;
  const auto before = set_lock_report_handler([](const lock_report&) {
    ++calls;
    EXPECT_EQ(same->lock(), lock_errc::deadlock);
    EXPECT_TRUE(other->lock());
    EXPECT_EQ(other->lock(), lock_errc::deadlock);
    other->unlock();
  });
  ASSERT_TRUE(one.lock());
  EXPECT_EQ(one.lock(), lock_errc::deadlock);
  EXPECT_EQ(one.lock(), lock_errc::deadlock);
  one.unlock();
  set_lock_report_handler(before);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(is_free(one) && is_free(two));
}

TYPED_TEST(Reports, go_to_nobody_where_nobody_is_named) {
  const auto before = set_lock_report_handler(nullptr);
  TypeParam lock;
  ASSERT_TRUE(lock.lock());
  EXPECT_EQ(lock.lock(), lock_errc::deadlock);
  lock.unlock();
  set_lock_report_handler(before);
}

TYPED_TEST(Reports, are_printed_by_the_handler_that_does_so) {
  TypeParam lock{"the lock"};
  const auto before = set_lock_report_handler(&print_lock_report);
  ASSERT_TRUE(lock.lock());
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(lock.lock(), lock_errc::deadlock);
  const std::string text = ::testing::internal::GetCapturedStderr();
  lock.unlock();
  set_lock_report_handler(before);
  EXPECT_NE(text.find("lockyard: lock 'the lock' "), std::string::npos) << text;
  EXPECT_NE(text.find("waiting for it would be a deadlock"), std::string::npos) << text;
  EXPECT_NE(text.find("reports_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("this thread holds 'the lock' "), std::string::npos) << text;
}

std::string printed(const lock_report& report) {
  ::testing::internal::CaptureStderr();
  print_lock_report(report);
  return ::testing::internal::GetCapturedStderr();
}

TEST(PrintedReport, of_an_unlock_names_its_place_and_the_owner) {
  const lock_label label{nullptr, "s"};
  const auto here = std::source_location::current();
  const std::string line = std::to_string(here.line());
  const std::string text = printed({lock_event::not_held, {7, label, here}, {}, {}, 8});
  EXPECT_TRUE(text.starts_with("lockyard: lock 's' ")) << text;
  EXPECT_NE(text.find("is unlocked by a thread that does not hold it"), std::string::npos) << text;
  EXPECT_NE(text.find("  unlocked by thread 7 at "), std::string::npos) << text;
  EXPECT_NE(text.find("reports_test.cpp:" + line + "\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("  thread 8 holds it\n")) << text;
  EXPECT_EQ(text.find("wants"), std::string::npos) << text;
}

TEST(PrintedReport, says_that_a_place_is_unknown) {
  const lock_label label{nullptr, "s"};
  const std::string unlock = printed({lock_event::not_held, {7, label, {}}, {}, {}});
  EXPECT_TRUE(unlock.ends_with("  unlocked by thread 7 (place unknown)\n")) << unlock;
  const std::string overflow = printed({lock_event::table_overflow, {7, label, {}}, {}, {}});
  EXPECT_TRUE(overflow.ends_with(" (place unknown)\n")) << overflow;
  EXPECT_EQ((unlock + overflow).find(":0"), std::string::npos);
}

// ThreadSanitizer would report what is done wrong here on purpose.
#if !defined(LOCKYARD_TSAN_ANNOTATIONS)
TYPED_TEST(Reports, are_what_comes_of_an_unlock_by_who_does_not_hold_it) {
  TypeParam lock;
  ASSERT_TRUE(lock.lock());
#if defined(NDEBUG)
  const reports told;
  const unsigned line = __LINE__ + 1;
  std::thread{[&] { lock.unlock(); }}.join();
  EXPECT_EQ(told.count(lock_event::not_held), 1U);
  EXPECT_EQ(told.list().at(0).wait.wanted.address, &lock);
  EXPECT_TRUE(is_here(told.list().at(0).wait.at, line));
  EXPECT_FALSE(is_free(lock));
  lock.unlock();
  lock.unlock();
  EXPECT_EQ(told.count(lock_event::not_held), 2U);
#else
  EXPECT_DEATH(std::thread{[&] { lock.unlock(); }}.join(), "does not hold the lock");
  const auto before = set_lock_report_handler(&print_lock_report);
  EXPECT_DEATH(std::thread{[&] { lock.unlock(); }}.join(),
               "unlocked by thread [0-9]+ at .*reports_test.cpp:[0-9]+\n"
               "  thread [0-9]+ holds it\n");
  set_lock_report_handler(before);
  EXPECT_FALSE(is_free(lock));
  lock.unlock();
  EXPECT_DEATH(lock.unlock(), "does not hold the lock");
#endif
  EXPECT_TRUE(is_free(lock));
}
#endif

TEST(LockResult, is_an_error_code_and_an_error_condition) {
  const std::vector<std::pair<lock_errc, std::errc>> conditions{
      {lock_errc::deadlock, std::errc::resource_deadlock_would_occur},
      {lock_errc::timed_out, std::errc::timed_out},
      {lock_errc::owner_dead, std::errc::owner_dead},
      {lock_errc::nested_busy, std::errc::device_or_resource_busy}};
  for (const auto& [code, condition] : conditions) {
    const lock_result result{code};
    EXPECT_FALSE(result);
    EXPECT_EQ(result.error(), code);
    EXPECT_EQ(result.error(), condition);
    EXPECT_NE(result.error(), std::errc::operation_canceled);
    EXPECT_EQ(result.error().category(), lock_category());
    EXPECT_NE(result.error().message(), "unknown");
  }
  EXPECT_TRUE(lock_result{lock_errc::acquired});
  EXPECT_FALSE(lock_result{lock_errc::acquired}.error());
  EXPECT_STREQ(lock_category().name(), "lockyard");
  EXPECT_EQ(lock_category().message(77), "unknown");
  static_assert(!std::is_convertible_v<lock_result, bool>);
}

template <class Lock>
class Guards : public ::testing::Test {};
TYPED_TEST_SUITE(Guards, both_locks, form_name);

TYPED_TEST(Guards, hold_the_lock_or_the_reason_why_not) {
  TypeParam lock, other;
  {
    resilient_guard held{lock};
    EXPECT_TRUE(held);
    EXPECT_EQ(held.result(), lock_errc::acquired);
    EXPECT_FALSE(held.error());
    resilient_guard failed{lock};
    EXPECT_FALSE(failed);
    EXPECT_EQ(failed.error(), std::errc::resource_deadlock_would_occur);
    failed.unlock();
    EXPECT_FALSE(is_free(lock));
  }
  EXPECT_TRUE(is_free(lock));
  resilient_guard first{lock};
  resilient_guard moved{std::move(first)};
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): says what is left
  EXPECT_TRUE(moved);
  moved = resilient_guard{other};
  EXPECT_TRUE(is_free(lock));
  EXPECT_FALSE(is_free(other));
  moved.unlock();
  EXPECT_TRUE(is_free(other));
  EXPECT_FALSE(moved);
  static_assert(!std::is_copy_constructible_v<resilient_guard<TypeParam>>);
}

TYPED_TEST(Guards, of_the_standard_throw_what_went_wrong) {
  throwing<TypeParam> one{"one"}, two;
  EXPECT_STREQ(one.get().name(), "one");
  {
    const std::scoped_lock both{one, two};
    EXPECT_FALSE(is_free(one) || is_free(two));
    try {
      const std::lock_guard again{one};
      ADD_FAILURE() << "locked twice";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), lock_errc::deadlock);
      EXPECT_EQ(error.code(), std::errc::resource_deadlock_would_occur);
    }
    EXPECT_THROW(static_cast<void>(one.try_lock_for(milliseconds{1})), std::system_error);
    EXPECT_FALSE(one.try_lock());
    std::thread{[&] { EXPECT_FALSE(one.try_lock_for(milliseconds{1})); }}.join();
  }
  EXPECT_TRUE(is_free(one) && is_free(two));
  std::lock(one, two);
  EXPECT_THROW(std::lock(one, two), std::system_error);
  EXPECT_FALSE(is_free(one) || is_free(two));
  one.unlock();
  // It releases the locks that it did acquire.
  EXPECT_THROW(std::lock(one, two), std::system_error);
  EXPECT_TRUE(is_free(one));
  two.unlock();
  std::unique_lock late{one, std::defer_lock};
  EXPECT_TRUE(late.try_lock_until(std::chrono::system_clock::now() + milliseconds{1}));
}

}  // namespace
}  // namespace lockyard::testing
