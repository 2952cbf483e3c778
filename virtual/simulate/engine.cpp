// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace lockyard::simulation {

namespace context = boost::context::detail;

namespace {

/// Virtual time that stands still for so many events stands still forever.
constexpr std::uint64_t most_events_at_one_time = 2'000'000;
/// So many equal results of one read in a row are a loop that the engine cannot park.
constexpr int most_repetitions = 1000;

/// A step of nice changes a thread's weight by a quarter (Linux: sched_prio_to_weight[]).
double weight_of(int nice) {
  return std::pow(1.25, -nice);
}

}  // namespace

engine::engine(const machine& of, const gaps& stops, std::unique_ptr<scheduler> policy,
               std::uint64_t seed)
    : machine_{of},
      gaps_{stops},
      policy_{std::move(policy)},
      chance_{seed},
      processors_(static_cast<std::size_t>(of.shape.processors)) {
  current_ = this;
  policy_->attach(*this);
  const int count = shape().processors;
  for (auto& sets : within_) sets.resize(static_cast<std::size_t>(count));
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      for (auto far = static_cast<std::size_t>(machine_.between(a, b)); far < distances; ++far) {
        within_[far][static_cast<std::size_t>(a)].add(b);
      }
    }
  }
  if (machine_.tick > 0) {
    for (int each = 0; each < count; ++each) {
      push(chance_.part_of(machine_.tick), event_kind::tick, each);
    }
  }
  if (gaps_.every_ns > 0) push(0, event_kind::gap, 0);
}

engine::~engine() {
  self_ = nullptr;
  const auto destroy = [](std::vector<state_entry>& objects) {
    while (!objects.empty()) {
      const state_entry last = objects.back();
      objects.pop_back();
      last.destroy(last.object);
    }
  };
  if (failure_.empty()) {  // otherwise locks are half taken
    for (const auto& each : threads_) destroy(each->state);
    destroy(process_state_);
  }
  current_ = nullptr;
}

thread& engine::spawn(std::function<void()> body, int on, int group, const rank& own) {
  const int id = static_cast<int>(threads_.size());
  if (id >= arena::stacks) throw simulation_error{"there are more threads than stacks"};
  thread& made = *threads_.emplace_back(std::make_unique<thread>());
  made.id = id, made.group = group, made.processor = on, made.body = std::move(body);
  made.own = own, made.weight = weight_of(own.nice);
  if (recording_ != nullptr) recording_->name_thread(id, group == 0 ? "contender" : "background");
  made.context =
      context::make_fcontext(memory_.stack_top(id), arena::stack_bytes - 2 * 4096, &engine::enter);
  made.runnable = true;
  ++at(on).arriving;
  add_load(made, 1);
  policy_->woken(made);
  push(now_, event_kind::arrival, id);
  return made;
}

void engine::enter(context::transfer_t from) {
  arrived(from);
  engine& on = *current_;
  thread& me = *on.self_;
  me.body();
  on.drain_stores();
  me.finished = true, me.runnable = false;
  on.add_load(me, -1);
  on.account_for(me.processor);
  on.policy_->slept(me, me.processor);
  on.reschedule(me.processor, false);
  for (;;) on.switch_out();
}

/// The data of a jump is where the context that jumped is to be kept.
void engine::arrived(context::transfer_t from) {
  *static_cast<void**>(from.data) = from.fctx;
}

/// Handles events on the stack of the thread that has just stopped, until a thread can go on. Then
/// one jump leads to it, and none if it is the thread that has stopped.
void engine::switch_out() {
  thread* const me = self_;
  self_ = nullptr;
  thread* next = nullptr;
  try {
    next = handle_events();
  } catch (...) {  // no function on this stack would catch it; run() throws it again
    thrown_ = std::current_exception();
  }
  if (next != me) {
    void* const to = next != nullptr ? next->context : loop_;
    arrived(context::jump_fcontext(to, static_cast<void*>(&me->context)));
  }
  self_ = me;
}

void engine::fail(const std::string& message) {
  failure_ = message;
  stopped_ = true;
  self_ = last_resumed_;  // while events are handled there is no running thread, but its stack
  if (self_ == nullptr) throw simulation_error{message};
  for (;;) switch_out();
}

void engine::note(const void* address, std::uint64_t value, const std::source_location& where) {
  if (self_ == nullptr) return;
  thread& me = *self_;
  me.where = where;
  if (address != me.last_address || value != me.last_value || where.line() != me.last_line) {
    me.last_address = address, me.last_value = value, me.last_line = where.line();
    me.repetitions = 0;
  } else if (++me.repetitions > most_repetitions) {
    fail(name_of(me) + " has read the same value " + std::to_string(most_repetitions) +
         " times in a row: the loop there waits without an await, so it cannot be simulated; use "
         "W::await");
  }
}

