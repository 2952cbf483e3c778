// SPDX-License-Identifier: Apache-2.0

// Sequentially consistent accesses mixed with weaker ones. The names come from the literature:
// "Repairing sequential consistency in C/C++11" (Lahav and others, 2017), P0668R5, and the diy
// tests of Alglave, Maranget and others.

#include "steps.hpp"

namespace lockyard::checker {

namespace {

using namespace litmus_words;
using namespace litmus_steps;

/// Z6.U of the paper, section 2.1.
constexpr auto z6_u_first = steps<st<X, 1, sc>, st<Y, 1, rel>>;
constexpr auto z6_u_second = steps<add<0, Y, 1, sc>, ld<1, Y, rlx>>;
constexpr auto z6_u_third = steps<st<Y, 3, sc>, ld<2, X, sc>>;

std::vector<checked_client> stronger_than_happens_before() {
  return {
      litmus<reads<1, 0>, steps<st<X, 1, sc>, st<Y, 1, rlx>>, steps<ld<0, Y, rlx>, ld<1, X, sc>>>(
          "mp_seq_cst_data", allowed, "a seq_cst store does not order a relaxed one behind it"),
      litmus<reads<1, 0>, steps<st<X, 1, rlx>, st<Y, 1, sc>>, steps<ld<0, Y, sc>, ld<1, X, rlx>>>(
          "mp_seq_cst_flag", forbidden, "a seq_cst flag is a release and an acquire"),
      litmus<reads<1, 0>, steps<st<X, 1, sc>, st<Y, 1, sc>>, steps<ld<0, Y, rlx>, ld<1, X, sc>>>(
          "mp_seq_cst_relaxed_flag_read", allowed, "the relaxed load of the flag orders nothing"),
      litmus<reads<1, 0>, steps<st<X, 1, sc>, st<Y, 1, rlx>>, steps<ld<0, Y, sc>, ld<1, X, sc>>>(
          "mp_seq_cst_relaxed_flag_write", allowed, "the relaxed store of the flag orders nothing"),
      litmus<reads<1, 3, 0>, z6_u_first, z6_u_second, z6_u_third>(
          "z6_u", allowed, "happens-before of seq_cst accesses is not their order"),
      litmus<reads<1, 3, 0>, steps<st<X, 1, sc>, st<Y, 1, sc>>, z6_u_second, z6_u_third>(
          "z6_u_all_seq_cst", forbidden, "the same where the message is seq_cst"),
      litmus<reads<1, 3, 0>, steps<st<X, 1, sc>, full, st<Y, 1, rel>>, z6_u_second, z6_u_third>(
          "z6_u_fence", forbidden, "the same with a fence in front of the message"),
      litmus<reads<1, 0, 1, 0>, st<X, 1, sc>, st<Y, 1, sc>, steps<ld<0, X, acq>, ld<1, Y, sc>>,
             steps<ld<2, Y, acq>, ld<3, X, sc>>>(
          "iriw_acquire_seq_cst", allowed, "IRIW, the first loads acquire (Lahav and others)"),
      litmus<reads<1, 0, 1, 0>, st<X, 1, sc>, st<Y, 1, sc>, steps<ld<0, X, sc>, ld<1, Y, sc>>,
             steps<ld<2, Y, acq>, ld<3, X, sc>>>("iriw_one_acquire", allowed,
                                                 "IRIW, one first load acquires"),
      litmus<reads<1, 0, 1, 0>, st<X, 1, rel>, st<Y, 1, rel>, steps<ld<0, X, sc>, ld<1, Y, sc>>,
             steps<ld<2, Y, sc>, ld<3, X, sc>>>("iriw_release_stores", forbidden,
                                                "IRIW, the stores release (C++20; RC11 allows it)"),
  };
}

}  // namespace

std::vector<checked_client> litmus_of_sequential_accesses() {
  return stronger_than_happens_before();
}

}  // namespace lockyard::checker
