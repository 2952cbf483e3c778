// SPDX-License-Identifier: Apache-2.0
#include "execution.hpp"

#include <algorithm>
#include <utility>

namespace lockyard::model {

namespace {

namespace context = boost::context::detail;

constexpr std::size_t stack_bytes = 64 * 1024;

/// Events, as they enter a thread's history.
enum event_kind : std::uint64_t {
  created = 1,
  destroyed,
  loaded,
  stored,
  changed,
  not_changed,
  fenced,
  barred,
  awaited,
  timed_out,
  paused,
  slept,
  not_slept,
  woke_up,
  woke,
  moved,
  asked_time,
  drew,
  ended,
};

/// A call in the source, within one run of the checker.
std::uint64_t site_key(std::source_location where) {
  return reinterpret_cast<std::uintptr_t>(where.file_name()) ^ std::uint64_t{where.line()} << 48U ^
         std::uint64_t{where.column()} << 40U;
}

thread_local execution* running_execution = nullptr;

}  // namespace

execution*& execution::current() noexcept {
  return running_execution;
}

execution::execution(const settings& chosen) : settings_{chosen} {
  for (std::size_t i = 0; i < max_threads; ++i) stacks_.push_back(new std::byte[stack_bytes]);
}

execution::~execution() {
  for (std::byte* stack : stacks_) delete[] stack;
}

bool execution::run(const std::function<std::unique_ptr<client>()>& make, choices& by,
                    const gate& goes_on) {
  by_ = &by;
  make_ = &make;
  reset();
  running_execution = this;
  setter_ = max_threads - 1;
  start(setter_);
  if (verdict_ == verdict::passed) {
    count_ = static_cast<thread_index>(client_->threads());
    for (thread_index i = 0; i < count_; ++i) {
      threads_[i].known = threads_[setter_].known;
      start(i);
    }
  }
  stepped last = stepped::on;
  while (verdict_ == verdict::passed && last == stepped::on) last = step(goes_on);
  const bool whole = last != stepped::cut;
  if (whole && verdict_ == verdict::passed) {
    for (thread_index i = 0; i < count_; ++i) {
      memory_.join(threads_[setter_].known.current, threads_[i].known.current);
    }
    resume(setter_);
  }
  running_execution = nullptr;
  for (const state_entry& each : states_) each.end(each.object);
  states_.clear();
  client_.reset();
  return whole;
}

void execution::reset() {
  for (thread_record& each : threads_) {
    if (each.events == 0 && each.now == status::ended) continue;  // not used
    each.known = {};
    each.history = {};
    each.events = 0;
    each.created = 0;
    each.now = status::ended;
    each.timed_out = false;
    each.deadline.reset();
    each.reads.clear();
    each.failed_weakly.clear();
  }
  for (std::size_t i = 0; i < memory_.count(); ++i) sleepers_[i].clear();
  memory_.reset();
  count_ = 0;
  last_.reset();
  preemptions_ = 0;
  steps_ = 0;
  spurious_left_ = settings_.spurious_wakes;
  timeouts_left_ = settings_.timeouts;
  barriers_lost_ = false;
  passed_.clear();
  plains_.clear();
  previous_.reset();
  verdict_ = verdict::passed;
  what_.clear();
  by_->rewind();
}

void execution::start(thread_index thread) {
  threads_[thread].now = status::ready;
  threads_[thread].context =
      context::make_fcontext(stacks_[thread] + stack_bytes, stack_bytes, &execution::enter);
  resume(thread);
}

void execution::enter(context::transfer_t from) {
  execution& self = *static_cast<execution*>(from.data);
  self.scheduler_ = from.fctx;
  const thread_index thread = self.running_;
  if (thread == self.setter_) {
    self.client_ = (*self.make_)();
    self.switch_out();
    self.client_->finish();
  } else {
    self.client_->thread(thread);
    self.end_states(thread);
    self.event(ended, 0, 0);
  }
  self.threads_[thread].now = status::ended;
  self.switch_out();  // for good
}

void execution::resume(thread_index thread) {
  running_ = thread;
  const context::transfer_t back = context::jump_fcontext(threads_[thread].context, this);
  threads_[thread].context = back.fctx;
}

void execution::switch_out() {
  scheduler_ = context::jump_fcontext(scheduler_, nullptr).fctx;
}

void execution::step_point() {
  if (!is_set_up()) switch_out();
}

void execution::block(status why) {
  me().now = why;
  if (is_set_up()) fail(verdict::hang, "the only thread there is waits", {});
  switch_out();
  me().now = status::ready;
}

void execution::fail(verdict kind, std::string text, std::source_location where) {
  verdict_ = kind;
  what_ = std::move(text);
  tell(where, what_);
  for (;;) switch_out();  // nobody comes back here
}

unsigned execution::choose(choice_kind kind, std::size_t count, std::source_location where) {
  try {
    return by_->choose(kind, static_cast<unsigned>(count));
  } catch (const not_deterministic& fault) {
    what_ = "at choice " + std::to_string(fault.step);
  } catch (const stale_replay& fault) {
    what_ = "the list of choices does not fit at choice " + std::to_string(fault.step);
  }
  fail(verdict::not_deterministic, what_, where);
}

// ---- Scheduling

execution::stepped execution::step(const gate& goes_on) {
  if (steps_ >= settings_.depth) {
    list_options();
    if (options_.empty()) return stepped::nowhere;
    verdict_ = verdict::inconclusive;
    what_ = "deeper than " + std::to_string(settings_.depth) + " steps";
    return stepped::on;
  }
  try {
    // Of a choice that was made before only what it stood for is needed.
    const auto known = by_->take_known(choice_kind::thread);
    if (!known) {
      list_options();
      if (options_.empty()) return stepped::nowhere;
      if (by_->is_new() && !is_worth_going_on(goes_on)) return stepped::cut;
    }
    ++steps_;
    if (verdict_ == verdict::passed) take(known ? option::of(*known) : pick());
  } catch (const not_deterministic& fault) {
    verdict_ = verdict::not_deterministic;
    what_ = "the threads that can go on differ at choice " + std::to_string(fault.step);
  } catch (const stale_replay& fault) {
    verdict_ = verdict::not_deterministic;
    what_ = "the list of choices does not fit at choice " + std::to_string(fault.step);
  }
  return stepped::on;
}

bool execution::is_worth_going_on(const gate& goes_on) {
  const hash128 now = prefix();
  if (previous_ && *previous_ == now) {
    verdict_ = verdict::not_deterministic;
    what_ = "a step left no trace (a fault of the checker)";
    return true;
  }
  previous_ = now;
  return goes_on(now);
}

void execution::take(const option& next) {
  thread_record& chosen = threads_[next.thread];
  if (next.how == variant::time_out) {
    if (timeouts_left_ > 0) --timeouts_left_;
    chosen.timed_out = true;
    passed_[*chosen.deadline] = true;
  }
  if (chosen.now == status::sleeping && next.how != variant::run) {
    std::erase(sleepers_[chosen.sleeps_on], next.thread);
    chosen.woken_by = next.how == variant::time_out ? sleep_end::timed_out : sleep_end::woken;
    if (next.how == variant::spurious) --spurious_left_;
  }
  if (next.preempts) ++preemptions_;
  last_ = next.thread;
  resume(next.thread);
}

void execution::list_options() {
  options_.clear();
  bool can_go_on = false;
  bool all_ended = true;
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    if (each.now == status::ended) continue;
    all_ended = false;
    const bool runs = each.now == status::ready ||
                      (each.now == status::awaiting && is_satisfiable(each)) ||
                      (each.now == status::pausing && pause_is_over(each));
    if (runs) options_.push_back({.thread = i, .how = variant::run});
    const bool waits = each.now == status::awaiting || each.now == status::sleeping;
    if (waits && each.deadline && (timeouts_left_ > 0 || passed_[*each.deadline])) {
      options_.push_back({.thread = i, .how = variant::time_out});
    }
    can_go_on = !options_.empty();
  }
  if (can_go_on) {
    // A sleeper may wake for no reason, but nobody may count on it.
    for (thread_index i = 0; spurious_left_ > 0 && i < count_; ++i) {
      if (threads_[i].now == status::sleeping)
        options_.push_back({.thread = i, .how = variant::spurious});
    }
    return;
  }
  if (all_ended) return;
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    if (each.now != status::ended && each.deadline)
      options_.push_back({.thread = i, .how = variant::time_out});
  }
  if (!options_.empty()) return;
  verdict_ = verdict::hang;
  for (thread_index i = 0; i < count_; ++i) {
    const status now = threads_[i].now;
    if (now == status::ended) continue;
    what_ += (what_.empty() ? "" : ", ") + std::string{"T"} + std::to_string(i) +
             (now == status::sleeping ? " sleeps" : " spins");
  }
  what_ = "nobody can go on: " + what_;
}

