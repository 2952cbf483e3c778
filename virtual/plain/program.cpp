// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "crash.hpp"
#include "hidden_state.hpp"
#include "library_calls.hpp"
#include "names.hpp"
#include "places.hpp"
#include "unseen.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <boost/core/demangle.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <typeinfo>

namespace lockyard::plain {

namespace {

/// A module's variables, with their values after static initialisation.
struct variables {
  std::byte* begin;
  std::vector<std::byte> values;
};

struct loaded_modules {
  std::vector<variables> data;
  std::uintptr_t base = 0;
  std::uintptr_t end = 0;
  bool shares_exceptions = false;
  bool hides_state = false;
  bool waits_for_data = false;
  std::size_t module = 0;  ///< the dynamic linker's number
  thread_variables per_thread{};
  bool is_silent = false;       ///< some code that is called may use memory unseen
  bool asks_for_locks = false;  ///< whether they are free
  bool has_signal_fences = false;
  std::optional<std::string> refused;
};

loaded_modules& loaded() {
  static loaded_modules all;
  return all;
}

/// 5 is for the words of threads (program_threads::new_word()).
enum class region : std::uint64_t { module = 1, heap = 2, stack = 3, other = 4, earlier_heap = 6 };

std::uint64_t name_in(region of, std::uint64_t offset) {
  return static_cast<std::uint64_t>(of) << 60U | offset;
}

int note_segments(dl_phdr_info* info, std::size_t /*size*/, void* wanted) {
  const auto* const map = static_cast<const link_map*>(wanted);
  if (info->dlpi_addr != map->l_addr || std::strcmp(info->dlpi_name, map->l_name) != 0) return 0;
  std::uintptr_t protected_begin = 0;
  std::uintptr_t protected_end = 0;
  std::size_t bytes = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& each = info->dlpi_phdr[i];
    if (each.p_type == PT_LOAD) bytes = std::max(bytes, each.p_vaddr + each.p_memsz);
    if (each.p_type == PT_TLS) {
      loaded().module = info->dlpi_tls_modid;
      loaded().per_thread = {
          .initial = reinterpret_cast<const void*>(info->dlpi_addr + each.p_vaddr),
          .initial_bytes = each.p_filesz,
          .bytes = each.p_memsz,
          .alignment = each.p_align};
    }
    if (each.p_type != PT_GNU_RELRO) continue;
    protected_begin = info->dlpi_addr + each.p_vaddr;
    protected_end = protected_begin + each.p_memsz;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& each = info->dlpi_phdr[i];
    if (each.p_type != PT_LOAD || (each.p_flags & PF_W) == 0) continue;
    std::uintptr_t begin = info->dlpi_addr + each.p_vaddr;
    const std::uintptr_t end = begin + each.p_memsz;
    if (begin >= protected_begin && begin < protected_end) begin = std::min(end, protected_end);
    auto* const first = reinterpret_cast<std::byte*>(begin);
    loaded().data.push_back({first, {first, first + (end - begin)}});
  }
  loaded().base = info->dlpi_addr;
  loaded().end = info->dlpi_addr + bytes;
  note_module(map->l_name, info->dlpi_addr, bytes);
  return 1;
}

/// A thrown exception that nothing catches, and what else the C++ library ends a program for.
[[noreturn]] void terminate() {
  if (!is_active()) std::abort();
  execution& now = *execution::current();
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (type == nullptr) now.fail(model::verdict::assertion, "std::terminate() is called", {});
  const thread_storage& mine = worker::mine().storage[now.self()];
  const bool knows_place = mine.threw_type != nullptr && *mine.threw_type == *type;
  now.fail(model::verdict::assertion,
           "nothing catches an exception of type " + boost::core::demangle(type->name()),
           knows_place ? place_of(mine.threw) : std::source_location{});  // or the library threw it
}

/// A lock between two counters, as in model::exclusion; or a client of the module's.
class module_client : public model::client {
 public:
  module_client(const entry& of, const model::client_size& size) : of_{of}, size_{size} {
    name_object_as(of.type, of.held);
    if (loaded().hides_state) execution::current()->note_unseen();
    library_calls::begin_execution();
    worker& mine = worker::mine();
    mine.begin();
    at_ = mine.heap.take(0, of.size, of.alignment, {}, {});
    if (at_ == nullptr)
      refuse(std::string{of.name} + " is larger than 64 MiB", "make it smaller", {});
    mine.object = reinterpret_cast<std::uintptr_t>(at_);
    mine.data = {reinterpret_cast<std::uintptr_t>(&first_),
                 reinterpret_cast<std::uintptr_t>(&second_ + 1)};
    mine.threads.begin(of_.program != nullptr);
    if (loaded().is_silent) execution::current()->leave_nothing_out();
    if (of_.make != nullptr) of_.make(at_, threads());
    library_calls::ignore();
  }
  module_client(const module_client&) = delete;
  module_client& operator=(const module_client&) = delete;
  /// Called at the end of each execution, of those that are cut off too.
  ~module_client() override {
    if (of_.program == nullptr || worker::mine().threads.has_others()) library_calls::count();
    using library_calls::unseen;
    if (library_calls::were_made(unseen::state)) of_execution_.note_unseen();
    if (library_calls::were_made(unseen::memory)) of_execution_.leave_nothing_out();
  }

