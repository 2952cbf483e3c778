// SPDX-License-Identifier: Apache-2.0

// Programs with plain std::atomic, compiled as modules: what the checker says of each.

#include "random_program.hpp"

#include <plain/fact_table.hpp>
#include <plain/program.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// The program that the module's client runs: no operations, unless a test draws some.
std::vector<std::vector<unsigned>> drawn_program(plain_random::program::threads);
std::set<unsigned long> outcomes;

}  // namespace

unsigned lockyard_random_operation(unsigned thread, unsigned position) {
  const std::vector<unsigned>& all = drawn_program.at(thread);
  return position < all.size() ? all[position] : 0;
}

void lockyard_random_outcome(unsigned long seen) {
  outcomes.insert(seen);
}

namespace {

using namespace lockyard;
using model::verdict;

const std::vector<plain::entry>& entries() {
  static const std::vector<plain::entry> all = plain::load_module(LOCKYARD_TEST_MODULE);
  return all;
}

model::found search(const plain::entry& of, const model::client_size& size,
                    model::site_list* sites = nullptr) {
  const auto clients = plain::clients_of(of, size);
  return plain::searched(
      [&] { return model::explore(clients, {.workers = 1, .seconds = 60, .sites = sites}); });
}

std::string text_of(const model::found& found) {
  return model::name_of(found.result) + " " + found.what + " " + found.left_out + "\n" +
         model::to_text(found.steps);
}

const plain::entry& named(std::string_view name) {
  return *std::ranges::find(entries(), name, [](const plain::entry& each) { return each.name; });
}

/// The smallest client that shows the fault; the entry's name begins with the verdict.
TEST(PlainAtomics, have_the_verdict_that_their_names_say) {
  for (const plain::entry& each : entries()) {
    const std::string name = each.name;
    const std::string expected = name.substr(0, name.find(':'));
    if (expected == "deep") continue;
    model::found found = search(each, {.threads = 2});
    if (expected == "hang" && found.passed()) found = search(each, {.threads = 3});
    const std::string verdict =
        found.result == verdict::passed && !found.bounded.empty() && expected == "bounded"
            ? "bounded"
            : model::name_of(found.result);
    EXPECT_EQ(verdict, expected) << name << ": " << text_of(found);
    EXPECT_EQ(found.left_out, "") << name;
  }
}

TEST(PlainAtomics, are_exhaustive_unless_a_cap_took_effect) {
  for (const plain::entry& each : entries()) {
    const std::string_view name = each.name;
    if (!name.starts_with("passed")) continue;
    const model::found found = search(each, {.threads = 2});
    const bool sleeps =
        name.ends_with("futex") || name.ends_with("condition variable") || name.ends_with("sleeps");
    const std::string_view cap = name.ends_with("two sizes") ? "stores to a part of a word"
                                 : sleeps                    ? "spurious wakes"
                                                             : "";
    EXPECT_EQ(found.bounded.empty(), cap.empty()) << name << ": " << found.bounded;
    EXPECT_NE(found.bounded.find(cap), std::string::npos) << name << ": " << found.bounded;
  }
}

/// With an execution for each turn there are twice as many.
TEST(PlainAtomics, need_no_execution_for_a_futile_turn) {
  const model::found found = search(named("passed: bakery"), {.threads = 2});
  EXPECT_EQ(found.result, verdict::passed) << text_of(found);
  EXPECT_LT(found.executions, 200U);
}

/// If a failure for no reason led on, there would be hundreds of times as many.
TEST(PlainAtomics, need_few_executions_for_failures_for_no_reason) {
  const model::found weak = search(named("passed: weak attempts in loops"), {});
  const model::found strong = search(named("passed: strong attempts in loops"), {});
  EXPECT_LT(weak.executions, 4 * strong.executions);
}

TEST(PlainAtomics, use_try_lock_for_only_in_a_timed_client) {
  const model::client_size timed{.threads = 2, .timed = true};
  EXPECT_EQ(search(named("passed: try_lock_for"), timed).result, verdict::passed);
  EXPECT_EQ(search(named("passed: try_lock_for, if nothing calls it"), timed).result,
            verdict::race);
}

TEST(PlainAtomics, leave_out_the_readers_of_a_lock_that_has_none) {
  for (const plain::entry& each : entries()) {
    EXPECT_NE(each.name, std::string_view{"passed: no readers"});
  }
}

/// Each turn of its loop writes, so its executions have no longest one.
TEST(PlainAtomics, are_bounded_if_deep_executions_end_in_one_order) {
  const auto clients = plain::clients_of(named("deep: a spin that writes"), {.threads = 2});
  const auto found_with = [&](unsigned finishing) {
    return plain::searched([&] {
      return model::explore(clients, {.how = {.depth = 50, .finishing = finishing}, .workers = 1});
    });
  };
  const model::found given_up = found_with(0);
  EXPECT_EQ(given_up.left_out, "deeper than 50 steps");
  const model::found finished = found_with(1000);
  EXPECT_EQ(finished.result, verdict::passed) << text_of(finished);
  EXPECT_EQ(finished.left_out, "");
  EXPECT_EQ(finished.bounded, "steps <= 50");
}

/// It has room for fewer writes than for steps.
TEST(PlainAtomics, are_bounded_if_a_loop_writes_a_word_often) {
  const auto clients = plain::clients_of(named("deep: adds and takes back"), {.threads = 2});
  const model::found found = plain::searched(
      [&] { return model::explore(clients, {.how = {.finishing = 1000}, .workers = 1}); });
  EXPECT_EQ(found.result, verdict::passed) << text_of(found);
  EXPECT_EQ(found.left_out, "");
  EXPECT_NE(found.bounded.find("writes of a word <= 125"), std::string::npos) << found.bounded;
}

TEST(PlainAtomics, name_the_line_of_the_users_source) {
  const plain::entry& ttas = entries().front();
  model::site_list sites;
  search(ttas, {.threads = 2}, &sites);
  ASSERT_EQ(sites.size(), 3U);
  for (const model::site_use& each : sites) EXPECT_EQ(each.where.file, "locks.hpp");
}

TEST(PlainAtomics, replay_a_failure) {
  const plain::entry& broken = entries()[1];
  const model::found found = search(broken, {.threads = 2});
  const auto again = model::replay(plain::clients_of(broken, {.threads = 2}), {}, found.replay);
  EXPECT_EQ(model::name_of(again.result), model::name_of(found.result)) << again.what;
  EXPECT_EQ(again.what, found.what);
}

/// A name without a function would leave the module's call undefined, and the other way round the
/// call would reach the system's function.
TEST(PlainAtomics, replace_the_functions_that_the_list_names) {
  std::ifstream list{LOCKYARD_WRAPPED};
  unsigned count = 0;
  for (std::string line; std::getline(list, line); ++count) {
    const std::string name = "__wrap_" + line.substr(line.find('=') + 1);
    EXPECT_NE(dlsym(RTLD_DEFAULT, name.c_str()), nullptr) << name;
  }
  EXPECT_GT(count, 50U);
}

struct searched_program {
  model::found by;
  std::set<unsigned long> outcomes;
};

/// A program whose whole search takes longer is left out; the reduced search may not take forever.
constexpr double seconds_of_whole = 2;

searched_program search_drawn(bool reduces) {
  const auto clients = plain::clients_of(entries().back(), {});
  searched_program all;
  all.by = plain::searched([&] {
    return model::explore(clients, {.reduces = reduces,
                                    .workers = 1,
                                    .seconds = reduces ? 0.0 : seconds_of_whole,
                                    .on_begin = [] { outcomes.clear(); }});
  });
  all.outcomes = outcomes;
  return all;
}

/// Draws operations on words, and operations of at most one other family.
void draw(std::minstd_rand& random, unsigned most) {
  using plain_random::kind;
  const auto below = [&](unsigned count) { return static_cast<unsigned>(random() >> 8U) % count; };
  const auto number = [](kind of) { return static_cast<unsigned>(of); };
  constexpr std::array families{kind::read_plain, kind::spin_keeps, kind::publishes_local,
                                kind::sleeps_for_some_time, kind::count};
  const unsigned family = below(families.size());
  const bool has_words_only = family + 1 == families.size();
  const bool sleeps = families[family] == kind::sleeps_for_some_time;
  for (std::vector<unsigned>& thread : drawn_program) {
    thread.clear();
    for (unsigned left = 1 + below(most); left != 0; --left) {
      unsigned does = 1 + below(number(kind::wake));
      // A third of these are stores, without which most programs would hang.
      if (below(3) == 0) does = number(below(3) == 0 ? kind::wake_one : kind::wake);
      if (!has_words_only && below(2) == 0) {
        const unsigned first = number(families[family]);
        does = first + below(number(families[family + 1]) - first);
      }
      // A notification reaches no thread that sleeps without std::atomic::wait().
      const bool notifies = does == number(kind::wake_one) || does == number(kind::wake);
      if (sleeps && notifies) does = number(kind::wakes_by_number);
      thread.push_back(does | below(2) << 6U | (1 + below(2)) << 7U | below(2) << 9U);
    }
  }
}

std::string text_of_drawn() {
  std::string text;
  for (const std::vector<unsigned>& thread : drawn_program) {
    text += "thread:";
    for (const unsigned each : thread) {
      text += " " + std::to_string(each & 63U) + "(" + std::to_string(each >> 6U & 1U) + "," +
              std::to_string(each >> 7U & 3U) + "," + std::to_string(each >> 9U & 1U) + ")";
    }
    text += "\n";
  }
  return text;
}

/// LOCKYARD_ORACLE_PROGRAMS gives another number of programs than the usual one, _FIRST the seed of
/// the first one, and _OPERATIONS the most that a thread has.
TEST(PlainAtomics, have_the_same_outcomes_with_and_without_reduction) {
  const auto given = [](const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  const std::uint64_t count = given("LOCKYARD_ORACLE_PROGRAMS", 60);
  const std::uint64_t first = given("LOCKYARD_ORACLE_FIRST", 1);
  const auto most = static_cast<unsigned>(given("LOCKYARD_ORACLE_OPERATIONS", 2));
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    std::minstd_rand random{static_cast<unsigned>(seed * 2654435761U + 17)};
    draw(random, most);
    const searched_program whole = search_drawn(false);
    if (!whole.by.left_out.empty()) continue;
    const searched_program reduced = search_drawn(true);
    EXPECT_EQ(reduced.by.passed(), whole.by.passed())
        << "seed " << seed << ":\n"
        << text_of_drawn() << text_of(reduced.by) << text_of(whole.by);
    if (!whole.by.passed()) continue;
    EXPECT_EQ(reduced.outcomes, whole.outcomes) << "seed " << seed << ":\n" << text_of_drawn();
    EXPECT_TRUE(whole.by.bounded.empty() || !reduced.by.bounded.empty()) << "seed " << seed;
  }
  for (std::vector<unsigned>& thread : drawn_program) thread.clear();
}

TEST(FactTable, is_shared_with_processes_that_are_started_later) {
  constexpr std::uint64_t key = 7;
  plain::fact_table facts;
  EXPECT_EQ(facts.add(key, 1), 0U);
  const pid_t child = fork();
  if (child == 0) _exit(facts.add(key, 2) == 1U ? 0 : 1);
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  EXPECT_EQ(facts.known(key), 3U);
  EXPECT_EQ(facts.known(key + 1), 0U);
}

#if defined(__x86_64__) && !defined(__clang__)
using five = std::array<std::uint64_t, 5>;

/// Copies what spins.cpp takes for the caller's registers.
[[gnu::noinline]] void copy_registers(five* to) {
  __builtin_unwind_init();
  std::memcpy(to, static_cast<const std::byte*>(__builtin_frame_address(0)) - sizeof *to,
              sizeof *to);
}

TEST(NoteCaller, finds_the_callers_registers_right_below_the_frame_pointer) {
  five found{};
  register std::uint64_t r12 asm("r12") = 12;
  register std::uint64_t r13 asm("r13") = 13;
  register std::uint64_t r14 asm("r14") = 14;
  register std::uint64_t r15 asm("r15") = 15;
  five* to = &found;
  void (*const copies)(five*) = &copy_registers;
  asm volatile("call *%[copies]"
               : "+D"(to)
               : [copies] "a"(copies), "b"(11), "r"(r12), "r"(r13), "r"(r14), "r"(r15)
               : "memory", "cc", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
  std::ranges::sort(found);
  EXPECT_EQ(found, (five{11, 12, 13, 14, 15}));
}
#endif

}  // namespace
