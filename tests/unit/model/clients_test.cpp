// SPDX-License-Identifier: Apache-2.0

// Litmus tests and mutants have the verdict that they should have, however they are searched.

#include <checker/registry.hpp>

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

namespace lockyard::checker {

void PrintTo(const checked_client& each, std::ostream* to) {
  *to << each.name;
}

namespace {

using model::found;
using model::plan;
using model::verdict;

class Client : public ::testing::TestWithParam<checked_client> {
 protected:
  static const checked_client& of() { return GetParam(); }
  static found check(const plan& by) { return model::explore(of().make(of().size), by); }
};

TEST_P(Client, has_the_verdict_expected_of_it_and_fails_again_when_replayed) {
  const found with_two = check({.how = of().how, .workers = 2});
  EXPECT_EQ(with_two.result, of().expected) << with_two.what << "\n" << to_text(with_two.steps);
  // A search that fails ends there.
  if (of().expected == verdict::passed) {
    EXPECT_EQ(with_two.left_out, "");
    return;
  }
  const found again = model::replay(of().make(of().size), of().how, with_two.replay);
  EXPECT_EQ(again.result, of().expected);
  EXPECT_EQ(again.what, with_two.what);
  EXPECT_FALSE(again.steps.empty());
}

class SmallClient : public Client {};

TEST_P(SmallClient, has_the_same_verdict_with_one_worker_and_without_the_cache) {
  const found with_one = check({.how = of().how, .workers = 1});
  EXPECT_EQ(with_one.result, of().expected) << with_one.what;
  const found without_cache = check({.how = of().how, .uses_cache = false, .workers = 2});
  EXPECT_EQ(without_cache.result, of().expected) << without_cache.what;
  // A search that fails ends there, and which of two workers is there first is not said.
  if (of().expected != verdict::passed) return;
  EXPECT_GE(without_cache.executions, with_one.executions - with_one.cut);
}

std::string name_of_test(const ::testing::TestParamInfo<checked_client>& of) {
  std::string name{of.param.name};
  for (char& each : name) {
    if (std::isalnum(static_cast<unsigned char>(each)) == 0) each = '_';
  }
  return name;
}

/// What tells of the engine. Locks and their clients are checked by `lockyard check --all`.
std::vector<checked_client> clients_of_the_engine() {
  std::vector<checked_client> found;
  for (const checked_client& each : all_clients()) {
    if (each.of == group::litmus || each.of == group::mutant) found.push_back(each);
  }
  return found;
}

/// Returns the clients that are small enough to be searched without the cache, too.
std::vector<checked_client> small_clients() {
  std::vector<checked_client> found = clients_of_the_engine();
  std::erase_if(found, [](const checked_client& each) {
    const bool is_small =
        each.size.threads == 2 || (each.of == group::litmus && each.size.threads == 3);
    return each.bound || !is_small;
  });
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, Client, ::testing::ValuesIn(clients_of_the_engine()), &name_of_test);
INSTANTIATE_TEST_SUITE_P(All, SmallClient, ::testing::ValuesIn(small_clients()), &name_of_test);

TEST(Registry, knows_everything_by_a_name_of_its_own) {
  for (const checked_client& each : all_clients()) {
    EXPECT_EQ(find_client(each.name), &each) << each.name << " is there twice";
  }
  EXPECT_EQ(find_client("no such thing"), nullptr);
}

TEST(Registry, expects_every_mutant_to_be_found) {
  for (const checked_client& each : all_clients()) {
    if (each.of == group::mutant) {
      EXPECT_NE(each.expected, verdict::passed) << each.name;
    }
  }
}

}  // namespace
}  // namespace lockyard::checker
