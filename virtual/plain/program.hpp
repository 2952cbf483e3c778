// SPDX-License-Identifier: Apache-2.0
#pragma once

// A worker's state while it runs a module's code, and the modules that are loaded.

#include "arena.hpp"
#include "exits.hpp"
#include "held_locks.hpp"
#include "membarrier.hpp"
#include "module.hpp"
#include "shadow.hpp"
#include "spins.hpp"
#include "thread_storage.hpp"
#include "threads.hpp"

#include <model/client.hpp>

#include <array>
#include <cstdarg>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lockyard::plain {

/// What the running execution needs besides the engine; one for each worker.
struct worker {
  shadow memory;
  arena heap;
  std::array<spins, model::max_threads> loops;
  std::array<thread_storage, model::max_threads> storage;
  std::vector<void (*)(void*)> keys;  ///< their destructors, by pthread_key_t
  program_threads threads;
  exit_calls at_exit;
  held_locks locks;
  barrier_registration barriers;
  std::uintptr_t object = 0;                         ///< the module's lock or client
  std::pair<std::uintptr_t, std::uintptr_t> data{};  ///< what the lock protects

  static worker& mine();
  spins& loop() { return loops[execution::current()->self()]; }
  void begin();
  /// Ends a thread's thread_local variables: no other thread may use them any longer.
  void end_variables_of(unsigned thread);
};

/// Forgets which memory has remained as it was while threads ran.
void forget_what_lasts();

/// Drops what the C++ library notes about exceptions of an execution that ended before.
void forget_exceptions();

/// The heap of static initialisation, which every execution finds as it was left then.
arena& earlier_heap();

/// Plain accesses of the module's code, or on its behalf.
void read_bytes(const void* address, std::size_t size, const void* pc);
void write_bytes(const void* address, std::size_t size, const void* pc);

constexpr std::size_t without_limit = ~std::size_t{0};
/// Returns how many bytes precede a text's end, or `most`. Reads those that it looks at.
std::size_t read_text(const char* text, std::size_t most, const void* pc);
/// Brings a text's bytes in memory up to date, for a function that finds out what it reads.
void refresh_text(const char* text);
/// Reads the texts that a format's arguments name. False if the format has a conversion that may
/// use other memory.
bool read_texts(const char* form, std::va_list arguments, const void* pc);

/// True while the code of a module runs, and not the checker's own.
inline bool is_active() noexcept {
  return execution::current() != nullptr;
}

/// Whether an address is in a module's code or variables.
bool is_of_module(std::uintptr_t at);

/// Whether a turn that takes locks may be futile: the checker sees all that the module's code
/// reads, and no attempt tells whether another thread holds a lock.
bool may_wait_for_data();

/// Whether the module asks whether a lock is free, or waits for it with a time limit.
bool may_try_locks();

/// Whether the module has fences against signal handlers, which membarrier() makes fences of.
bool has_signal_fences();

/// Whether several threads may own an exception of the module (hidden_state.hpp).
bool may_share_exceptions();

/// A module's thread_local variables, as a new thread finds them.
struct thread_variables {
  const void* initial;
  std::size_t initial_bytes;
  std::size_t bytes;
  std::size_t alignment;
};
/// By the number that the dynamic linker gave the module; nullopt if it is not a module of a user.
std::optional<thread_variables> variables_of(std::size_t module);

/// Loads a module. Throws std::runtime_error with the reason if that is impossible.
std::vector<entry> load_module(const std::string& path);

/// Clients of a lock, or of a client, of a module.
model::client_maker clients_of(const entry& of, const model::client_size& size);

/// Ends the search: the code does something that the checker cannot follow.
[[noreturn]] void refuse(const std::string& cause, const std::string& remedy,
                         std::source_location where);
/// Returns what a search was ended for, and forgets it.
std::optional<std::string> refused();

/// Runs a search, and again when it has found out that a word is accessed in several sizes, or that
/// there is one more thread. Throws std::invalid_argument if the code does something that the
/// checker cannot follow.
template <class Search>
auto searched(const Search& search) {
  shadow::forget_mixed_sizes();
  forget_what_lasts();
  forget_spins();
  for (;;) {
    auto found = search();
    const bool begins_again = shadow::begins_again();
    if (auto reason = refused()) throw std::invalid_argument{*reason};
    if (!begins_again) return found;
  }
}

}  // namespace lockyard::plain
