// SPDX-License-Identifier: Apache-2.0

// Memory that one object after another lies in: what the engine takes for a fault, and what not.

#include <model/client.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <type_traits>

namespace lockyard::model {
namespace {

using order = std::memory_order;

/// Two threads, a place for objects that come one after the other, and words that live throughout.
class place_client : public client {
 public:
  [[nodiscard]] unsigned threads() const override { return 2; }
  void thread(unsigned index) override { index == 0 ? first() : second(); }

 protected:
  virtual void first() = 0;
  virtual void second() = 0;

  template <class Object>
  Object& make(std::uint32_t value) {
    return *::new (memory_.data()) Object(value);
  }
  template <class Object>
  Object& object() {
    return *std::launder(reinterpret_cast<Object*>(memory_.data()));
  }
  template <class Object>
  void end() {
    std::destroy_at(&object<Object>());
  }

  /// What the other thread did before pass_on() happens before the return.
  void pass_on(order by = order::release) { turn_.store(true, by); }
  void await_turn() {
    model::await(
        turn_, [](bool is_mine) noexcept { return is_mine; }, order::acquire,
        wait_policies::busy{});
  }

 private:
  alignas(16) std::array<std::byte, 64> memory_{};
  word<bool> turn_{false};
};

using number = word<std::uint32_t>;
using signed_number = word<std::int32_t>;
using plain_number = plain_data<std::uint32_t>;
/// Its word lies elsewhere in its memory than the word of `number`.
struct pair_of_numbers {
  explicit pair_of_numbers(std::uint32_t value) : second{value} {}
  plain_number first{0};
  number second;
};

template <class Client>
found check(settings how = {}) {
  return explore([] { return std::make_unique<Client>(); }, {.how = how, .workers = 1});
}

// A pointer that was good before

/// The second thread uses what the first one has ended, and made anew, without having heard of it.
template <class New>
struct stale_use : place_client {
  stale_use() { make<number>(1); }
  void first() override {
    end<number>();
    make<New>(2);
  }
  void second() override { object<number>().load(order::relaxed); }
};

TEST(Reuse, finds_a_use_through_a_pointer_into_memory_of_a_new_object) {
  for (const found& result :
       {check<stale_use<number>>(), check<stale_use<signed_number>>(),
        check<stale_use<plain_number>>(), check<stale_use<pair_of_numbers>>()}) {
    EXPECT_EQ(result.result, verdict::lifetime) << result.what;
  }
}

/// The same where it has heard of it: then it is a use of what lies there.
template <class New>
struct late_use : place_client {
  late_use() { make<number>(1); }
  void first() override {
    end<number>();
    make<New>(2);
    pass_on();
  }
  void second() override {
    await_turn();
    require(object<number>().load(order::relaxed) == 2, "the value is the new word's");
  }
};

TEST(Reuse, lets_a_pointer_reach_the_new_word_of_the_same_type) {
  const found result = check<late_use<number>>();
  EXPECT_EQ(result.result, verdict::passed) << result.what;
}

TEST(Reuse, lets_no_pointer_reach_a_word_of_another_type) {
  for (const found& result : {check<late_use<signed_number>>(), check<late_use<plain_number>>(),
                              check<late_use<pair_of_numbers>>()}) {
    EXPECT_EQ(result.result, verdict::lifetime) << result.what;
  }
}

/// An object is made over a word that nothing has ended.
struct use_of_word_built_over : place_client {
  use_of_word_built_over() { make<number>(1); }
  void first() override {
    make<plain_number>(2);
    pass_on();
  }
  void second() override {
    await_turn();
    object<number>().load(order::relaxed);
  }
};

TEST(Reuse, ends_what_is_built_over) {
  const found result = check<use_of_word_built_over>();
  EXPECT_EQ(result.result, verdict::lifetime) << result.what;
}

/// A compare-exchange that was meant for the old word, and finds its value in the new one.
struct stale_exchange : place_client {
  stale_exchange() { make<number>(7); }
  void first() override {
    end<number>();
    make<number>(7);
    pass_on();
  }
  void second() override {
    std::uint32_t seen = 7;
    await_turn();
    require(!object<number>().compare_exchange_strong(seen, 8, order::relaxed, order::relaxed),
            "no thread takes the new word for the old one");
  }
};

TEST(Reuse, shows_the_same_value_of_a_new_word) {
  EXPECT_EQ(check<stale_exchange>().result, verdict::assertion);
}

/// The second thread goes on with plain data that the first one has ended.
template <class New, bool Writes>
struct stale_plain_use : place_client {
  stale_plain_use() { make<plain_number>(1); }
  void first() override {
    end<plain_number>();
    make<New>(2);
    pass_on();
  }
  void second() override {
    await_turn();
    if (Writes) {
      object<plain_number>().write(3);
    } else {
      static_cast<void>(object<plain_number>().read());
    }
  }
};

TEST(Reuse, finds_a_use_of_plain_data_after_its_end) {
  for (const found& result :
       {check<stale_plain_use<number, false>>(), check<stale_plain_use<number, true>>()}) {
    EXPECT_EQ(result.result, verdict::lifetime) << result.what;
  }
  EXPECT_EQ((check<stale_plain_use<plain_number, true>>().result), verdict::passed);
}

// Ends and beginnings that nothing orders

/// The second thread uses the object while the first one ends it, or builds over it.
template <class Object, bool RunsDestructor>
struct use_at_end : place_client {
  use_at_end() { make<Object>(1); }
  void first() override {
    if (RunsDestructor) end<Object>();
    if (!RunsDestructor) make<number>(2);
    pass_on();
  }
  void second() override {
    if constexpr (std::is_same_v<Object, number>) {
      object<Object>().load(order::relaxed);
    } else {
      static_cast<void>(object<Object>().read());
    }
  }
};

TEST(Reuse, finds_a_use_that_nothing_orders_before_the_end) {
  for (const found& result :
       {check<use_at_end<number, true>>(), check<use_at_end<number, false>>(),
        check<use_at_end<plain_number, true>>(), check<use_at_end<plain_number, false>>()}) {
    EXPECT_EQ(result.result, verdict::lifetime) << result.what;
  }
}

/// The first thread ends the object, and the second one makes another there.
template <class Old, class New, order By>
struct handed_memory : place_client {
  handed_memory() { make<Old>(1); }
  void first() override {
    end<Old>();
    pass_on(By);
  }
  void second() override {
    await_turn();
    make<New>(2);
  }
};

TEST(Reuse, wants_the_old_end_to_happen_before_the_new_beginning) {
  for (const found& result : {check<handed_memory<number, number, order::relaxed>>(),
                              check<handed_memory<number, plain_number, order::relaxed>>(),
                              check<handed_memory<plain_number, number, order::relaxed>>(),
                              check<handed_memory<plain_number, plain_number, order::relaxed>>()}) {
    EXPECT_EQ(result.result, verdict::lifetime) << result.what;
  }
  for (const found& result : {check<handed_memory<number, number, order::release>>(),
                              check<handed_memory<number, plain_number, order::release>>(),
                              check<handed_memory<plain_number, number, order::release>>(),
                              check<handed_memory<plain_number, plain_number, order::release>>()}) {
    EXPECT_EQ(result.result, verdict::passed) << result.what;
  }
}

/// The second thread spins on a word that the first one ends and makes anew, and that never has the
/// value. `Begins` is where that is before the first thread's first step.
template <bool Begins>
struct spin_on_ended : place_client {
  spin_on_ended() { make<number>(1); }
  void first() override {
    if (!Begins) pass_on();
    end<number>();
    make<number>(1);
  }
  void second() override {
    model::await(
        object<number>(), [](std::uint32_t value) noexcept { return value == 5; }, order::relaxed,
        wait_policies::busy{});
  }
};

TEST(Reuse, finds_the_end_of_a_word_that_a_thread_spins_on) {
  for (const found& result : {check<spin_on_ended<true>>(), check<spin_on_ended<false>>()}) {
    EXPECT_EQ(result.result, verdict::lifetime) << result.what;
  }
}

// Sleepers

/// The first thread has the address of a word that ends. The second thread sleeps on a new word, at
/// that address or next to it; how its sleep ends is an outcome.
class late_wake : public place_client {
 public:
  late_wake(std::set<model::wait_result>& outcomes, bool is_same_address)
      : outcomes_{outcomes}, is_same_address_{is_same_address} {
    make<number>(0);
  }
  void first() override { model::wake(object<number>(), 1); }
  void second() override {
    end<number>();
    number& made = is_same_address_ ? make<number>(0) : make<pair_of_numbers>(0).second;
    outcomes_.insert(model::wait(made, 0, model::deadline_after({})));
  }

