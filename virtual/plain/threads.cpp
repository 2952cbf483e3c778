// SPDX-License-Identifier: Apache-2.0
#include "threads.hpp"

#include "library_calls.hpp"
#include "wrapped.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <thread>

namespace lockyard::plain {

namespace {

bool is_not_zero(const void* /*none*/, std::uint64_t value) {
  return value != 0;
}

std::uint64_t await(location_index word, bool (*test)(const void*, std::uint64_t),
                    std::source_location where) {
  const model::look look{
      .where = word, .order = std::memory_order_acquire, .predicate = nullptr, .test = test};
  return now().await(std::span{&look, 1}, std::nullopt, std::nullopt, where)->value;
}

void* run_state(void* state) {
  const std::unique_ptr<std::thread::_State> mine{static_cast<std::thread::_State*>(state)};
  mine->_M_run();
  return nullptr;
}

unsigned create(const routine& what, bool is_detached, std::source_location where) {
  program_threads& all = worker::mine().threads;
  if (!all.is_program()) {
    refuse("the code creates a thread, but the checker runs only the client's threads",
           "give the client more threads, or write a program with main() instead of a client",
           where);
  }
  return all.create(what, is_detached, where);
}

}  // namespace

location_index program_threads::new_word(std::size_t number) {
  const model::place lies{
      .address = &places_[number], .size = sizeof places_[number], .type = nullptr};
  constexpr std::uint64_t names = std::uint64_t{5} << 60U;
  return now().create(0, {}, names | (number + 1), lies);
}

void program_threads::begin(bool is_program) {
  is_program_ = is_program;
  existing_ = 1;
  others_ = 0;
  if (!is_program) return;
  created_ = new_word(0);
  for (unsigned i = 1; i < count; ++i) {
    threads_[i].started = new_word(2 * i - 1);
    threads_[i].ended = new_word(2 * i);
    threads_[i].is_joinable = false;
  }
}

std::optional<std::string> program_threads::name_of(std::uintptr_t address) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(places_.data());
  if (address < begin || address >= begin + sizeof places_) return std::nullopt;
  const std::size_t number = (address - begin) / sizeof places_[0];
  if (number == 0) return "the number of threads";
  return (number % 2 == 1 ? "the start of T" : "the end of T") + std::to_string((number + 1) / 2);
}

unsigned program_threads::create(const routine& what, bool is_detached,
                                 std::source_location where) {
  worker::mine().loop().act();
  const model::change one_more{
      .apply = [](std::uint64_t found, std::uint64_t) { return found + 1; }, .operand = 0};
  const auto index = static_cast<unsigned>(
      now().exchange_by(created_, one_more, std::memory_order_relaxed, where) + 1);
  if (index + 1 >= model::max_threads) {
    refuse("the program creates more than " + std::to_string(model::max_threads - 2) + " threads",
           "let it create fewer", where);
  }
  if (index >= count) {
    count = index + 1;
    shadow::begin_again();
    now().fail(model::verdict::assertion, "there is one more thread", where);
  }
  existing_ = index + 1;
  if (others_++ == 0) library_calls::ignore();
  threads_[index].what = what;
  threads_[index].created = now().here_and_now();
  threads_[index].is_joinable = !is_detached;
  if (is_detached) now().store(threads_[index].ended, detached, std::memory_order_relaxed, where);
  now().store(threads_[index].started, runs, std::memory_order_release, where);
  now().note_last_write(threads_[index].started);
  return index;
}

void program_threads::take_claim(unsigned index, const char* otherwise,
                                 std::source_location where) {
  if (index == 0 || index >= count || !threads_[index].is_joinable) {
    now().fail(model::verdict::assertion, otherwise, where);
  }
  // The code may have guessed the number, so the thread may not exist yet.
  if (!now().comes_after(threads_[index].created)) now().note_unordered();
  threads_[index].is_joinable = false;
  worker::mine().loop().act();
}

void program_threads::detach(unsigned index, std::source_location where) {
  take_claim(index, "detaches a thread that was joined or detached, or does not exist", where);
  std::uint64_t found = 0;  // or it has ended already
  now().compare_exchange(threads_[index].ended, found, detached, std::memory_order_relaxed,
                         std::memory_order_relaxed, false, where);
}

void* program_threads::join(unsigned index, std::source_location where) {
  take_claim(index, "joins a thread that was joined or detached, or does not exist", where);
  await(threads_[index].ended, &has_come_to_its_end, where);
  if (--others_ == 0) library_calls::count();
  return threads_[index].result;
}

bool program_threads::has_result(unsigned index) const {
  return is_program_ && index != 0 && threads_[index].what.run != &run_state;
}

/// Runs the handlers of pthread_cleanup_push() and the destructors of automatic objects, as the C
/// library does: both belong to frames, which are unwound up to run().
void program_threads::exit(void* result, std::source_location where) {
  thread& mine = threads_[now().self()];
  mine.result = result;
  mine.exits_at = where;
  worker::mine().loop().act();
  mine.unwinds = {};
  mine.unwinds.exception_cleanup = [](_Unwind_Reason_Code, _Unwind_Exception*) {
    now().fail(model::verdict::assertion, "pthread_exit() is caught, and not thrown again", {});
  };
  _Unwind_ForcedUnwind(&mine.unwinds, &unwind, this);
  leave();  // a frame has no information for that
}

void program_threads::leave() {
  thread& mine = threads_[now().self()];
  worker::mine().memory.leave_all(mine.exits_at);
  std::longjmp(mine.exit, 1);
}

