// SPDX-License-Identifier: Apache-2.0

// Programs with plain std::atomic, compiled as modules: what the checker says of each.

#include <plain/program.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace
