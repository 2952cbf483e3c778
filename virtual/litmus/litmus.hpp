// SPDX-License-Identifier: Apache-2.0
#pragma once

// Litmus tests: a few accesses, and one outcome that C++20 allows or forbids. A test that finds its
// outcome fails the client's claim, so verdict::assertion means allowed and verdict::passed
// forbidden; where plain data is the question, verdict::race and verdict::passed.

#include <checker/registry.hpp>

#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace lockyard::checker {

/// What the tables of tests are written in.
namespace litmus_words {
using order = std::memory_order;
using model::model;
inline constexpr order rlx = order::relaxed;
inline constexpr order acq = order::acquire;
inline constexpr order rel = order::release;
inline constexpr order acq_rel = order::acq_rel;
inline constexpr order sc = order::seq_cst;

inline constexpr auto allowed = lockyard::model::verdict::assertion;
inline constexpr auto forbidden = lockyard::model::verdict::passed;
inline constexpr auto race = lockyard::model::verdict::race;
}  // namespace litmus_words

/// What the threads of a litmus test share, and registers for what they see.
struct bench {
  model::word<unsigned> x{0};
  model::word<unsigned> y{0};
  model::word<unsigned> z{0};
  model::plain_data<unsigned> data{0};
  std::array<unsigned, 4> r{};

  /// The newest values, once all threads have ended.
  [[nodiscard]] unsigned last_x() const { return x.load(std::memory_order_relaxed); }
  [[nodiscard]] unsigned last_y() const { return y.load(std::memory_order_relaxed); }
};

/// Each of `Threads` is called with the bench; `Outcome` says whether the execution shows what is
/// asked for.
template <auto Outcome, auto... Threads>
class litmus_client : public model::client {
 public:
  [[nodiscard]] unsigned threads() const override { return sizeof...(Threads); }

  void thread(unsigned index) override {
    unsigned i = 0;
    static_cast<void>(((i++ == index ? (Threads(bench_), true) : false) || ...));
  }
  void finish() override { model::require(!Outcome(bench_), "the outcome is not seen"); }

 private:
  bench bench_;
};

template <auto Outcome, auto... Threads>
model::client_maker make_litmus(const model::client_size& /*size*/) {
  return [] { return std::make_unique<litmus_client<Outcome, Threads...>>(); };
}

template <auto Outcome, auto... Threads>
checked_client litmus(std::string_view name, model::verdict expected, std::string_view summary,
                      const model::settings& how = {}) {
  return {.name = name,
          .of = group::litmus,
          .summary = summary,
          .make = &make_litmus<Outcome, Threads...>,
          .size = {.threads = sizeof...(Threads)},
          .expected = expected,
          .how = how};
}

std::vector<checked_client> litmus_of_two_words();     ///< store buffering, message passing and kin
std::vector<checked_client> litmus_of_many_threads();  ///< three and four threads
std::vector<checked_client> litmus_of_sequential_accesses();
std::vector<checked_client> litmus_of_families();  ///< the diy tests that are not above
std::vector<checked_client> litmus_of_changes();   ///< one word, read-modify-writes, plain data

}  // namespace lockyard::checker