  [[nodiscard]] unsigned threads() const override {
    if (of_.program != nullptr) return program_threads::count;
    return of_.thread == nullptr ? size_.threads : of_.threads;
  }

  void thread(unsigned index) override {
    worker& mine = worker::mine();
    if (of_.program != nullptr) return mine.threads.run(index, of_.program);
    clear_dead_stack();  // states of loops hold what earlier executions have left there
    if (of_.thread == nullptr) {
      contend(index);
    } else {
      of_.thread(at_, index);
    }
    mine.storage[index].end(mine.keys);
    mine.end_variables_of(index);
    mine.locks.check_end_of_thread();
  }

  void finish() override {
    if (of_.finish != nullptr) of_.finish(at_);
    if (of_.lock == nullptr) return;
    model::require(first_.read() == second_.read(), "both counters agree");
    const unsigned writers = has_readers() ? 1 : size_.threads;
    const unsigned all = writers * size_.acquisitions;
    const bool may_be_fewer = may_fail(has_readers() ? 0 : size_.threads - 1);
    const unsigned least = may_be_fewer ? all - size_.acquisitions : all;
    model::require(first_.read() >= least && first_.read() <= all, "no update is lost");
  }

 private:
  [[nodiscard]] bool has_readers() const { return of_.lock_shared != nullptr; }
  [[nodiscard]] bool reads(unsigned index) const { return has_readers() && index != 0; }
  using attempt = bool (*)(void* at, unsigned thread);
  /// Returns the attempt of a thread that makes one: the last thread, and the writer among readers.
  [[nodiscard]] attempt attempt_of(unsigned index) const {
    const bool is_one = index + 1 == size_.threads || (has_readers() && index == 0);
    if (!is_one || (!size_.tries && !size_.timed)) return nullptr;
    if (reads(index)) return size_.tries ? of_.try_lock_shared : of_.try_lock_shared_for;
    return size_.tries ? of_.try_lock : of_.try_lock_for;
  }
  [[nodiscard]] bool may_fail(unsigned index) const { return attempt_of(index) != nullptr; }

  /// False if the lock was not acquired.
  bool acquire(unsigned index) {
    if (const attempt made = attempt_of(index)) return made(at_, index);
    (reads(index) ? of_.lock_shared : of_.lock)(at_, index);
    return true;
  }

  void contend(unsigned index) {
    for (unsigned i = 0; i < size_.acquisitions; ++i) {
      if (!acquire(index)) continue;
      if (reads(index)) {
        model::require(first_.read() == second_.read(), "a reader sees a whole update");
        of_.unlock_shared(at_, index);
        continue;
      }
      first_.write(first_.read() + 1);
      second_.write(second_.read() + 1);
      const bool destroys = size_.destroys && first_.read() == size_.threads * size_.acquisitions;
      of_.unlock(at_, index);
      if (!destroys) continue;
      of_.end(at_);
      const auto begin = reinterpret_cast<std::uintptr_t>(at_);
      worker::mine().memory.end(begin, begin + of_.size, std::source_location::current());
    }
  }

  const entry& of_;
  model::client_size size_;
  execution& of_execution_{*execution::current()};
  void* at_;
  model::plain_data<unsigned> first_{0};
  model::plain_data<unsigned> second_{0};
};

}  // namespace