execution::option execution::pick() {
  // The thread that ran last comes first, so that the first execution has no preemption.
  const auto same = std::ranges::find_if(options_, [this](const option& each) {
    return last_ && each.thread == *last_ && each.how == variant::run;
  });
  const bool can_stay = same != options_.end();
  if (can_stay) std::swap(*same, options_.front());
  if (can_stay && settings_.preemptions && preemptions_ >= *settings_.preemptions) {
    options_.resize(1);
  }
  unsigned taken = 0;
  if (scheduler) {
    std::array<thread_index, 3 * max_threads> runnable{};
    for (std::size_t i = 0; i < options_.size(); ++i) runnable[i] = options_[i].thread;
    taken = by_->decide(choice_kind::thread, scheduler(std::span{runnable}.first(options_.size())),
                        static_cast<unsigned>(options_.size()));
  } else {
    taken = by_->choose_always(choice_kind::thread, static_cast<unsigned>(options_.size()));
  }
  option next = options_[taken];
  next.preempts = can_stay && taken != 0;
  by_->last_means(next.number());
  return next;
}

hash128 execution::prefix() const {
  hash128 all = memory_.digest();
  for (thread_index i = 0; i < count_; ++i) {
    const thread_record& each = threads_[i];
    all.mix(each.history);
    all.mix(static_cast<std::uint64_t>(each.now));
  }
  for (std::size_t i = 0; i < memory_.count(); ++i) {
    if (sleepers_[i].empty()) continue;
    std::uint64_t queue = i + 1;
    for (const thread_index sleeper : sleepers_[i]) queue = queue * 8 + sleeper + 1;
    all.mix(queue);
  }
  all.mix(spurious_left_ * 64U + timeouts_left_ * 4U + (barriers_lost_ ? 1U : 0U));
  if (settings_.preemptions) all.mix(preemptions_ * 16U + (last_ ? *last_ + 1U : 0U));
  return all;
}

