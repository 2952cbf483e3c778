// SPDX-License-Identifier: Apache-2.0

// Executions that go on from a snapshot are the ones that begin with the client.

#include "random_programs.hpp"

#include <checker/registry.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace lockyard::model::testing {
namespace {

using std::memory_order;

enum class compared : std::uint8_t {
  all,
  /// Whether a sleep leads back is told by the stack, with what earlier calls have left there: an
  /// execution that begins with the client finds what the one before has left.
  results,
};

bool are_same(const result& a, const result& b, compared what) {
  const bool fails = a.by.result != verdict::passed;
  const bool has_same_results =
      a.by.result == b.by.result &&
      (fails || (a.by.bounded == b.by.bounded && a.outcomes == b.outcomes));
  const bool is_same_search = a.by.what == b.by.what && a.by.replay == b.by.replay &&
                              a.by.executions == b.by.executions && a.by.states == b.by.states;
  return has_same_results && (is_same_search || what == compared::results);
}

/// States are graphs here, so the searches have the same executions, one by one.
template <class Make>
void compare_random_programs(Make make, compared what) {
  unsigned differences = 0;
  for (std::uint64_t seed = 1; seed <= programs(1000) && differences < 5; ++seed) {
    generator random{seed};
    const program tried = make(random);
    plan by{.how = random.make_settings(),
            .reduces = seed % 4 != 0,
            .workers = 1,
            .memory_bytes = std::size_t{1} << 28U};
    by.how.forgets_past = false;
    const result a = search_of(tried, by);
    by.keeps_snapshots = true;
    const result b = search_of(tried, by);
    if (are_same(a, b, what)) continue;
    ++differences;
    ADD_FAILURE() << "seed " << seed << ": " << name_of(b.by.result) << ", " << b.by.executions
                  << " executions (" << b.by.bounded << ") instead of " << name_of(a.by.result)
                  << ", " << a.by.executions << " (" << a.by.bounded << ")\n"
                  << to_text(tried);
  }
}

TEST(Snapshots, make_no_difference_to_random_programs) {
  compare_random_programs([](generator& random) { return random.make(); }, compared::all);
}

TEST(Snapshots, make_no_difference_to_random_sleeps) {
  compare_random_programs([](generator& random) { return random.make_of_sleeps(); },
                          compared::results);
}

TEST(Snapshots, make_no_difference_to_random_equal_values) {
  compare_random_programs([](generator& random) { return random.make_of_equal_values(); },
                          compared::all);
}

TEST(Snapshots, make_no_difference_to_locks) {
  for (const std::string_view name : {"mutex", "queued_spinlock", "mcs_lock", "shared_mutex",
                                      "biased_looks_once", "condition_links_late"}) {
    const checker::checked_client& of = *checker::find_client(name);
    const auto search = [&](bool keeps_snapshots) {
      settings how = of.settings_in(of.size);
      how.short_spins = how.timeouts = 0;
      how.forgets_past = false;
      return explore(of.make(of.size),
                     {.how = how, .keeps_snapshots = keeps_snapshots, .workers = 1});
    };
    const found a = search(false);
    const found b = search(true);
    EXPECT_EQ(a.result, b.result) << name;
    EXPECT_EQ(a.what, b.what) << name;
    EXPECT_EQ(a.executions, b.executions) << name;
    EXPECT_EQ(a.bounded, b.bounded) << name;
  }
}

/// Its memory on the heap is one that no snapshot has.
class client_with_heap : public client {
 public:
  explicit client_with_heap(std::set<std::string>& outcomes) : outcomes_{outcomes} {}
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    lock_.lock();
    list_->push_back(static_cast<char>('a' + index));
    lock_.unlock();
  }
  void finish() override { outcomes_.insert(*list_); }

 private:
  std::set<std::string>& outcomes_;
  model::abstract_lock lock_;
  std::unique_ptr<std::string> list_ = std::make_unique<std::string>();
};

TEST(Snapshots, are_not_taken_where_the_code_uses_the_heap) {
  std::set<std::string> outcomes;
  const found by = explore([&] { return std::make_unique<client_with_heap>(outcomes); },
                           {.keeps_snapshots = true, .workers = 1});
  EXPECT_TRUE(by.passed()) << by.what;
  EXPECT_EQ(outcomes, (std::set<std::string>{"ab", "ba"}));
}

/// Its data is neither in the client nor on a stack.
class client_with_static_data : public client {
 public:
  explicit client_with_static_data(std::set<unsigned>& outcomes) : outcomes_{outcomes} {
    std::construct_at(&place.data, 0U);
  }
  client_with_static_data(const client_with_static_data&) = delete;
  client_with_static_data& operator=(const client_with_static_data&) = delete;
  ~client_with_static_data() override { std::destroy_at(&place.data); }
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override {
    lock_.lock();
    place.data.write(place.data.read() * 10 + index + 1);
    lock_.unlock();
  }
  void finish() override { outcomes_.insert(place.data.read()); }

 private:
  static inline union room {
    room() {}
    ~room() {}
    plain_data<unsigned> data;
  } place;

  std::set<unsigned>& outcomes_;
  model::abstract_lock lock_;
};

TEST(Snapshots, are_not_taken_where_data_lies_elsewhere) {
  std::set<unsigned> outcomes;
  const found by = explore([&] { return std::make_unique<client_with_static_data>(outcomes); },
                           {.keeps_snapshots = true, .workers = 1});
  EXPECT_TRUE(by.passed()) << by.what;
  EXPECT_EQ(outcomes, (std::set<unsigned>{12, 21}));
}

}  // namespace
}  // namespace lockyard::model::testing
