// SPDX-License-Identifier: Apache-2.0
#include "litmus.hpp"

namespace lockyard::checker {

namespace {

using namespace litmus_words;

constexpr auto nothing = [] {};
constexpr auto full = [] { model::fence(sc); };
constexpr auto both = [] { model::fence(order::acq_rel); };
constexpr auto before = [] { model::fence(acq); };
constexpr auto after = [] { model::fence(rel); };
constexpr auto light = [] { model::asymmetric_fence_light(); };
constexpr auto heavy = [] { static_cast<void>(model::asymmetric_fence_heavy()); };

constexpr auto both_zero = [](const bench& t) { return t.r[0] == 0 && t.r[1] == 0; };
constexpr auto both_one = [](const bench& t) { return t.r[0] == 1 && t.r[1] == 1; };
constexpr auto new_then_old = [](const bench& t) { return t.r[0] == 1 && t.r[1] == 0; };
constexpr auto both_first = [](const bench& t) { return t.last_x() == 1 && t.last_y() == 1; };
constexpr auto s_outcome = [](const bench& t) { return t.r[0] == 1 && t.last_x() == 2; };
constexpr auto r_outcome = [](const bench& t) { return t.r[0] == 0 && t.last_y() == 2; };

/// Store buffering: each stores one word and then loads the other's.
template <order Store, order Load, auto Fence = nothing>
constexpr auto sb_x = [](bench& t) {
  t.x.store(1, Store);
  Fence();
  t.r[0] = t.y.load(Load);
};
/// As sb_x, but the load is a compare-exchange that finds another value.
template <order Failure>
constexpr auto sb_x_failing = [](bench& t) {
  t.x.store(1, sc);
  unsigned expected = 7;
  t.y.compare_exchange_strong(expected, 8, sc, Failure);
  t.r[0] = expected;
};
template <order Failure>
constexpr auto sb_y_failing = [](bench& t) {
  t.y.store(1, sc);
  unsigned expected = 7;
  t.x.compare_exchange_strong(expected, 8, sc, Failure);
  t.r[1] = expected;
};

template <order Store, order Load, auto Fence = nothing>
constexpr auto sb_y = [](bench& t) {
  t.y.store(1, Store);
  Fence();
  t.r[1] = t.x.load(Load);
};

/// Message passing: data and then a flag; the flag and then data.
template <order Store, auto Fence = nothing>
constexpr auto mp_send = [](bench& t) {
  t.x.store(1, rlx);
  Fence();
  t.y.store(1, Store);
};
template <order Load, auto Fence = nothing>
constexpr auto mp_receive = [](bench& t) {
  t.r[0] = t.y.load(Load);
  Fence();
  t.r[1] = t.x.load(rlx);
};
/// A fence that comes too late to order the two stores.
constexpr auto mp_send_fence_last = [](bench& t) {
  t.x.store(1, rlx);
  t.y.store(1, rlx);
  after();
};

template <order Load, order Store>
constexpr auto lb_x = [](bench& t) {
  t.r[0] = t.x.load(Load);
  t.y.store(1, Store);
};
template <order Load, order Store>
constexpr auto lb_y = [](bench& t) {
  t.r[1] = t.y.load(Load);
  t.x.store(1, Store);
};

template <order Store, auto Fence = nothing>
constexpr auto ww_xy = [](bench& t) {
  t.x.store(1, Store);
  Fence();
  t.y.store(2, Store);
};
template <order Store, auto Fence = nothing>
constexpr auto ww_yx = [](bench& t) {
  t.y.store(1, Store);
  Fence();
  t.x.store(2, Store);
};

template <order Store>
constexpr auto s_send = [](bench& t) {
  t.x.store(2, rlx);
  t.y.store(1, Store);
};
template <order Load>
constexpr auto s_receive = [](bench& t) {
  t.r[0] = t.y.load(Load);
  t.x.store(1, rlx);
};

template <order Store, auto Fence = nothing>
constexpr auto r_write = [](bench& t) {
  t.x.store(1, Store);
  Fence();
  t.y.store(1, Store);
};
template <order Store, order Load, auto Fence = nothing>
constexpr auto r_read = [](bench& t) {
  t.y.store(2, Store);
  Fence();
  t.r[0] = t.x.load(Load);
};

using lockyard::model::barriers;
constexpr lockyard::model::settings with(barriers which) {
  lockyard::model::settings how;
  how.asymmetric = which;
  return how;
}

std::vector<checked_client> store_buffering() {
  return {
      litmus<both_zero, sb_x<rlx, rlx>, sb_y<rlx, rlx>>("sb_relaxed", allowed,
                                                        "store buffering, relaxed"),
      litmus<both_zero, sb_x<rel, acq>, sb_y<rel, acq>>(
          "sb_release_acquire", allowed, "release and acquire do not order a store and a load"),
      litmus<both_zero, sb_x<sc, sc>, sb_y<sc, sc>>("sb_seq_cst", forbidden, "all four seq_cst"),
      litmus<both_zero, sb_x<rlx, rlx, full>, sb_y<rlx, rlx, full>>("sb_fences", forbidden,
                                                                    "a seq_cst fence in each"),
      litmus<both_zero, sb_x<rlx, rlx, full>, sb_y<rlx, rlx>>("sb_one_fence", allowed,
                                                              "one seq_cst fence is not enough"),
      litmus<both_zero, sb_x<rlx, rlx, full>, sb_y<sc, sc>>(
          "sb_fence_and_seq_cst", forbidden, "a seq_cst fence here, seq_cst accesses there"),
      litmus<both_zero, sb_x_failing<sc>, sb_y_failing<sc>>(
          "sb_failing_cas_seq_cst", forbidden, "the loads are compare-exchanges that fail"),
      litmus<both_zero, sb_x_failing<rlx>, sb_y_failing<rlx>>(
          "sb_failing_cas_relaxed", allowed,
          "a failure has its own order, not the order of success"),
      litmus<both_zero, sb_x<sc, acq>, sb_y<sc, acq>>("sb_seq_cst_stores", allowed,
                                                      "seq_cst stores, acquire loads"),
      litmus<both_zero, sb_x<rlx, rlx, both>, sb_y<rlx, rlx, both>>(
          "sb_acq_rel_fences", allowed, "acq_rel fences do not order a store and a load"),
      litmus<both_zero, sb_x<rlx, rlx, light>, sb_y<rlx, rlx, heavy>>(
          "sb_light_heavy", forbidden, "a light and a heavy fence", with(barriers::membarrier)),
      litmus<both_zero, sb_x<rlx, rlx, light>, sb_y<rlx, rlx, heavy>>(
          "sb_light_heavy_as_fences", forbidden, "the same where both are ordinary fences",
          with(barriers::fences)),
      litmus<both_zero, sb_x<rlx, rlx, heavy>, sb_y<rlx, rlx, heavy>>(
          "sb_heavy_heavy", forbidden, "two heavy fences", with(barriers::membarrier)),
      litmus<both_zero, sb_x<rlx, rlx, light>, sb_y<rlx, rlx, light>>(
          "sb_light_light", allowed, "two light fences order nothing", with(barriers::membarrier)),
      litmus<both_zero, sb_x<rlx, rlx>, sb_y<rlx, rlx, heavy>>(
          "sb_only_heavy", allowed, "a heavy fence without a light one orders nothing",
          with(barriers::membarrier)),
      litmus<both_zero, sb_x<rlx, rlx, full>, sb_y<rlx, rlx, heavy>>(
          "sb_fence_heavy", forbidden, "a seq_cst fence and a heavy fence",
          with(barriers::membarrier)),
      litmus<both_zero, sb_x<rlx, rlx, full>, sb_y<rlx, rlx, light>>(
          "sb_fence_light", allowed, "a light fence orders with heavy fences only",
          with(barriers::membarrier)),
      litmus<both_zero, sb_x<rlx, rlx, light>, sb_y<rlx, rlx, heavy>>(
          "sb_heavy_lost", allowed, "a heavy fence that is unavailable",
          with(barriers::may_be_lost)),
  };
}

std::vector<checked_client> message_passing() {
  return {
      litmus<new_then_old, mp_send<rlx>, mp_receive<rlx>>("mp_relaxed", allowed,
                                                          "message passing, relaxed"),
      litmus<new_then_old, mp_send<rel>, mp_receive<acq>>("mp_release_acquire", forbidden,
                                                          "release and acquire"),
      litmus<new_then_old, mp_send<rel>, mp_receive<rlx>>("mp_release_relaxed", allowed,
                                                          "the receiver does not acquire"),
      litmus<new_then_old, mp_send<rlx>, mp_receive<acq>>("mp_relaxed_acquire", allowed,
                                                          "the sender does not release"),
      litmus<new_then_old, mp_send<rlx, after>, mp_receive<rlx, before>>(
          "mp_fences", forbidden, "a release and an acquire fence"),
      litmus<new_then_old, mp_send<rlx, full>, mp_receive<rlx, full>>(
          "mp_seq_cst_fences", forbidden, "two seq_cst fences"),
      litmus<new_then_old, mp_send<rlx, after>, mp_receive<acq>>("mp_fence_acquire", forbidden,
                                                                 "release fence, acquire load"),
      litmus<new_then_old, mp_send<rel>, mp_receive<rlx, before>>("mp_release_fence", forbidden,
                                                                  "release store, acquire fence"),
      litmus<new_then_old, mp_send<rlx, full>, mp_receive<rlx>>("mp_sender_fence_only", allowed,
                                                                "a fence on one side only"),
      litmus<new_then_old, mp_send<rlx>, mp_receive<rlx, full>>("mp_receiver_fence_only", allowed,
                                                                "a fence on one side only"),
      litmus<new_then_old, mp_send_fence_last, mp_receive<acq>>("mp_fence_too_late", allowed,
                                                                "the release fence comes last"),
  };
}

std::vector<checked_client> writes() {
  return {
      // ISO C++ allows it; RC11, which the engine follows, does not: no compiler or processor is
      // known to make a lock fail by it.
      litmus<both_one, lb_x<rlx, rlx>, lb_y<rlx, rlx>>("lb_relaxed", forbidden,
                                                       "load buffering (RC11; ISO allows it)"),
      litmus<both_first, ww_xy<rlx>, ww_yx<rlx>>("2+2w_relaxed", allowed,
                                                 "both words keep their first value"),
      litmus<both_first, ww_xy<rel>, ww_yx<rel>>("2+2w_release", allowed, "the same, release"),
      litmus<both_first, ww_xy<sc>, ww_yx<sc>>("2+2w_seq_cst", forbidden, "the same, seq_cst"),
      litmus<both_first, ww_xy<rlx, full>, ww_yx<rlx, full>>("2+2w_fences", forbidden,
                                                             "the same with seq_cst fences"),
      litmus<s_outcome, s_send<rlx>, s_receive<rlx>>("s_relaxed", allowed,
                                                     "a later store is overwritten by an earlier"),
      litmus<s_outcome, s_send<rel>, s_receive<acq>>("s_release_acquire", forbidden,
                                                     "the same, release and acquire"),
      litmus<r_outcome, r_write<rlx>, r_read<rlx, rlx>>("r_relaxed", allowed, "R, relaxed"),
      litmus<r_outcome, r_write<rel>, r_read<rel, acq>>("r_release_acquire", allowed,
                                                        "R, release and acquire"),
      litmus<r_outcome, r_write<sc>, r_read<sc, sc>>("r_seq_cst", forbidden, "R, seq_cst"),
      litmus<r_outcome, r_write<rlx, full>, r_read<rlx, rlx, full>>("r_fences", forbidden,
                                                                    "R, seq_cst fences"),
  };
}

}  // namespace

std::vector<checked_client> litmus_of_two_words() {
  std::vector<checked_client> all = store_buffering();
  for (const auto& more : {message_passing(), writes()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace lockyard::checker