template <class Visit>
void execution::for_each_readable(const knowledge& known, location_index where, bool sequential,
                                  Visit visit) {
  location& at = memory_.at(where);
  std::size_t oldest = memory_.oldest_place(where, known.current);
  if (sequential) oldest = std::max(oldest, memory_.sequential_place(where));
  for (std::size_t place = at.order.size(); place-- > oldest;) {
    if (!visit(at.order[place])) return;
  }
}

bool execution::is_satisfiable(const thread_record& of) {
  for (const look& each : of.looks) {
    bool found = false;
    const bool sequential = each.order == std::memory_order_seq_cst;
    for_each_readable(of.known, each.where, sequential, [&](message_index index) {
      const message& read = memory_.at(each.where).messages[index];
      found = each.holds(read.value) && !(of.exchanges && read.has_successor);
      return !found;
    });
    if (found) return true;
  }
  return false;
}

bool execution::pause_is_over(const thread_record& of) {
  if (of.reads.empty()) return true;
  return std::ranges::any_of(of.reads, [this](const read_before& each) {
    return memory_.at(each.where).order.back() != each.which;
  });
}

// ---- What every operation shares

void execution::event(std::uint64_t kind, std::uint64_t a, std::uint64_t b) {
  thread_record& thread = me();
  ++thread.events;
  thread.known.current.happened.of[running_] = thread.events;
  thread.history.mix(kind + a * 32);
  thread.history.mix(b);
}

std::memory_order execution::order_at(std::memory_order written, unsigned argument,
                                      std::source_location where) {
  if (sites_ != nullptr) sites_->insert({.where = site::of(where, argument), .order = written});
  const mutation* const planted = settings_.planted;
  if (planted == nullptr || !planted->is_at(where, argument)) return written;
  return planted->becomes;
}

