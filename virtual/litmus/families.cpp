// SPDX-License-Identifier: Apache-2.0

// The families of the diy tests (Alglave, Maranget and others, "Herding cats") in C++20: each with
// accesses that are too weak, and with those that suffice.

#include "steps.hpp"

namespace lockyard::checker {

namespace {

using namespace litmus_words;
using namespace litmus_steps;

constexpr auto light = [](bench& /*t*/) { model::asymmetric_fence_light(); };
constexpr auto heavy = [](bench& /*t*/) { static_cast<void>(model::asymmetric_fence_heavy()); };

/// The last values of x, y and z are all 1.
constexpr auto all_first = [](const bench& t) {
  return t.last_x() == 1 && t.last_y() == 1 && t.z.load(rlx) == 1;
};
template <unsigned X0, unsigned Y0, unsigned... Values>
constexpr auto xy_end =
    [](const bench& t) { return reads<Values...>(t) && t.last_x() == X0 && t.last_y() == Y0; };

std::vector<checked_client> of_two_threads() {
  return {
      litmus<reads<0, 0>, steps<swap<2, X, 1, sc>, ld<0, Y, sc>>,
             steps<swap<3, Y, 1, sc>, ld<1, X, sc>>>("sb_exchange_seq_cst", forbidden,
                                                     "SB, the stores are exchanges"),
      litmus<reads<0, 0>, steps<swap<2, X, 1, acq_rel>, ld<0, Y, acq>>,
             steps<swap<3, Y, 1, acq_rel>, ld<1, X, acq>>>("sb_exchange_acq_rel", allowed,
                                                           "the same, acq_rel"),
      litmus<reads<0, 0>, steps<st<X, 1, rlx>, add<0, Y, 0, sc>>,
             steps<st<Y, 1, rlx>, add<1, X, 0, sc>>>(
          "sb_add_zero", allowed, "SB, relaxed stores and seq_cst additions of 0"),
      litmus<reads<0, 0>, steps<st<X, 1, sc>, add<0, Y, 0, sc>>,
             steps<st<Y, 1, sc>, add<1, X, 0, sc>>>("sb_add_zero_seq_cst", forbidden,
                                                    "the same with seq_cst stores"),
      litmus<reads<1, 0, 1, 0>, steps<st<X, 1, sc>, ld<0, X, rlx>, ld<1, Y, sc>>,
             steps<st<Y, 1, sc>, ld<2, Y, rlx>, ld<3, X, sc>>>(
          "sb_rfi_seq_cst", forbidden, "SB+rfi: each loads its own store in between"),
      litmus<reads<1, 0, 1, 0>, steps<st<X, 1, rel>, ld<0, X, acq>, ld<1, Y, acq>>,
             steps<st<Y, 1, rel>, ld<2, Y, acq>, ld<3, X, acq>>>("sb_rfi_release_acquire", allowed,
                                                                 "the same, release and acquire"),
      litmus<reads<1, 0>, steps<st<X, 1, rlx>, swap<2, Y, 1, rel>>,
             steps<add<0, Y, 0, acq>, ld<1, X, rlx>>>("mp_exchange", forbidden,
                                                      "MP by read-modify-writes"),
      litmus<reads<1, 0>, steps<st<X, 1, rlx>, st<Y, 1, rel>>,
             steps<cas<0, Y, 5, 6, rlx, acq>, ld<1, X, rlx>>>(
          "mp_failing_cas_acquire", forbidden, "a failure acquires by its own order"),
      litmus<reads<1, 0>, steps<st<X, 1, rlx>, st<Y, 1, rel>>,
             steps<cas<0, Y, 5, 6, acq, rlx>, ld<1, X, rlx>>>(
          "mp_failing_cas_relaxed", allowed, "the order of success does not apply to a failure"),
      litmus<reads<1, 0>, steps<st<X, 1, rlx>, st<Y, 1, rel>>,
             steps<cas<0, Y, 1, 6, acq, rlx>, ld<1, X, rlx>>>(
          "mp_cas_acquire", forbidden, "a success acquires by its own order"),
      litmus<reads<1, 0>, steps<st<X, 1, rlx>, light, st<Y, 1, rlx>>,
             steps<ld<0, Y, rlx>, heavy, ld<1, X, rlx>>>("mp_light_heavy", forbidden,
                                                         "MP, a light and a heavy fence"),
      litmus<reads<1, 0>, steps<st<X, 1, rlx>, heavy, st<Y, 1, rlx>>,
             steps<ld<0, Y, rlx>, light, ld<1, X, rlx>>>("mp_heavy_light", forbidden,
                                                         "MP, a heavy and a light fence"),
      litmus<xy_end<1, 1>, steps<st<X, 1, rlx>, light, st<Y, 2, rlx>>,
             steps<st<Y, 1, rlx>, heavy, st<X, 2, rlx>>>("2+2w_light_heavy", forbidden,
                                                         "2+2W, a light and a heavy fence"),
      litmus<reads<1, 1>, steps<ld<0, X, acq>, st<Y, 1, rel>>, steps<ld<1, Y, acq>, st<X, 1, rel>>>(
          "lb_release_acquire", forbidden, "LB, release and acquire"),
      litmus<reads<1, 1>, steps<ld<0, X, acq>, st<Y, 1, rlx>>, steps<ld<1, Y, rlx>, st<X, 1, rel>>>(
          "lb_one_pair", forbidden, "one pair of release and acquire is enough"),
      litmus<reads<1, 1>, steps<ld<0, X, rlx>, full, st<Y, 1, rlx>>,
             steps<ld<1, Y, rlx>, full, st<X, 1, rlx>>>("lb_fences", forbidden,
                                                        "LB, seq_cst fences"),
      litmus<xy_end<1, 1>, steps<st<X, 1, sc>, st<Y, 2, sc>>, steps<st<Y, 1, rlx>, st<X, 2, rlx>>>(
          "2+2w_one_seq_cst", allowed, "2+2W, one thread seq_cst"),
      litmus<xy_end<1, 1>, steps<st<X, 1, sc>, st<Y, 2, sc>>, steps<st<Y, 1, sc>, st<X, 2, rel>>>(
          "2+2w_one_release", allowed, "2+2W, the last store releases"),
      litmus<xy_end<1, 1>, steps<st<X, 1, rlx>, fence<acq_rel>, st<Y, 2, rlx>>,
             steps<st<Y, 1, rlx>, fence<acq_rel>, st<X, 2, rlx>>>("2+2w_acq_rel_fences", allowed,
                                                                  "2+2W, acq_rel fences"),
      litmus<ends<X, 2, 1>, steps<st<X, 2, rlx>, st<Y, 1, rlx>>,
             steps<ld<0, Y, acq>, st<X, 1, rlx>>>("s_acquire_only", allowed, "S, nothing releases"),
      litmus<ends<X, 2, 1>, steps<st<X, 2, rlx>, st<Y, 1, rel>>,
             steps<ld<0, Y, rlx>, st<X, 1, rlx>>>("s_release_only", allowed, "S, nothing acquires"),
      litmus<ends<X, 2, 1>, steps<st<X, 2, rlx>, fence<rel>, st<Y, 1, rlx>>,
             steps<ld<0, Y, rlx>, fence<acq>, st<X, 1, rlx>>>("s_fences", forbidden,
                                                              "S, release and acquire fences"),
      litmus<ends<X, 2, 1>, steps<st<X, 2, sc>, st<Y, 1, rlx>>, steps<ld<0, Y, rlx>, st<X, 1, sc>>>(
          "s_seq_cst_data", allowed, "S, seq_cst stores of x alone"),
      litmus<ends<Y, 2, 0>, steps<st<X, 1, rlx>, full, st<Y, 1, rlx>>,
             steps<st<Y, 2, rlx>, ld<0, X, rlx>>>("r_one_fence", allowed, "R, one fence"),
      litmus<ends<Y, 2, 0>, steps<st<X, 1, sc>, st<Y, 1, sc>>, steps<st<Y, 2, sc>, ld<0, X, rlx>>>(
          "r_relaxed_load", allowed, "R, seq_cst but for the load"),
      litmus<ends<Y, 2, 0>, steps<st<X, 1, rlx>, st<Y, 1, sc>>, steps<st<Y, 2, sc>, ld<0, X, sc>>>(
          "r_relaxed_store", allowed, "R, seq_cst but for the first store"),
      litmus<ends<Y, 2, 0>, steps<st<X, 1, rlx>, light, st<Y, 1, rlx>>,
             steps<st<Y, 2, rlx>, heavy, ld<0, X, rlx>>>("r_light_heavy", forbidden,
                                                         "R, a light and a heavy fence"),
  };
}

std::vector<checked_client> of_three_threads() {
  return {
      litmus<reads<0, 0, 0>, steps<st<X, 1, rel>, ld<0, Y, acq>>,
             steps<st<Y, 1, rel>, ld<1, Z, acq>>, steps<st<Z, 1, rel>, ld<2, X, acq>>>(
          "3.sb_release_acquire", allowed, "SB in a ring of three"),
      litmus<reads<0, 0, 0>, steps<st<X, 1, sc>, ld<0, Y, sc>>, steps<st<Y, 1, sc>, ld<1, Z, sc>>,
             steps<st<Z, 1, sc>, ld<2, X, sc>>>("3.sb_seq_cst", forbidden, "the same, seq_cst"),
      litmus<reads<0, 0, 0>, steps<st<X, 1, rlx>, full, ld<0, Y, rlx>>,
             steps<st<Y, 1, rlx>, full, ld<1, Z, rlx>>, steps<st<Z, 1, rlx>, full, ld<2, X, rlx>>>(
          "3.sb_fences", forbidden, "the same, seq_cst fences"),
      litmus<all_first, steps<st<X, 1, rel>, st<Y, 2, rel>>, steps<st<Y, 1, rel>, st<Z, 2, rel>>,
             steps<st<Z, 1, rel>, st<X, 2, rel>>>("3.2w_release", allowed,
                                                  "2+2W in a ring of three"),
      litmus<all_first, steps<st<X, 1, sc>, st<Y, 2, sc>>, steps<st<Y, 1, sc>, st<Z, 2, sc>>,
             steps<st<Z, 1, sc>, st<X, 2, sc>>>("3.2w_seq_cst", forbidden, "the same, seq_cst"),
      litmus<reads<1, 1, 0>, st<X, 1, rlx>, steps<ld<0, X, rlx>, st<Y, 1, rel>>,
             steps<ld<1, Y, rlx>, ld<2, X, rlx>>>("wrc_last_relaxed", allowed,
                                                  "WRC, the last thread does not acquire"),
      litmus<reads<1, 1, 0>, st<X, 1, rlx>, steps<ld<0, X, rlx>, fence<rel>, st<Y, 1, rlx>>,
             steps<ld<1, Y, rlx>, fence<acq>, ld<2, X, rlx>>>("wrc_fences", forbidden,
                                                              "WRC, release and acquire fences"),
      litmus<ends<X, 2, 2, 1>, st<X, 2, rlx>, steps<ld<0, X, rlx>, st<Y, 1, rlx>>,
             steps<ld<1, Y, rlx>, st<X, 1, rlx>>>("wwc_relaxed", allowed, "WWC, relaxed"),
      litmus<ends<X, 2, 2, 1>, st<X, 2, rlx>, steps<ld<0, X, rlx>, st<Y, 1, rel>>,
             steps<ld<1, Y, acq>, st<X, 1, rlx>>>("wwc_release_acquire", forbidden,
                                                  "WWC, release and acquire"),
      litmus<reads<1, 0, 0>, st<X, 1, sc>, steps<ld<0, X, acq>, ld<1, Y, sc>>,
             steps<st<Y, 1, sc>, ld<2, X, sc>>>("rwc_acquire_seq_cst", allowed,
                                                "RWC, one load acquires, all else seq_cst"),
      litmus<ends<X, 2, 2, 0>, st<X, 2, rel>, steps<ld<0, X, acq>, ld<1, Y, acq>>,
             steps<st<Y, 1, rel>, st<X, 1, rel>>>("wrr+2w_release_acquire", allowed,
                                                  "WRR+2W, release and acquire"),
      litmus<ends<X, 2, 2, 0>, st<X, 2, sc>, steps<ld<0, X, sc>, ld<1, Y, sc>>,
             steps<st<Y, 1, sc>, st<X, 1, sc>>>("wrr+2w_seq_cst", forbidden, "WRR+2W, seq_cst"),
      litmus<ends<Y, 2, 1, 0>, st<X, 1, rel>, steps<ld<0, X, acq>, st<Y, 1, rel>>,
             steps<st<Y, 2, rel>, ld<1, X, acq>>>("wrw+wr_release_acquire", allowed,
                                                  "WRW+WR, release and acquire"),
      litmus<ends<Y, 2, 1, 0>, st<X, 1, sc>, steps<ld<0, X, sc>, st<Y, 1, sc>>,
             steps<st<Y, 2, sc>, ld<1, X, sc>>>("wrw+wr_seq_cst", forbidden, "WRW+WR, seq_cst"),
      litmus<ends<Y, 2, 1, 0>, st<X, 1, rlx>, steps<ld<0, X, rlx>, full, st<Y, 1, rlx>>,
             steps<st<Y, 2, rlx>, full, ld<1, X, rlx>>>("wrw+wr_fences", forbidden,
                                                        "WRW+WR, seq_cst fences"),
      litmus<xy_end<2, 2, 2>, st<X, 2, rel>, steps<ld<0, X, acq>, st<Y, 1, rel>>,
             steps<st<Y, 2, rel>, st<X, 1, rel>>>("wrw+2w_release_acquire", allowed,
                                                  "WRW+2W, release and acquire"),
      litmus<xy_end<2, 2, 2>, st<X, 2, sc>, steps<ld<0, X, sc>, st<Y, 1, sc>>,
             steps<st<Y, 2, sc>, st<X, 1, sc>>>("wrw+2w_seq_cst", forbidden, "WRW+2W, seq_cst"),
  };
}

std::vector<checked_client> of_four_threads() {
  return {
      litmus<reads<1, 2, 2, 1>, st<X, 1, rlx>, st<X, 2, rlx>, steps<ld<0, X, rlx>, ld<1, X, rlx>>,
             steps<ld<2, X, rlx>, ld<3, X, rlx>>>(
          "corr2", forbidden, "two readers agree on the order of two stores to a word"),
      litmus<reads<1, 0, 1, 0>, st<X, 1, rlx>, st<Y, 1, rlx>,
             steps<ld<0, X, rlx>, light, ld<1, Y, rlx>>,
             steps<ld<2, Y, rlx>, heavy, ld<3, X, rlx>>>("iriw_light_heavy", forbidden,
                                                         "IRIW, a light and a heavy fence"),
      litmus<reads<1, 0, 1, 0>, st<X, 1, rlx>, st<Y, 1, rlx>,
             steps<ld<0, X, rlx>, heavy, ld<1, Y, rlx>>,
             steps<ld<2, Y, rlx>, heavy, ld<3, X, rlx>>>("iriw_heavy_heavy", forbidden,
                                                         "IRIW, two heavy fences"),
      litmus<reads<1, 0, 1, 0>, st<X, 1, rlx>, st<Y, 1, rlx>,
             steps<ld<0, X, rlx>, full, ld<1, Y, rlx>>, steps<ld<2, Y, rlx>, heavy, ld<3, X, rlx>>>(
          "iriw_fence_heavy", forbidden, "IRIW, a seq_cst and a heavy fence"),
      litmus<reads<1, 0, 1, 0>, st<X, 1, rlx>, st<Y, 1, rlx>,
             steps<ld<0, X, rlx>, light, ld<1, Y, rlx>>,
             steps<ld<2, Y, rlx>, light, ld<3, X, rlx>>>("iriw_light_light", allowed,
                                                         "IRIW, two light fences"),
      litmus<reads<1, 0, 1, 0>, st<X, 1, rlx>, st<Y, 1, rlx>,
             steps<ld<0, X, rlx>, full, ld<1, Y, rlx>>, steps<ld<2, Y, acq>, ld<3, X, acq>>>(
          "iriw_one_fence", allowed, "IRIW, one fence"),
      litmus<xy_end<2, 2, 2, 2>, st<X, 2, rel>, steps<ld<0, X, acq>, st<Y, 1, rel>>, st<Y, 2, rel>,
             steps<ld<1, Y, acq>, st<X, 1, rel>>>("irwiw_release_acquire", allowed,
                                                  "IRWIW, release and acquire"),
      litmus<xy_end<2, 2, 2, 2>, st<X, 2, sc>, steps<ld<0, X, sc>, st<Y, 1, sc>>, st<Y, 2, sc>,
             steps<ld<1, Y, sc>, st<X, 1, sc>>>("irwiw_seq_cst", forbidden, "IRWIW, seq_cst"),
      litmus<ends<X, 2, 2, 0, 1>, st<X, 2, rel>, steps<ld<0, X, acq>, ld<1, Y, acq>>, st<Y, 1, rel>,
             steps<ld<2, Y, acq>, st<X, 1, rel>>>("irrwiw_release_acquire", allowed,
                                                  "IRRWIW, release and acquire"),
      litmus<ends<X, 2, 2, 0, 1>, st<X, 2, sc>, steps<ld<0, X, sc>, ld<1, Y, sc>>, st<Y, 1, sc>,
             steps<ld<2, Y, sc>, st<X, 1, sc>>>("irrwiw_seq_cst", forbidden, "IRRWIW, seq_cst"),
  };
}

}  // namespace

std::vector<checked_client> litmus_of_families() {
  std::vector<checked_client> all = of_two_threads();
  for (const auto& more : {of_three_threads(), of_four_threads()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace lockyard::checker