_Unwind_Reason_Code program_threads::unwind(int /*version*/, _Unwind_Action actions,
                                            _Unwind_Exception_Class /*kind*/,
                                            _Unwind_Exception* /*object*/, _Unwind_Context* at,
                                            void* of) {
  program_threads& all = *static_cast<program_threads*>(of);
  const void* const frame = all.threads_[now().self()].frame;
  const bool is_run = _Unwind_GetCFA(at) > reinterpret_cast<std::uintptr_t>(frame);
  if (!is_run && (actions & _UA_END_OF_STACK) == 0) return _URC_NO_REASON;
  all.leave();
}

/// The destructors of a thread's variables run before others see its end.
void program_threads::end(unsigned index) {
  worker& mine = worker::mine();
  mine.storage[index].end(mine.keys);
  if (index != 0) {  // main's last as long as the program
    mine.end_variables_of(index);
    mine.locks.check_end_of_thread();
  }
  mine.loop().act();
}

void program_threads::run(unsigned index, int (*main)(int, char**)) {
  thread& mine = threads_[index];
  mine.frame = __builtin_frame_address(0);
  if (index != 0) {
    if (await(mine.started, &is_not_zero, {}) == is_not_created) return;
    clear_dead_stack();  // compare-exchanges compare padding too, so it holds no garbage
    if (setjmp(mine.exit) == 0) mine.result = mine.what.run(mine.what.argument);
    end(index);
    now().store(mine.ended, has_ended, std::memory_order_release, {});
    return;
  }
  volatile bool has_returned = false;  // longjmp() keeps its value
  if (setjmp(mine.exit) == 0) {
    static char name[] = "program";  // NOLINT(*-avoid-c-arrays): main's arguments
    static char* words[] = {name, nullptr};
    main(1, words);
    has_returned = true;
  }
  if (has_returned) {  // as exit() does; values of keys last
    worker::mine().storage[index].end_variables();
    worker::mine().loop().act();
    worker::mine().at_exit.run();
  } else {
    end(index);
  }
  unsigned created = 1;
  bool all_end = true;
  for (; created <= now().load(created_, std::memory_order_relaxed, {}); ++created) {
    // After pthread_exit() in main() the program goes on until its last thread ends.
    const auto test = has_returned ? &is_not_zero : &has_come_to_its_end;
    if (await(threads_[created].ended, test, {}) == detached) all_end = false;
  }
  if (!has_returned) worker::mine().at_exit.run();
  if (!all_end) return now().note_program_end();
  for (; created < count; ++created) {
    now().store(threads_[created].started, is_not_created, std::memory_order_relaxed, {});
  }
}

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

using lockyard::plain::is_active;
using lockyard::plain::worker;

static bool is_self(pthread_t thread) {
  return thread == pthread_t{lockyard::plain::execution::current()->self()} + 1;
}

int lockyard_pthread_create(void* thread, const void* attributes, void* (*run)(void*),
                            void* argument, const void* pc) {
  if (!is_active()) return EAGAIN;
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) {
    pthread_attr_getdetachstate(static_cast<const pthread_attr_t*>(attributes), &state);
  }
  const unsigned index = lockyard::plain::create({run, argument}, state == PTHREAD_CREATE_DETACHED,
                                                 lockyard::plain::place_of(pc));
  lockyard::plain::write_bytes(thread, sizeof(pthread_t), pc);
  *static_cast<pthread_t*>(thread) = pthread_t{index} + 1;  // as pthread_self() says
  return 0;
}
int __wrap_pthread_join(pthread_t thread, void** result) {
  if (is_self(thread)) return EDEADLK;
  void* const found = worker::mine().threads.join(static_cast<unsigned>(thread - 1), LOCKYARD_HERE);
  if (result != nullptr) {
    lockyard::plain::write_bytes(result, sizeof *result, LOCKYARD_PC);
    *result = found;
  }
  return 0;
}
int __wrap_pthread_detach(pthread_t thread) {
  worker::mine().threads.detach(static_cast<unsigned>(thread - 1), LOCKYARD_HERE);
  return 0;
}
void __wrap_pthread_exit(void* result) {
  worker::mine().threads.exit(result, LOCKYARD_HERE);
}

// std::thread: these members are in the C++ library. An object holds the thread's number.
void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    pthread_t* self, std::unique_ptr<std::thread::_State>* state, void (* /*depend*/)()) {
  if (!is_active()) std::abort();
  const unsigned index = lockyard::plain::create({&lockyard::plain::run_state, state->release()},
                                                 false, LOCKYARD_HERE);
  lockyard::plain::write_bytes(self, sizeof *self, LOCKYARD_PC);
  *self = pthread_t{index} + 1;
}
void __wrap__ZNSt6thread4joinEv(pthread_t* self) {
  if (*self == 0) return reinterpret_cast<std::thread*>(self)->join();  // throws
  if (is_self(*self)) std::__throw_system_error(EDEADLK);
  worker::mine().threads.join(static_cast<unsigned>(*self - 1), LOCKYARD_HERE);
  lockyard::plain::write_bytes(self, sizeof *self, LOCKYARD_PC);
  *self = 0;
}
void __wrap__ZNSt6thread6detachEv(pthread_t* self) {
  if (*self == 0) return reinterpret_cast<std::thread*>(self)->detach();
  worker::mine().threads.detach(static_cast<unsigned>(*self - 1), LOCKYARD_HERE);
  lockyard::plain::write_bytes(self, sizeof *self, LOCKYARD_PC);
  *self = 0;
}
unsigned __wrap__ZNSt6thread20hardware_concurrencyEv() {
  return 2;
}
}
// NOLINTEND(bugprone-reserved-identifier)