void execution::check_alive(location_index which, std::source_location where) {
  location& at = memory_.at(which);
  if (!at.is_alive) fail(verdict::lifetime, described(which) + " is used after its end", where);
  const clock& happened = me().known.current.happened;
  if (happened.of[at.creator.thread] < at.creator.event) {
    fail(verdict::lifetime, described(which) + " is used by a thread that cannot know it exists",
         where);
  }
  at.accessed.of[running_] = static_cast<std::uint16_t>(me().events + 1);
}

message_index execution::write(location_index to, std::uint64_t value, std::memory_order order,
                               std::size_t place, const message* continued) {
  if (memory_.at(to).messages.size() >= max_messages) {
    fail(verdict::inconclusive, "more writes than the engine has room for", {});
  }
  return memory_.write(me().known, to, value, order, place,
                       {.thread = running_, .event = me().events}, continued);
}

// ---- Objects

location_index execution::create(std::uint64_t value, std::source_location where,
                                 std::uint64_t name) {
  if (memory_.count() >= max_locations) {
    fail(verdict::inconclusive, "more atomic objects than the engine has room for", where);
  }
  if (name != 0) {
    return memory_.create(name, value, {.thread = setter_, .event = 0}, {}, where);
  }
  thread_record& thread = me();
  event(created, 0, 0);
  name = (std::uint64_t{running_} + 1) << 32U | ++thread.created;
  return memory_.create(name, value, {.thread = running_, .event = thread.events},
                        thread.known.current, where);
}

void execution::destroy(location_index which, std::source_location where) {
  location& at = memory_.at(which);
  if (!at.is_alive) fail(verdict::lifetime, described(which) + " is destroyed twice", where);
  clock others = at.accessed;
  others.of[running_] = 0;
  if (!me().known.current.happened.covers(others)) {
    fail(verdict::lifetime,
         described(which) + " is destroyed although another thread's use does not happen before",
         where);
  }
  event(destroyed, at.name, 0);
  at.is_alive = false;
}

// ---- Loads, stores, read-modify-writes, fences

std::uint64_t execution::load(location_index from, std::memory_order order,
                              std::source_location where) {
  order = order_at(order, 0, where);
  step_point();
  check_alive(from, where);
  const bool sequential = order == std::memory_order_seq_cst;
  if (sequential) memory_.before_sequential(me().known, from);
  location& at = memory_.at(from);
  const std::size_t oldest = memory_.oldest_place(from, me().known.current);
  const std::size_t back = choose(choice_kind::message, at.order.size() - oldest, where);
  const message_index index = at.order[at.order.size() - 1 - back];
  const message& read = at.messages[index];
  event(loaded, at.name, read.by.name());
  if (sequential) me().history.mix(memory_.sequential_digest());
  memory_.note_read(me().known, from, index, order);
  if (sequential) memory_.after_sequential(me().known, from);
  me().reads.push_back({from, index});
  if (account_ != nullptr) {
    tell(where, "load " + name_of(order) + " of " + described(from) + ": " +
                    std::to_string(read.value) + by_whom(read));
  }
  return read.value;
}

void execution::store(location_index to, std::uint64_t value, std::memory_order order,
                      std::source_location where) {
  order = order_at(order, 0, where);
  step_point();
  check_alive(to, where);
  const bool sequential = order == std::memory_order_seq_cst;
  if (sequential) memory_.before_sequential(me().known, to);
  location& at = memory_.at(to);
  const std::size_t oldest = memory_.oldest_place(to, me().known.current);
  candidates_.clear();
  for (std::size_t place = at.order.size(); place > oldest; --place) {
    if (at.messages[at.order[place - 1]].has_successor) continue;
    candidates_.push_back({0, static_cast<message_index>(place)});
  }
  const std::size_t taken = choose(choice_kind::place, candidates_.size(), where);
  const std::size_t place = candidates_[taken].second;
  // The value follows from what the thread has seen; an address would differ from run to run.
  event(stored, at.name, 0);
  if (sequential) me().history.mix(memory_.sequential_digest());
  const bool is_newest = place == at.order.size();
  write(to, value, order, place, nullptr);
  if (sequential) memory_.after_sequential(me().known, to);
  if (account_ != nullptr) {
    tell(where, "store " + name_of(order) + " to " + described(to) + ": " + std::to_string(value) +
                    (is_newest ? "" : ", which others overwrote before"));
  }
}

