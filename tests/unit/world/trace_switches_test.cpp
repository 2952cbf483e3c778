// SPDX-License-Identifier: Apache-2.0

// The kernel's records in a program's own trace: where they stand, what is lost, and who lets go of
// what. Where the kernel gives none, the reason is what there is to test.

#include <lockyard/lockyard.hpp>
#include <lockyard/traced.hpp>

#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <latch>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/asleep.hpp"
#include "support/tracing_fixture.hpp"

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;

bool is_record(const event& each) {
  return each.kind >= event_kind::switch_out && each.kind <= event_kind::records_lost;
}

/// How many of the kernel's pages this process has mapped.
long mapped_pages() {
  std::ifstream maps{"/proc/self/maps"};
  long found = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("[perf_event]") != std::string::npos) ++found;
  }
  return found;
}

template <std::size_t Length>
void filter_system_calls(std::array<sock_filter, Length> code) {
  const sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

/// From now on the calling thread, and what it starts, may not have perf events.
void forbid_perf_events() {
  filter_system_calls(std::array{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  });
}

/// As the kernel does where a user has as much of it as is allowed: no shared memory to read only.
void forbid_pages() {
  filter_system_calls(std::array{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[3])),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_SHARED, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  });
}

/// How the trace of a process begins that does this first: 0 if its switches are refused for that
/// reason.
int refused_in_a_child(const std::string& file, void (*forbid)(), std::string_view reason) {
  const pid_t child = fork();
  if (child == 0) {
    forbid();
    const bool begins = !trace::start(file);
    traced<mutex> lock;
    { const std::scoped_lock held{lock}; }
    const auto* const made = trace::detail::current();
    const bool is_told = std::string_view{made->why_no_switches.data()}.starts_with(reason);
    const bool has_none = made->has_switches == 0 && made->threads_without_switches == 0;
    _exit(begins && is_told && has_none ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

class TraceSwitches : public Tracing {
 protected:
  static constexpr trace::size usual{.rings = 8, .events = 4096, .switches = true};

  /// False, and the reason is tested, where the kernel gives no records.
  [[nodiscard]] bool starts(trace::size wanted = usual) {
    start(wanted);
    const auto* const made = trace::detail::current();
    if (made == nullptr || made->has_switches == 1) return made != nullptr;
    EXPECT_NE(std::string_view{made->why_no_switches.data()}, "");
    { const std::scoped_lock held{lock_}; }
    reread();
    EXPECT_TRUE(std::ranges::none_of(events_of(*rings().front()), is_record));
    return false;
  }
  [[nodiscard]] static std::string why_not() {
    const auto* const made = trace::detail::current();
    if (made == nullptr) return "the trace did not begin";
    return std::string{"unavailable here: "} + made->why_no_switches.data();
  }
  [[nodiscard]] std::vector<event> records_of(const trace::ring& of) const {
    std::vector<event> found = events_of(of);
    std::erase_if(found, [](const event& each) { return !is_record(each); });
    return found;
  }
  [[nodiscard]] std::vector<event> added_at_the_end() const {
    return events_of(*head().ring_at(trace::header::last_switches));
  }
  void lock_and_unlock() { const std::scoped_lock held{lock_}; }

  traced<ticket_spinlock> lock_;
};

TEST_F(TraceSwitches, stand_between_the_stamps_that_they_came_between) {
  if (!starts()) GTEST_SKIP() << why_not();
  lock_.lock();
  std::this_thread::sleep_for(1ms);
  lock_.unlock();
  reread();
  const auto all = events_of(*rings().front());
  EXPECT_EQ(all.front().kind, event_kind::switch_in);  // it ran, from here on that is known
  const auto acquired = std::ranges::find(all, event_kind::acquired, &event::kind);
  const auto releasing = std::ranges::find(all, event_kind::releasing, &event::kind);
  const auto slept = std::find_if(acquired, releasing, [](const event& each) {
    return each.kind == event_kind::switch_out && each.argument == 0;
  });
  ASSERT_NE(slept, releasing);
  const auto back = std::find_if(
      slept, releasing, [](const event& each) { return each.kind == event_kind::switch_in; });
  ASSERT_NE(back, releasing);
  EXPECT_GT(slept->ticks, acquired->ticks);
  EXPECT_LT(back->ticks, releasing->ticks);
  EXPECT_GT(static_cast<double>(back->ticks - slept->ticks) * head().ns_per_tick, 0.9e6);
  // And nowhere else.
  for (const event& each : added_at_the_end()) EXPECT_GT(each.ticks, back->ticks);
}

TEST_F(TraceSwitches, that_were_blanked_are_none) {
  const auto [pages, error, _] = lockyard::detail::os::open_switch_pages(1);
  EXPECT_EQ(pages.begin == nullptr, error != 0);
  if (error != 0) GTEST_SKIP() << "unavailable here: " << std::strerror(error);
  std::this_thread::sleep_for(1ms);
  lockyard::detail::os::switch_reader reader;
  long told = 0;
  const auto read = [&, pages = pages] {
    reader.read(pages, [&](const auto&) { ++told; }, [&](auto, auto) { ++told; });
  };
  read();
  EXPECT_GE(std::exchange(told, 0), 2);
  lockyard::detail::os::blank_switch_pages(pages);
  std::this_thread::sleep_for(1ms);
  read();
  EXPECT_EQ(told, 0);
  lockyard::detail::os::close_switch_pages(pages);
}

/// Its rate is measured in milliseconds, and exact in the end alone.
TEST_F(TraceSwitches, lie_where_they_were_although_the_trace_has_a_wrong_rate_yet) {
  if (!starts()) GTEST_SKIP() << why_not();
  trace::detail::current()->ns_per_tick *= 0.999;
  lock_.lock();
  std::this_thread::sleep_for(50ms);
  lock_.unlock();
  reread();
  const auto all = events_of(*rings().front());
  const auto acquired = std::ranges::find(all, event_kind::acquired, &event::kind);
  const auto out = std::ranges::find(acquired, all.end(), event_kind::switch_out, &event::kind);
  ASSERT_NE(out, all.end());
  EXPECT_GT(out->ticks, acquired->ticks);
}

TEST_F(TraceSwitches, after_a_threads_last_stamp_are_added_when_the_trace_ends) {
  if (!starts()) GTEST_SKIP() << why_not();
  std::latch may_end{1};
  std::atomic<std::uint32_t> tid{0};
  std::thread sleeper{[&] {
    lock_and_unlock();
    tid = native::thread_id();
    may_end.wait();
  }};
  while (tid == 0) std::this_thread::yield();
  await_sleep_of(tid);
  reread();
  may_end.count_down();
  sleeper.join();
  const auto added = added_at_the_end();
  const auto last = std::ranges::find(added.rbegin(), added.rend(), tid.load(), &event::lock);
  ASSERT_NE(last, added.rend());
  EXPECT_EQ(last->kind, event_kind::switch_out);
  EXPECT_LE(last->ticks, head().ends_ticks);
}

TEST_F(TraceSwitches, of_a_thread_that_has_ended_are_there) {
  if (!starts()) GTEST_SKIP() << why_not();
  std::thread{[&] {
    lock_and_unlock();
    std::this_thread::sleep_for(1ms);
  }}.join();
  reread();
  ASSERT_EQ(rings().size(), 1U);
  const std::uint64_t ended = rings().front()->tid;
  EXPECT_GE(std::ranges::count(added_at_the_end(), ended, &event::lock), 2);
}

TEST_F(TraceSwitches, that_the_kernel_has_overwritten_are_counted_and_marked) {
  if (!starts()) GTEST_SKIP() << why_not();
  lock_.lock();
  const auto room =
      static_cast<int>(trace::detail::most_switch_pages * lockyard::detail::os::page_bytes() /
                       lockyard::detail::os::switch_bytes);
  // Not each has to be a switch: the time may be over before.
  for (int i = 0; i < 2 * room; ++i) std::this_thread::sleep_for(1us);
  lock_.unlock();
  reread();
  const trace::ring& mine = *rings().front();
  const auto records = records_of(mine);
  const auto mark = std::ranges::find(records, event_kind::records_lost, &event::kind);
  ASSERT_NE(mark, records.end());
  EXPECT_EQ(mark->argument, mine.lost);
  EXPECT_GE(mine.lost, static_cast<std::uint64_t>(room));
  // Head of the ring, lost ones, and the others: all that there were.
  EXPECT_EQ(mine.switches, mine.lost + records.size() - 1);
}

TEST_F(TraceSwitches, take_no_pages_once_the_trace_has_ended_or_its_thread_is_replaced) {
  const long before = mapped_pages();
  if (!starts({.rings = 2, .events = 64, .switches = true})) GTEST_SKIP() << why_not();
  for (int i = 0; i < 20; ++i) {
    std::thread{[&] { lock_and_unlock(); }}.join();
    EXPECT_LE(mapped_pages(), before + 2);
  }
  trace::stop();
  EXPECT_EQ(mapped_pages(), before);
  lock_and_unlock();
}

/// Threads go on stamping, yielding and ending while the trace ends; one that had begun a stamp may
/// be kept from its end for long, so the end of the trace does not bound it.
TEST_F(TraceSwitches, are_whole_when_the_trace_ends_under_its_threads) {
  const long before = mapped_pages();
  for (int round = 0; round < 20; ++round) {
    if (!starts()) GTEST_SKIP() << why_not();
    std::atomic<bool> is_over{false};
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) {
      all.emplace_back([&] {
        while (!is_over) {
          lock_and_unlock();
          std::this_thread::yield();
          std::thread{[&] { lock_and_unlock(); }}.join();
        }
      });
    }
    std::this_thread::sleep_for(2ms);
    reread();
    is_over = true;
    for (std::thread& each : all) each.join();
    EXPECT_EQ(mapped_pages(), before);
    for (const trace::ring* const each : rings()) {
      EXPECT_EQ(each->pages, 0U);
      for (const event& one : records_of(*each)) {
        EXPECT_GE(one.ticks + 1'000'000, head().start_ticks);
      }
    }
  }
}

TEST_F(TraceSwitches, are_the_parents_alone_after_a_fork) {
  if (!starts()) GTEST_SKIP() << why_not();
  lock_and_unlock();
  const long before = mapped_pages();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    lock_and_unlock();
    trace::stop();
    const std::string own = file_.string() + ".child";
    const bool had_none = mapped_pages() == 0;
    const bool begins = !trace::start(own, usual);
    lock_and_unlock();
    const bool has_its_own = trace::detail::current()->has_switches == 1 && mapped_pages() == 1;
    trace::stop();
    std::filesystem::remove(own);
    _exit(had_none && begins && has_its_own ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mapped_pages(), before);
  reread();
  EXPECT_EQ(rings().size(), 1U);
}

TEST_F(TraceSwitches, that_are_forbidden_are_named_with_their_reason) {
  if (!starts()) GTEST_SKIP() << why_not();
  trace::stop();
  EXPECT_EQ(
      refused_in_a_child(file_.string(), &forbid_perf_events, "perf_event_open is not permitted"),
      0);
}

TEST_F(TraceSwitches, without_memory_for_them_say_what_to_raise) {
  if (!starts()) GTEST_SKIP() << why_not();
  trace::stop();
  EXPECT_EQ(
      refused_in_a_child(file_.string(), &forbid_pages, "the kernel has no memory for records"), 0);
}

TEST_F(TraceSwitches, that_threads_cannot_have_are_counted_and_leave_errno_alone) {
  if (!starts()) GTEST_SKIP() << why_not();
  for (void (*const forbid)() : {&forbid_perf_events, &forbid_pages}) {
    std::thread{[&] {
      forbid();
      errno = 0;
      lock_and_unlock();
      EXPECT_EQ(errno, 0);
    }}.join();
  }
  lock_and_unlock();
  reread();
  EXPECT_EQ(head().has_switches, 1U);
  EXPECT_EQ(head().threads_without_switches, 2U);
  EXPECT_NE(std::string_view{head().why_no_switches.data()}, "");
  ASSERT_EQ(rings().size(), 3U);
  EXPECT_EQ(rings()[0]->switches, 0U);
  EXPECT_EQ(rings()[1]->switches, 0U);
  EXPECT_GE(rings()[2]->switches, 1U);
}

TEST_F(TraceSwitches, begin_before_the_first_lock_of_a_thread_that_joins) {
  if (!starts()) GTEST_SKIP() << why_not();
  trace::join();
  std::this_thread::sleep_for(1ms);
  lock_and_unlock();
  reread();
  const auto all = events_of(*rings().front());
  const auto called = std::ranges::find(all, event_kind::called, &event::kind);
  EXPECT_GE(std::count_if(all.begin(), called, is_record), 3);
}

TEST(WhyNoSwitches, a_filter_is_told_from_the_setting) {
  trace::sentence said{};
  trace::detail::say_why_no_switches(said, EACCES, false, 4);
  EXPECT_NE(std::string_view{said.data()}.find("is 4, and a container may filter"),
            std::string_view::npos);
  trace::detail::say_why_no_switches(said, EPERM, false, 2);
  EXPECT_NE(std::string_view{said.data()}.find("is 2: a filter"), std::string_view::npos);
}

}  // namespace
}  // namespace lockyard::testing