std::uint64_t name_of(std::uintptr_t at) {
  if (is_of_module(at)) return name_in(region::module, at - loaded().base);
  if (const auto offset = worker::mine().heap.offset_of(at)) return name_in(region::heap, *offset);
  const auto on_stack = execution::current()->find_on_stack(reinterpret_cast<const void*>(at));
  if (on_stack) {
    return name_in(region::stack, std::uint64_t{on_stack->thread} << 32U | on_stack->from_top);
  }
  if (const auto offset = earlier_heap().offset_of(at))
    return name_in(region::earlier_heap, *offset);
  return name_in(region::other, at);
}

bool is_of_module(std::uintptr_t at) {
  return loaded().base <= at && at < loaded().end;
}

bool may_wait_for_data() {
  return loaded().waits_for_data;
}

bool may_try_locks() {
  return loaded().asks_for_locks;
}

bool has_signal_fences() {
  return loaded().has_signal_fences;
}

bool may_share_exceptions() {
  return loaded().shares_exceptions;
}

arena& earlier_heap() {
  static arena heap;
  return heap;
}

worker& worker::mine() {
  thread_local worker self;
  return self;
}

void worker::begin() {
  prepare_for_crashes();
  memory.reset();
  heap.reset();
  for (spins& each : loops) each.reset();
  for (thread_storage& each : storage) each.reset();
  keys.clear();
  forget_exceptions();
  at_exit.reset();
  locks.reset();
  barriers.reset();
  for (const variables& each : loaded().data) {
    std::memcpy(each.begin, each.values.data(), each.values.size());
  }
}

std::vector<entry> load_module(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error{dlerror()};
  const auto* const entries = static_cast<const entry*>(dlsym(library, "lockyard_plain_entries"));
  const auto* const count =
      static_cast<const std::size_t*>(dlsym(library, "lockyard_plain_entry_count"));
  if (entries == nullptr || count == nullptr) {
    throw std::runtime_error{path + " is not a module of the checker"};
  }
  link_map* map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map));
  const unknown_functions unwatched = watch_unknown_functions(*map);
  dl_iterate_phdr(&note_segments, map);
  loaded().hides_state = unwatched.may_hide_state;
  exit_calls::add_last(*map);
  if (!may_end_statics(map->l_ld)) exit_calls::forget_initial();
  loaded().asks_for_locks = asks_for_locks(map->l_ld);
  loaded().has_signal_fences = has_signal_fences(map->l_ld);
  loaded().shares_exceptions = shares_exceptions(map->l_ld);
  if (const auto used = earlier_heap().used(0); !used.empty()) {
    loaded().data.push_back({used.data(), {used.begin(), used.end()}});
  }
  std::set_terminate(&terminate);
  const account seen = read_names(path + ".members", loaded().base);
  if (seen == account::partial) loaded().hides_state = true;
  loaded().is_silent = seen != account::complete || unwatched.may_use_memory;
  loaded().waits_for_data = seen == account::complete && !calls_unknown_functions(map->l_ld) &&
                            !may_hide_state(map->l_ld) && !loaded().asks_for_locks;
  execution::name_of_memory = &name_of_memory;
  execution::take_back = [] {
    static_cast<void>(refused());  // the search decides whether it comes first
    return shadow::has_to_begin_again();
  };
  execution::text_of_value = &text_of_value;
  std::vector<entry> found{entries, entries + *count};
  std::erase_if(found, [](const entry& each) { return each.name == nullptr; });
  return found;
}

model::client_maker clients_of(const entry& of, const model::client_size& size) {
  if (of.lock != nullptr && size.tries && !of.offers_try()) {
    throw std::invalid_argument{std::string{of.name} + " has no try_lock()"};
  }
  if (of.lock != nullptr && size.timed && !of.offers_timed()) {
    throw std::invalid_argument{std::string{of.name} + " has no try_lock_for()"};
  }
  return [of, size] { return std::make_unique<module_client>(of, size); };
}

std::optional<thread_variables> variables_of(std::size_t module) {
  if (module == 0 || module != loaded().module) return std::nullopt;
  return loaded().per_thread;
}

void refuse(const std::string& cause, const std::string& remedy, std::source_location where) {
  const std::string place = where.line() == 0 ? std::string{}
                                              : model::file_name(where.file_name()) + ":" +
                                                    std::to_string(where.line()) + ": ";
  loaded().refused = place + cause + ", so nothing was checked; " + remedy;
  execution::current()->fail(model::verdict::assertion, cause, where);
}

std::optional<std::string> refused() {
  return std::exchange(loaded().refused, std::nullopt);
}

}  // namespace lockyard::plain