std::uint64_t execution::exchange_by(location_index on, const change& by, std::memory_order order,
                                     std::source_location where) {
  order = order_at(order, 0, where);
  step_point();
  check_alive(on, where);
  const bool sequential = order == std::memory_order_seq_cst;
  if (sequential) memory_.before_sequential(me().known, on);
  candidates_.clear();
  for_each_readable(me().known, on, false, [&](message_index index) {
    if (!memory_.at(on).messages[index].has_successor) candidates_.push_back({0, index});
    return true;
  });
  const message_index index =
      candidates_[choose(choice_kind::message, candidates_.size(), where)].second;
  const std::uint64_t found = memory_.at(on).messages[index].value;
  replace(on, index, by.apply(found, by.operand), order, where);
  return found;
}

void execution::replace(location_index on, message_index read, std::uint64_t value,
                        std::memory_order order, std::source_location where) {
  location& at = memory_.at(on);
  const std::uint64_t found = at.messages[read].value;
  event(changed, at.name, at.messages[read].by.name());
  const bool sequential = order == std::memory_order_seq_cst;
  if (sequential) me().history.mix(memory_.sequential_digest());
  memory_.note_read(me().known, on, read, order);
  at.messages[read].has_successor = true;
  const message continued = at.messages[read];
  write(on, value, order, at.position[read] + std::size_t{1}, &continued);
  if (sequential) memory_.after_sequential(me().known, on);
  if (account_ != nullptr) {
    tell(where, "exchange " + name_of(order) + " on " + described(on) + ": " +
                    std::to_string(found) + by_whom(continued) + " becomes " +
                    std::to_string(value));
  }
}

bool execution::compare_exchange(location_index on, std::uint64_t& expected, std::uint64_t desired,
                                 std::memory_order success, std::memory_order failure, bool weak,
                                 std::source_location where) {
  success = order_at(success, 0, where);
  failure = order_at(failure, 1, where);
  step_point();
  check_alive(on, where);
  const bool sequential = success == std::memory_order_seq_cst;
  if (sequential) memory_.before_sequential(me().known, on);
  const std::uint64_t place_of_call = site_key(where);
  auto& failed = me().failed_weakly;
  const bool may_fail = weak && std::ranges::find(failed, place_of_call) == failed.end();
  enum outcome : std::uint8_t { replaced, differs, fails_for_no_reason };
  candidates_.clear();
  for_each_readable(me().known, on, false, [&](message_index index) {
    const message& read = memory_.at(on).messages[index];
    if (read.value != expected) {
      candidates_.push_back({differs, index});
    } else {
      if (!read.has_successor) candidates_.push_back({replaced, index});
      if (may_fail) candidates_.push_back({fails_for_no_reason, index});
    }
    return true;
  });
  const auto [how, index] = candidates_[choose(choice_kind::message, candidates_.size(), where)];
  if (how == replaced) {
    replace(on, index, desired, success, where);
    return true;
  }
  const location& at = memory_.at(on);
  const message& read = at.messages[index];
  event(not_changed + (std::uint64_t{how} << 40U), at.name, read.by.name());
  if (sequential) me().history.mix(memory_.sequential_digest());
  memory_.note_read(me().known, on, index, failure);
  me().reads.push_back({on, index});
  if (how == fails_for_no_reason) failed.push_back(place_of_call);
  if (account_ != nullptr) {
    tell(where, "compare-exchange on " + described(on) + " fails" +
                    (how == differs ? "" : " for no reason") + ", load " + name_of(failure) + ": " +
                    std::to_string(read.value) + by_whom(read));
  }
  expected = read.value;
  return false;
}

void execution::fence(std::memory_order order, std::source_location where) {
  order = order_at(order, 0, where);
  const bool sequential = order == std::memory_order_seq_cst;
  if (sequential) step_point();
  // First the event: a release fence publishes plain data written since the last one, too.
  event(fenced, static_cast<std::uint64_t>(order), 0);
  memory_.fence(me().known, order);
  if (sequential) me().history.mix(memory_.sequential_digest());
  if (account_ != nullptr) tell(where, "fence " + name_of(order));
}

