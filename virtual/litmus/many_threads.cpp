// SPDX-License-Identifier: Apache-2.0
#include "litmus.hpp"

namespace lockyard::checker {

namespace {

using namespace litmus_words;

constexpr auto nothing = [] {};
constexpr auto full = [] { model::fence(sc); };

template <order Store>
constexpr auto set_x = [](bench& t) { t.x.store(1, Store); };
template <order Store>
constexpr auto set_y = [](bench& t) { t.y.store(1, Store); };

template <order Load, auto Fence = nothing>
constexpr auto read_xy = [](bench& t) {
  t.r[0] = t.x.load(Load);
  Fence();
  t.r[1] = t.y.load(Load);
};
template <order Load, auto Fence = nothing>
constexpr auto read_yx = [](bench& t) {
  t.r[2] = t.y.load(Load);
  Fence();
  t.r[3] = t.x.load(Load);
};
constexpr auto iriw = [](const bench& t) {
  return t.r[0] == 1 && t.r[1] == 0 && t.r[2] == 1 && t.r[3] == 0;
};

/// A thread passes on through y the value of x that it has seen.
template <order Load, order Store, auto Fence = nothing>
constexpr auto pass_on = [](bench& t) {
  t.r[0] = t.x.load(Load);
  Fence();
  t.y.store(1, Store);
};
template <order Load>
constexpr auto wrc_last = [](bench& t) {
  t.r[1] = t.y.load(Load);
  t.r[2] = t.x.load(rlx);
};
constexpr auto wrc = [](const bench& t) { return t.r[0] == 1 && t.r[1] == 1 && t.r[2] == 0; };

/// A message through two hands.
template <order Store>
constexpr auto isa2_first = [](bench& t) {
  t.x.store(1, rlx);
  t.y.store(1, Store);
};
template <order Load, order Store>
constexpr auto isa2_second = [](bench& t) {
  t.r[0] = t.y.load(Load);
  t.z.store(1, Store);
};
template <order Load>
constexpr auto isa2_third = [](bench& t) {
  t.r[1] = t.z.load(Load);
  t.r[2] = t.x.load(rlx);
};

template <order Store, order Load, auto Fence = nothing>
constexpr auto rwc_last = [](bench& t) {
  t.y.store(1, Store);
  Fence();
  t.r[2] = t.x.load(Load);
};
constexpr auto rwc = [](const bench& t) { return t.r[0] == 1 && t.r[1] == 0 && t.r[2] == 0; };

template <auto Fence>
constexpr auto w_rwc_second = [](bench& t) {
  t.r[0] = t.y.load(acq);
  Fence();
  t.r[1] = t.z.load(rlx);
};
template <auto Fence>
constexpr auto w_rwc_third = [](bench& t) {
  t.z.store(1, rlx);
  Fence();
  t.r[2] = t.x.load(rlx);
};

/// Z6: a store, an overwritten store, a message, and an old value.
template <order Store, auto Fence = nothing>
constexpr auto z6_first = [](bench& t) {
  t.x.store(1, rlx);
  Fence();
  t.y.store(1, Store);
};
template <order Store, auto Fence = nothing>
constexpr auto z6_second = [](bench& t) {
  t.y.store(2, rlx);
  Fence();
  t.z.store(1, Store);
};
template <order Load, auto Fence = nothing>
constexpr auto z6_third = [](bench& t) {
  t.r[0] = t.z.load(Load);
  Fence();
  t.r[1] = t.x.load(rlx);
};
constexpr auto z6 = [](const bench& t) { return t.r[0] == 1 && t.r[1] == 0 && t.last_y() == 2; };

}  // namespace

std::vector<checked_client> litmus_of_many_threads() {
  return {
      litmus<iriw, set_x<rel>, set_y<rel>, read_xy<acq>, read_yx<acq>>(
          "iriw_release_acquire", allowed, "two readers disagree on the order of two stores"),
      litmus<iriw, set_x<sc>, set_y<sc>, read_xy<sc>, read_yx<sc>>("iriw_seq_cst", forbidden,
                                                                   "the same, seq_cst"),
      litmus<iriw, set_x<rlx>, set_y<rlx>, read_xy<rlx, full>, read_yx<rlx, full>>(
          "iriw_fences", forbidden, "the same with seq_cst fences between the loads"),
      litmus<wrc, set_x<rlx>, pass_on<rlx, rlx>, wrc_last<acq>>("wrc_relaxed", allowed,
                                                                "a store seen is not passed on"),
      litmus<wrc, set_x<rlx>, pass_on<rlx, rel>, wrc_last<acq>>("wrc_release_acquire", forbidden,
                                                                "a store seen is passed on"),
      litmus<wrc, isa2_first<rel>, isa2_second<acq, rel>, isa2_third<acq>>(
          "isa2_release_acquire", forbidden, "a message through two hands"),
      litmus<wrc, isa2_first<rel>, isa2_second<rlx, rel>, isa2_third<acq>>(
          "isa2_middle_relaxed", allowed, "the one in the middle does not acquire"),
      litmus<rwc, set_x<rel>, read_xy<acq>, rwc_last<rel, acq>>("rwc_release_acquire", allowed,
                                                                "RWC, release and acquire"),
      litmus<rwc, set_x<rlx>, read_xy<rlx, full>, rwc_last<rlx, rlx, full>>("rwc_fences", forbidden,
                                                                            "RWC, seq_cst fences"),
      litmus<rwc, set_x<rel>, read_xy<acq>, rwc_last<rlx, rlx, full>>("rwc_one_fence", allowed,
                                                                      "RWC, one seq_cst fence"),
      litmus<rwc, set_x<sc>, read_xy<sc>, rwc_last<sc, sc>>("rwc_seq_cst", forbidden,
                                                            "RWC, seq_cst"),
      litmus<rwc, isa2_first<rel>, w_rwc_second<full>, w_rwc_third<full>>(
          "w+rwc_fences", forbidden, "a message, and then store buffering with fences"),
      litmus<rwc, isa2_first<rel>, w_rwc_second<nothing>, w_rwc_third<full>>(
          "w+rwc_one_fence", allowed, "the same with one fence"),
      litmus<z6, z6_first<rel>, z6_second<rel>, z6_third<acq>>("z6_release_acquire", allowed,
                                                               "Z6, release and acquire"),
      litmus<z6, z6_first<rlx, full>, z6_second<rlx, full>, z6_third<rlx, full>>(
          "z6_fences", forbidden, "Z6, seq_cst fences"),
  };
}

}  // namespace lockyard::checker
