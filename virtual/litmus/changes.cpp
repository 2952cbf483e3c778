// SPDX-License-Identifier: Apache-2.0
#include "litmus.hpp"

namespace lockyard::checker {

namespace {

using namespace litmus_words;

constexpr auto never = [](const bench&) { return false; };
constexpr auto both_zero = [](const bench& t) { return t.r[0] == 0 && t.r[1] == 0; };
constexpr auto new_then_old = [](const bench& t) { return t.r[0] == 1 && t.r[1] == 0; };

constexpr auto set_x = [](bench& t) { t.x.store(1, rlx); };

/// Writes plain data and publishes it as x == 1.
template <order Store>
constexpr auto publish = [](bench& t) {
  t.data.write(1);
  t.x.store(1, Store);
};
constexpr auto publish_by_fence = [](bench& t) {
  t.data.write(1);
  model::fence(rel);
  t.x.store(1, rlx);
};
constexpr auto publish_then_overwrite = [](bench& t) {
  t.data.write(1);
  t.x.store(1, rel);
  t.x.store(2, rlx);
};
constexpr auto add_to_x = [](bench& t) { t.x.fetch_add(1, rlx); };
/// From 1 to 2, as an addition would.
constexpr auto cas_x = [](bench& t) {
  unsigned expected = 1;
  t.x.compare_exchange_strong(expected, 2, rlx, rlx);
};
constexpr auto overwrite_x = [](bench& t) {
  if (t.x.load(rlx) == 1) t.x.store(2, rlx);
};
template <unsigned Value, order Load = acq>
constexpr auto use_if = [](bench& t) {
  if (t.x.load(Load) == Value) t.data.read();
};

/// Store buffering with a read-modify-write of a common word in between.
template <order Change>
constexpr auto sb_x_change = [](bench& t) {
  t.x.store(1, rlx);
  t.z.fetch_add(1, Change);
  t.r[0] = t.y.load(rlx);
};
template <order Change>
constexpr auto sb_y_change = [](bench& t) {
  t.y.store(1, rlx);
  t.z.fetch_add(1, Change);
  t.r[1] = t.x.load(rlx);
};

template <unsigned Register>
constexpr auto draw = [](bench& t) { t.r[Register] = t.x.fetch_add(1, rlx); };

template <bool Weak>
constexpr auto try_once = [](bench& t) {
  unsigned expected = 0;
  t.r[0] = Weak ? t.x.compare_exchange_weak(expected, 1, rlx, rlx)
                : t.x.compare_exchange_strong(expected, 1, rlx, rlx);
};
constexpr auto failed = [](const bench& t) { return t.r[0] == 0; };

std::vector<checked_client> one_word() {
  return {
      litmus<new_then_old, set_x, [](bench& t) { t.r[0] = t.x.load(rlx), t.r[1] = t.x.load(rlx); }>(
          "corr", forbidden, "two loads of a word do not go back"),
      litmus<[](const bench& t) { return t.last_x() == 1; },
             [](bench& t) { t.x.store(1, rlx), t.x.store(2, rlx); }>(
          "coww", forbidden, "stores of a thread stay in order"),
      litmus<[](const bench& t) { return t.r[0] == 0; }, set_x,
             [](bench& t) { t.x.store(2, rlx), t.r[0] = t.x.load(rlx); }>(
          "cowr", forbidden, "a thread sees its own store or a later one"),
      litmus<[](const bench& t) { return t.r[0] == 2; }, set_x,
             [](bench& t) { t.r[0] = t.x.load(rlx), t.x.store(2, rlx); }>(
          "corw", forbidden, "a load does not see a later store of its thread"),
      litmus<[](const bench& t) { return t.r[0] == 1 && t.last_x() == 1; }, set_x,
             [](bench& t) { t.r[0] = t.x.load(rlx), t.x.store(2, rlx); }>(
          "corw_after", forbidden, "a store comes after what its thread has read"),
      litmus<[](const bench& t) { return t.r[0] == 1 && t.r[1] == 1; },
             [](bench& t) {
               t.x.store(1, rlx), t.x.store(2, rlx), t.x.store(3, rlx), t.x.store(4, rlx),
                   t.x.store(5, rlx), t.y.store(1, rlx);
             },
             [](bench& t) { t.r[0] = t.y.load(rlx), t.r[1] = t.x.load(rlx); }>(
          "deep_stale", allowed, "a load may see what was overwritten four times"),
  };
}

std::vector<checked_client> changes() {
  return {
      litmus<both_zero, draw<0>, draw<1>>("rmw_atomicity", forbidden, "two additions differ"),
      litmus<both_zero, sb_x_change<acq_rel>, sb_y_change<acq_rel>>(
          "sb_common_rmw", forbidden, "acq_rel changes of a common word order store buffering"),
      litmus<both_zero, sb_x_change<rel>, sb_y_change<rel>>("sb_common_rmw_release", allowed,
                                                            "release changes alone do not"),
      litmus<new_then_old, [](bench& t) { t.x.store(1, rlx), t.y.store(1, rlx); },
             [](bench& t) {
               t.r[0] = t.y.load(rlx);
               t.r[1] = 5;
               t.x.compare_exchange_strong(t.r[1], 6, rlx, rlx);
             }>("failed_cas_stale", allowed, "a failed compare-exchange may see an old value"),
      litmus<failed, try_once<true>>("weak_cas", allowed, "a weak one may fail for no reason"),
      litmus<failed, try_once<false>>("strong_cas", forbidden, "a strong one may not"),
  };
}

std::vector<checked_client> plain_data() {
  return {
      litmus<never, publish<rel>, use_if<1>>("publish", forbidden, "release and acquire"),
      litmus<never, publish<rlx>, use_if<1>>("publish_relaxed", race, "nothing is released"),
      litmus<never, publish<rel>, use_if<1, rlx>>("use_relaxed", race, "nothing is acquired"),
      litmus<never, publish<rel>, add_to_x, use_if<2>>(
          "release_sequence_rmw", forbidden, "another's relaxed addition continues the sequence"),
      litmus<never, publish<rel>, cas_x, use_if<2>>(
          "release_sequence_cas", forbidden, "another's relaxed compare-exchange continues it"),
      litmus<never, publish_by_fence, add_to_x, use_if<2>>("release_sequence_fence", forbidden,
                                                           "a sequence that a release fence heads"),
      litmus<never, publish<rel>, overwrite_x, use_if<2>>(
          "release_sequence_store", race, "another's relaxed store breaks the sequence"),
      litmus<never, publish_then_overwrite, use_if<2>>(
          "release_sequence_same_thread", race, "the thread's own relaxed store breaks it (C++20)"),
  };
}

}  // namespace

std::vector<checked_client> litmus_of_changes() {
  std::vector<checked_client> all = one_word();
  for (const auto& more : {changes(), plain_data()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace lockyard::checker