void execution::light_fence(std::source_location where) {
  if (settings_.asymmetric == barriers::fences) fence(std::memory_order_seq_cst, where);
}

bool execution::heavy_fence(std::source_location where) {
  if (settings_.asymmetric == barriers::fences) {
    fence(std::memory_order_seq_cst, where);
    return true;
  }
  step_point();
  if (settings_.asymmetric == barriers::may_be_lost && !barriers_lost_) {
    barriers_lost_ = choose(choice_kind::barrier, 2, where) == 1;
  }
  event(barred, barriers_lost_ ? 1 : 0, 0);
  if (!barriers_lost_) {
    memory_.fence(me().known, std::memory_order_seq_cst);
    for (thread_index i = 0; i < count_; ++i) {
      if (i == running_) continue;
      // A thread that has ended counts too: what it stored is out.
      memory_.fence(threads_[i].known, std::memory_order_seq_cst);
      threads_[i].history.mix(barred);
      threads_[i].history.mix(memory_.sequential_digest());
    }
    memory_.fence(me().known, std::memory_order_seq_cst);
    me().history.mix(memory_.sequential_digest());
  }
  if (account_ != nullptr) tell(where, barriers_lost_ ? "membarrier fails" : "membarrier");
  return !barriers_lost_;
}

// ---- Waiting

std::optional<seen> execution::await(std::span<const look> looks,
                                     std::optional<std::size_t> deadline,
                                     std::optional<std::uint64_t> desired,
                                     std::source_location where) {
  std::array<look, 8> mine{};
  std::ranges::copy(looks, mine.begin());
  for (std::size_t i = 0; i < looks.size(); ++i) {
    mine[i].order = order_at(looks[i].order, static_cast<unsigned>(i), where);
  }
  thread_record& thread = me();
  thread.looks = std::span<const look>{mine}.first(looks.size());
  thread.exchanges = desired.has_value();
  thread.deadline = deadline;
  block(status::awaiting);
  thread.deadline.reset();
  if (std::exchange(thread.timed_out, false)) {
    event(timed_out, 0, 0);
    if (account_ != nullptr) tell(where, "the deadline of the wait passes");
    return std::nullopt;
  }
  list_candidates(thread);
  const auto [which, index] = candidates_[choose(choice_kind::message, candidates_.size(), where)];
  const look& chosen = mine[which];
  check_alive(chosen.where, where);
  const std::uint64_t value = memory_.at(chosen.where).messages[index].value;
  if (desired) {
    replace(chosen.where, index, *desired, chosen.order, where);
    return seen{which, value};
  }
  const bool sequential = chosen.order == std::memory_order_seq_cst;
  if (sequential) memory_.before_sequential(thread.known, chosen.where);
  const message& read = memory_.at(chosen.where).messages[index];
  event(awaited, memory_.at(chosen.where).name * 8 + which, read.by.name());
  if (sequential) thread.history.mix(memory_.sequential_digest());
  memory_.note_read(thread.known, chosen.where, index, chosen.order);
  if (sequential) memory_.after_sequential(thread.known, chosen.where);
  if (account_ != nullptr) {
    tell(where, "await " + name_of(chosen.order) + " on " + described(chosen.where) + ": " +
                    std::to_string(value) + by_whom(read));
  }
  return seen{which, value};
}

/// A look is reached only if each one before it can have failed.
void execution::list_candidates(const thread_record& of) {
  candidates_.clear();
  bool reached = true;
  for (std::size_t i = 0; i < of.looks.size() && reached; ++i) {
    const look& each = of.looks[i];
    bool can_fail = false;
    const bool sequential = each.order == std::memory_order_seq_cst;
    for_each_readable(of.known, each.where, sequential, [&](message_index index) {
      const message& read = memory_.at(each.where).messages[index];
      if (!each.holds(read.value)) {
        can_fail = true;
      } else if (!(of.exchanges && read.has_successor)) {
        candidates_.push_back({static_cast<std::uint8_t>(i), index});
      }
      return true;
    });
    reached = can_fail;
  }
}

