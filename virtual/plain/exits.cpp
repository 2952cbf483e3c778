// SPDX-License-Identifier: Apache-2.0
#include "exits.hpp"

#include "wrapped.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace lockyard::plain {

std::uint32_t list_of_exit_calls;

namespace {

/// Which calls there are, and their order, depends on what other threads have done to the list
/// before. A call that runs comes after the request for it, as the C library has a lock for both.
void use_list(std::memory_order order, std::source_location where) {
  const model::change next{.apply = [](std::uint64_t found, std::uint64_t) { return found + 1; },
                           .operand = 0};
  worker::mine().loop().act();
  now().exchange_by(word_of_system(&list_of_exit_calls, where), next, order, where);
}

/// Whether it is a function of the C++ library, such as a destructor. What it frees stays freed in
/// the next execution, which begins with the same static objects; and the streams belong to the
/// checker too.
bool is_of_library(void (*run)(void*)) {
  Dl_info found{};
  return dladdr(reinterpret_cast<const void*>(run), &found) != 0 && found.dli_fname != nullptr &&
         std::string_view{found.dli_fname}.find("libstdc++.so") != std::string_view::npos;
}

void check_program(const char* name, std::source_location where) {
  if (!is_active()) {
    std::fprintf(stderr, "static initialisation calls %s\n", name);
    std::_Exit(1);
  }
  if (worker::mine().threads.is_program()) return;
  refuse(std::string{"the code calls "} + name + ", but it is not a program with main()",
         "let its functions return", where);
}

}  // namespace

std::vector<exit_calls::call>& exit_calls::initial() {
  static std::vector<call> all;
  return all;
}

void exit_calls::reset() {
  calls_ = initial();
}

void exit_calls::add_last(const link_map& module) {
  const ElfW(Addr)* first = nullptr;
  std::size_t count = 0;
  for (const auto* each = module.l_ld; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_FINI_ARRAY)
      first = reinterpret_cast<const ElfW(Addr)*>(module.l_addr + each->d_un.d_ptr);
    if (each->d_tag == DT_FINI_ARRAYSZ) count = each->d_un.d_val / sizeof *first;
  }
  std::vector<call> last;
  for (const ElfW(Addr) each : std::span{first, count}) {
    last.push_back({[](void* given) { reinterpret_cast<void (*)()>(given)(); },
                    reinterpret_cast<void*>(each)});
  }
  initial().insert(initial().begin(), last.begin(), last.end());
}

void exit_calls::forget_initial() {
  initial().clear();
}

void exit_calls::add(void (*run)(void*), void* argument, const void* pc) {
  if (!is_active()) {
    if (!is_of_library(run)) initial().push_back({run, argument});
    return;
  }
  worker& mine = worker::mine();
  if (!mine.threads.is_program()) return;  // a client's static objects outlast it
  const auto where = place_of(pc);
  if (!may_grow_) {
    may_grow_ = true;
    shadow::begin_again();
    now().fail(model::verdict::assertion, "there is a call after main()", where);
  }
  mine.loop().act();
  use_list(std::memory_order_release, where);
  mine.at_exit.calls_.push_back({run, argument});
}

void exit_calls::run() {
  for (;;) {
    if (may_grow_) use_list(std::memory_order_acquire, {});
    if (calls_.empty()) return;
    const call last = calls_.back();
    calls_.pop_back();
    last.run(last.argument);
  }
}

void exit_calls::exit(const char* name, std::source_location where) {
  check_program(name, where);
  worker::mine().storage[now().self()].end_variables();
  worker::mine().at_exit.run();
  exit_at_once(name, where);
}

void exit_calls::exit_at_once(const char* name, std::source_location where) {
  check_program(name, where);
  now().note_program_end();
  now().give_up(where, "the program ends");
}

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

int __wrap___cxa_atexit(void (*run)(void*), void* argument, void* /*module*/) {
  lockyard::plain::exit_calls::add(run, argument, LOCKYARD_PC);
  return 0;
}
int __wrap_atexit(void (*run)()) {
  lockyard::plain::exit_calls::add([](void* given) { reinterpret_cast<void (*)()>(given)(); },
                                   reinterpret_cast<void*>(run), LOCKYARD_PC);
  return 0;
}
void __wrap_exit(int /*status*/) {
  lockyard::plain::exit_calls::exit("exit()", LOCKYARD_HERE);
}
void __wrap__exit(int /*status*/) {
  lockyard::plain::exit_calls::exit_at_once("_exit()", LOCKYARD_HERE);
}
void __wrap__Exit(int /*status*/) {
  lockyard::plain::exit_calls::exit_at_once("_Exit()", LOCKYARD_HERE);
}
}
// NOLINTEND(bugprone-reserved-identifier)