 private:
  std::set<model::wait_result>& outcomes_;
  bool is_same_address_;
};

std::set<model::wait_result> ends_of_sleep(bool is_same_address) {
  std::set<model::wait_result> outcomes;
  const found result =
      explore([&] { return std::make_unique<late_wake>(outcomes, is_same_address); },
              {.how = {.spurious_wakes = 0, .timeouts = 0}, .workers = 1});
  EXPECT_EQ(result.result, verdict::passed) << result.what;
  return outcomes;
}

TEST(Reuse, lets_a_wake_by_an_old_address_reach_the_sleeper_of_a_new_word) {
  using enum model::wait_result;
  EXPECT_EQ(ends_of_sleep(true), (std::set{woken, timed_out}));
  EXPECT_EQ(ends_of_sleep(false), std::set{timed_out});
}

/// A thread ends, and its state with it, while another one begins and makes a state of that type.
struct states_in_turn : place_client {
  struct state {
    number value{0};
    std::array<std::byte, 500> room{};  // has a size that no other object has
  };
  void first() override { touch(); }
  void second() override {
    pass_on(order::relaxed);  // a step, before which the first thread may end
    touch();
  }
  static void touch() { model::thread_state<state>().value.store(1, order::relaxed); }
};

TEST(Reuse, does_not_give_the_state_of_an_ended_thread_to_another_one) {
  const found result = check<states_in_turn>();
  EXPECT_EQ(result.result, verdict::passed) << result.what;
}

}  // namespace
}  // namespace lockyard::model