void execution::pause(std::source_location where) {
  if (!is_set_up()) block(status::pausing);
  thread_record& thread = me();
  event(paused, 0, 0);
  for (const read_before& each : thread.reads) {
    const location& at = memory_.at(each.where);
    const std::size_t next = at.position[each.which] + std::size_t{1};
    message_index& oldest = thread.known.current.oldest[each.where];
    // Having waited for something new, the thread does not see the old once more.
    if (next < at.order.size() && at.position[oldest] < next) oldest = at.order[next];
    thread.history.mix(at.messages[oldest].by.name());
  }
  thread.reads.clear();
  if (account_ != nullptr) tell(where, "pause");
}

sleep_end execution::sleep(location_index on, std::uint64_t expected,
                           std::optional<std::size_t> deadline, std::source_location where) {
  step_point();
  check_alive(on, where);
  const location& at = memory_.at(on);
  const message& newest = at.newest();
  const bool sleeps = newest.value == expected;
  event(sleeps ? slept : not_slept, at.name, newest.by.name());
  // The kernel's look is coherent with ours, but orders nothing.
  memory_.note_read(me().known, on, at.order.back(), std::memory_order_relaxed);
  me().reads.clear();
  if (account_ != nullptr) {
    tell(where, (sleeps ? "sleeps on " : "does not sleep on ") + described(on) + ": " +
                    std::to_string(newest.value) + by_whom(newest));
  }
  if (!sleeps) return sleep_end::changed;
  thread_record& thread = me();
  thread.sleeps_on = on;
  thread.deadline = deadline;
  thread.woken_by = sleep_end::woken;
  sleepers_[on].push_back(running_);
  block(status::sleeping);
  thread.deadline.reset();
  thread.timed_out = false;
  event(woke_up, static_cast<std::uint64_t>(thread.woken_by), 0);
  if (account_ != nullptr) {
    tell(where, thread.woken_by == sleep_end::timed_out ? "its deadline passes" : "wakes up");
  }
  return thread.woken_by;
}

std::uint32_t execution::wake(location_index on, std::uint32_t count, std::source_location where) {
  if (sites_ != nullptr) {
    sites_->insert({.where = site::of(where, wake_argument), .order = std::memory_order_relaxed});
  }
  const mutation* const planted = settings_.planted;
  if (planted != nullptr && planted->is_at(where, wake_argument)) return 0;
  step_point();
  const std::uint32_t woken = take_sleepers(on, count, std::nullopt, where);
  event(woke, memory_.at(on).name, woken);
  if (account_ != nullptr) {
    tell(where, "wakes " + std::to_string(woken) + " on " + described(on));
  }
  return woken;
}

std::optional<std::uint32_t> execution::requeue(location_index from, std::uint64_t expected,
                                                std::uint32_t count, std::uint32_t move,
                                                location_index to, std::source_location where) {
  step_point();
  const location& at = memory_.at(from);
  const message& newest = at.newest();
  memory_.note_read(me().known, from, at.order.back(), std::memory_order_relaxed);
  if (newest.value != expected) {
    event(moved, at.name, newest.by.name());
    if (account_ != nullptr) tell(where, "moves nobody: " + described(from) + " has changed");
    return std::nullopt;
  }
  const std::uint32_t woken = take_sleepers(from, count, std::nullopt, where);
  const std::uint32_t others = take_sleepers(from, move, to, where);
  event(moved, at.name, newest.by.name() * 64 + woken * 8 + others);
  if (account_ != nullptr) {
    tell(where, "wakes " + std::to_string(woken) + " and moves " + std::to_string(others) +
                    " from " + described(from) + " to " + described(to));
  }
  return woken + others;
}

std::uint32_t execution::take_sleepers(location_index from, std::uint32_t count,
                                       std::optional<location_index> to,
                                       std::source_location where) {
  std::uint32_t taken = 0;
  while (taken < count && !sleepers_[from].empty()) {
    const std::size_t which =
        settings_.wakes_any ? choose(choice_kind::thread, sleepers_[from].size(), where) : 0;
    const thread_index sleeper = sleepers_[from][which];
    sleepers_[from].erase(sleepers_[from].begin() + static_cast<std::ptrdiff_t>(which));
    if (to) {
      sleepers_[*to].push_back(sleeper);
      threads_[sleeper].sleeps_on = *to;
    } else {
      threads_[sleeper].now = status::ready;
    }
    ++taken;
  }
  return taken;
}

