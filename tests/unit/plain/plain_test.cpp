// SPDX-License-Identifier: Apache-2.0

// Programs with plain std::atomic, compiled as modules: what the checker says of each.

#include "random_program.hpp"

#include <plain/program.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
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

/// The smallest client that shows the fault; the entry's name begins with the verdict.
TEST(PlainAtomics, have_the_verdict_that_their_names_say) {
  for (const plain::entry& each : entries()) {
    const std::string name = each.name;
    const std::string expected = name.substr(0, name.find(':'));
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
                                 : sleeps                    ? "wakes for no reason"
                                                             : "";
    EXPECT_EQ(found.bounded.empty(), cap.empty()) << name << ": " << found.bounded;
    EXPECT_NE(found.bounded.find(cap), std::string::npos) << name << ": " << found.bounded;
  }
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

searched_program search_drawn(bool reduces) {
  const auto clients = plain::clients_of(entries().back(), {});
  outcomes.clear();
  searched_program all;
  all.by =
      plain::searched([&] { return model::explore(clients, {.reduces = reduces, .workers = 1}); });
  all.outcomes = outcomes;
  return all;
}

void draw(std::minstd_rand& random) {
  const auto below = [&](unsigned count) { return static_cast<unsigned>(random() >> 8U) % count; };
  const bool has_plain = below(4) == 0;
  for (std::vector<unsigned>& thread : drawn_program) {
    thread.clear();
    for (unsigned left = 1 + below(3); left != 0; --left) {
      const auto most = static_cast<unsigned>(has_plain ? plain_random::kind::count
                                                        : plain_random::kind::read_plain);
      // A third of them are stores, without which most programs would hang.
      const unsigned does =
          below(3) == 0 ? static_cast<unsigned>(plain_random::kind::wake) : 1 + below(most - 1);
      thread.push_back(does | below(2) << 5U | (1 + below(2)) << 6U | below(2) << 8U);
    }
  }
}

/// LOCKYARD_ORACLE_PROGRAMS gives another number of programs than the usual one.
TEST(PlainAtomics, have_the_same_outcomes_with_and_without_reduction) {
  const char* const wanted = std::getenv("LOCKYARD_ORACLE_PROGRAMS");
  const std::uint64_t count = wanted == nullptr ? 60 : std::strtoull(wanted, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    std::minstd_rand random{static_cast<unsigned>(seed * 2654435761U + 17)};
    draw(random);
    const searched_program reduced = search_drawn(true);
    const searched_program whole = search_drawn(false);
    EXPECT_EQ(reduced.by.passed(), whole.by.passed())
        << "seed " << seed << ": " << text_of(reduced.by) << text_of(whole.by);
    if (!whole.by.passed()) continue;
    EXPECT_EQ(reduced.outcomes, whole.outcomes) << "seed " << seed;
    EXPECT_EQ(reduced.by.bounded, whole.by.bounded) << "seed " << seed;
  }
  for (std::vector<unsigned>& thread : drawn_program) thread.clear();
}

}  // namespace