std::string engine::name_of(const thread& which) const {
  std::string_view file = which.where.file_name();
  file.remove_prefix(file.rfind('/') == file.npos ? 0 : file.rfind('/') + 1);
  return "thread " + std::to_string(which.id) + " at " + std::string{file} + ":" +
         std::to_string(which.where.line());
}

// Events

void engine::push(ps when, event_kind kind, int which, std::uint64_t generation) {
  events_.push({when, ++order_, generation, which, kind});
}

void engine::watch_progress(ps when) {
  if (when > now_) {
    events_without_progress_ = 0;
  } else if (++events_without_progress_ > most_events_at_one_time) {
    const std::string who =
        last_resumed_ != nullptr ? name_of(*last_resumed_) : std::string{"no thread"};
    fail("virtual time does not advance: last ran " + who +
         "; the loop there costs nothing, so it never ends; give the machine a cost above 0 for "
         "what it does");
  }
}

void engine::run(ps until) {
  until_ = until;
  if (thread* const first = handle_events(); first != nullptr) {
    arrived(context::jump_fcontext(first->context, static_cast<void*>(&loop_)));
    self_ = nullptr;
  }
  last_resumed_ = nullptr;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  if (!failure_.empty()) throw simulation_error{failure_};
}

/// Returns the thread that is to go on, or null at the end of the run.
thread* engine::handle_events() {
  while (!events_.empty() && !stopped_ && events_.top().at <= until_) {
    const event next = events_.top();
    events_.pop();
    watch_progress(next.at);
    now_ = next.at;
    ++counted_.events;
    resumed_ = nullptr;
    handle(next);
    if (resumed_ == nullptr) continue;
    self_ = last_resumed_ = resumed_;
    self_->doing = activity::none;
    return resumed_;
  }
  return nullptr;
}

void engine::handle(const event& next) {
  switch (next.kind) {
    case event_kind::step: return step(next.which, next.generation);
    case event_kind::tick: return tick(next.which);
    case event_kind::timer: return expire(thread_with(next.which), next.generation);
    case event_kind::gap: return stop_a_processor();
    case event_kind::arrival: return arrive(thread_with(next.which));
    case event_kind::drain: return drain(thread_with(next.which));
  }
}

/// What a processor's thread was doing ends: an operation, work, or a spinner's wait for a fetch.
void engine::step(int which, std::uint64_t generation) {
  processor& here = at(which);
  if (generation != here.generation || here.current == nullptr) return;
  thread& running = *here.current;
  running.work_left = 0;
  if (running.doing == activity::parked && running.granted == nullptr) {
    spin_wait& spin = *running.spin;
    if (!spin.writes) {
      for (std::size_t i = 0; i < spin.line_count; ++i) {
        spin.lines[i]->sharers.add(which), spin.lines[i]->exclusive = false;
      }
    }
    if (!running.timed_out && here.queue.empty() && !spin.holds(spin)) {
      running.poked = false, spin.last_look = now_;  // the value has changed back: it waits on
      return;
    }
  }
  resumed_ = &running;
}

void engine::tick(int which) {
  push(now_ + machine_.tick, event_kind::tick, which);
  processor& here = at(which);
  if (here.current == nullptr) {
    if (here.queue.empty() && here.arriving == 0) reschedule(which, false);
    if (here.current == nullptr) relieve_a_core(which);
    return;
  }
  account_for(which);
  thread& running = *here.current;
  if (running.doing != activity::parked || running.poked) {
    step_at(which, here.step_at + machine_.tick_cost);
  }
  if (policy_->tick(running, which)) preempt(which);
}

void engine::expire(thread& which, std::uint64_t generation) {
  if (generation != which.timer) return;
  which.timed_out = true;
  if (which.futex != nullptr) {
    wake_sleeper(which);
  } else if (which.doing == activity::parked && at(which.processor).current == &which &&
             !which.poked) {
    poke(which, now_);
  }
}

/// A device, the firmware or a hypervisor takes a processor for a while.
void engine::stop_a_processor() {
  const auto pause = static_cast<ps>(chance_.exponential(gaps_.every_ns) * ns);
  push(now_ + std::max<ps>(pause, 1), event_kind::gap, 0);
  const auto which = static_cast<int>(chance_.next() % processors_.size());
  const double share = chance_.uniform();
  thread* const stopped = at(which).current;
  if (now_ == 0 || stopped == nullptr) return;
  const auto length = static_cast<ps>(gaps_.length_ns(share) * ns);
  if (recording_ != nullptr) recording_->gap(which, length, now_);
  if (stopped->doing == activity::parked && !stopped->poked) {
    stopped->spin->last_look = std::max(stopped->spin->last_look, now_ + length);
  } else {
    step_at(which, std::max(at(which).step_at, now_) + length);
  }
}

}  // namespace lockyard::simulation