// ---- Time, chance, plain data

std::size_t execution::new_deadline() {
  passed_.push_back(false);
  event(asked_time, 0, passed_.size());
  return passed_.size() - 1;
}

bool execution::has_passed(std::size_t deadline, std::source_location where) {
  step_point();
  if (!passed_[deadline] && timeouts_left_ > 0 && choose(choice_kind::time, 2, where) == 1) {
    passed_[deadline] = true;
    --timeouts_left_;
  }
  event(asked_time, 1, passed_[deadline] ? 1 : 0);
  if (account_ != nullptr) {
    tell(where, passed_[deadline] ? "the deadline has passed" : "the deadline has not passed");
  }
  return passed_[deadline];
}

bool execution::time_jumps(std::source_location where) {
  const bool jumps = timeouts_left_ > 0 && choose(choice_kind::time, 2, where) == 1;
  if (jumps) --timeouts_left_;
  event(asked_time, 2, jumps ? 1 : 0);
  return jumps;
}

unsigned execution::random(unsigned count, std::source_location where) {
  const unsigned taken = choose(choice_kind::failure, count, where);
  event(drew, taken, 0);
  return taken;
}

std::size_t execution::new_plain(std::source_location where) {
  plains_.push_back({.where = where, .writer = running_, .written = me().events, .readers = {}});
  return plains_.size() - 1;
}

bool execution::knows_writer(const plain& data) {
  return data.writer == running_ || me().known.current.happened.of[data.writer] >= data.written;
}

void execution::read_plain(std::size_t which, std::source_location where) {
  plain& data = plains_[which];
  if (!knows_writer(data)) {
    fail(verdict::race,
         "reads plain data that T" + std::to_string(data.writer) + " writes at the same time",
         where);
  }
  // Between two events a thread's reads are as good as at the next one.
  data.readers.of[running_] = static_cast<std::uint16_t>(me().events + 1);
  if (account_ != nullptr) tell(where, "reads plain data");
}

void execution::write_plain(std::size_t which, std::source_location where) {
  plain& data = plains_[which];
  clock others = data.readers;
  others.of[running_] = 0;
  if (!knows_writer(data) || !me().known.current.happened.covers(others)) {
    fail(verdict::race, "writes plain data that another thread uses at the same time", where);
  }
  data.writer = running_;
  data.written = static_cast<std::uint16_t>(me().events + 1);
  if (account_ != nullptr) tell(where, "writes plain data");
}

void*& execution::state_of(const void* type, std::size_t owner, deleter end) {
  for (state_entry& each : states_) {
    if (each.type == type && each.owner == owner) return each.object;
  }
  states_.push_back({.type = type, .owner = owner, .object = nullptr, .end = end});
  return states_.back().object;
}

void execution::end_states(std::size_t owner) {
  for (std::size_t i = states_.size(); i-- > 0;) {
    if (states_[i].owner != owner) continue;
    const state_entry ended = states_[i];
    ended.end(ended.object);
    std::erase_if(states_, [&](const state_entry& each) {
      return each.type == ended.type && each.owner == owner;
    });
  }
}

// ---- Words for people

void execution::tell(std::source_location where, const std::string& text) const {
  if (account_ != nullptr) account_->push_back({.thread = running_, .where = where, .text = text});
}

void execution::note(const char* text, std::source_location where) {
  if (account_ != nullptr) tell(where, text);
}

std::string execution::described(location_index which) {
  // Several members of an object are made at one place: they are told apart by their order.
  const std::source_location where = memory_.at(which).where;
  unsigned ordinal = 1;
  for (location_index i = 0; i < which; ++i) {
    const std::source_location other = memory_.at(i).where;
    if (other.line() == where.line() && other.file_name() == where.file_name()) ++ordinal;
  }
  return "word " + std::to_string(ordinal) + " of " + file_name(where.file_name()) + ":" +
         std::to_string(where.line());
}

std::string execution::by_whom(const message& read) const {
  if (read.by.thread == setter_) return " (initial)";
  return read.by.thread == running_ ? " (its own)"
                                    : " (by T" + std::to_string(read.by.thread) + ")";
}

}  // namespace lockyard::model
