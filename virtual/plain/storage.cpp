// SPDX-License-Identifier: Apache-2.0

// Memory that a module's code takes and gives back: the heap, and thread_local variables.

#include "wrapped.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace lockyard::plain {

namespace {

void* take(std::size_t bytes, std::size_t alignment, std::source_location where) {
  void* const object =
      worker::mine().heap.take(now().self(), bytes, alignment, where, now().here_and_now());
  if (object == nullptr)
    refuse("a thread takes more than 64 MiB of memory", "give it less to do", where);
  return object;
}

/// Memory for the code at `pc`; outside of an execution that is static initialisation.
void* take_for(std::size_t bytes, std::size_t alignment, const void* pc) {
  if (is_active()) return take(bytes, alignment, place_of(pc));
  void* const object = earlier_heap().take(0, bytes, alignment, {}, {});
  if (object == nullptr) {
    // Between the dynamic linker's frames, through which no exception can pass.
    std::fputs("static initialisation takes more than 64 MiB of memory; make its objects smaller\n",
               stderr);
    std::_Exit(1);
  }
  return object;
}

[[noreturn]] void fail_to_free(const std::string& what, std::source_location where) {
  now().fail(model::verdict::lifetime, what, where);
}

void release(void* object, std::source_location where) {
  if (object == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(object);
  worker& mine = worker::mine();
  for (const arena* const heap : {&mine.heap, &earlier_heap()}) {
    if (!heap->offset_of(begin)) continue;
    const auto found = heap->find(begin);
    if (!found || found->begin != begin)
      fail_to_free("an address is freed at which no heap object begins", where);
    if (!now().comes_after(found->made)) now().note_unordered();  // it may not exist yet
    if (const auto by = mine.memory.ended_by(begin))
      fail_to_free("a heap object is freed a second time" + *by, where);
    mine.memory.end(begin, begin + std::max<std::size_t>(found->bytes, 1), where);
    mine.loop().act();
    return;
  }
  if (now().find_on_stack(object) || is_of_module(begin))
    fail_to_free("memory is freed that is not on the heap", where);
}

constexpr std::size_t usual = alignof(std::max_align_t);

/// The argument of __tls_get_addr, by which code in a shared object finds its thread_local
/// variables.
struct variable_place {
  std::size_t module;
  std::size_t offset;
};

void* block_of(const thread_variables& of, std::source_location where) {
  void*& block = worker::mine().storage[now().self()].block;
  if (block == nullptr) {
    block = take(of.bytes, of.alignment, where);
    std::memset(block, 0, of.bytes);
    std::memcpy(block, of.initial, of.initial_bytes);
  }
  return block;
}

}  // namespace

void worker::end_variables_of(unsigned thread) {
  void* const block = storage[thread].block;
  if (block == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  memory.end(begin, begin + arena::size_of(block), {});
}

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

using lockyard::plain::is_active;

void* __wrap_malloc(std::size_t bytes) {
  return lockyard::plain::take_for(bytes, lockyard::plain::usual, LOCKYARD_PC);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return nullptr;
  return std::memset(lockyard::plain::take_for(all, lockyard::plain::usual, LOCKYARD_PC), 0, all);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return lockyard::plain::take_for(bytes, alignment, LOCKYARD_PC);
}
void __wrap_free(void* object) {
  if (!is_active()) return;
  lockyard::plain::release(object, LOCKYARD_HERE);
}
char* __wrap_strdup(const char* text) {
  using namespace lockyard::plain;
  const std::size_t bytes = read_text(text, without_limit, LOCKYARD_PC) + 1;
  void* const copy = take_for(bytes, usual, LOCKYARD_PC);
  write_bytes(copy, bytes, LOCKYARD_PC);
  return static_cast<char*>(std::memcpy(copy, text, bytes));
}
void* __wrap_realloc(void* object, std::size_t bytes) {
  void* const moved = lockyard::plain::take_for(bytes, lockyard::plain::usual, LOCKYARD_PC);
  if (object == nullptr) return moved;
  const std::size_t common = std::min(bytes, lockyard::plain::arena::size_of(object));
  lockyard::plain::read_bytes(object, common, LOCKYARD_PC);
  lockyard::plain::write_bytes(moved, common, LOCKYARD_PC);
  std::memcpy(moved, object, common);
  if (is_active()) lockyard::plain::release(object, LOCKYARD_HERE);
  return moved;
}
int __wrap_posix_memalign(void** object, std::size_t alignment, std::size_t bytes) {
  lockyard::plain::write_bytes(object, sizeof *object, LOCKYARD_PC);
  *object = lockyard::plain::take_for(bytes, alignment, LOCKYARD_PC);
  return 0;
}

// The forms of operator new and of operator delete: what each takes besides the size or the object.
#define LOCKYARD_NEW(name, alignment, ...)                           \
  void* __wrap_##name(std::size_t bytes __VA_ARGS__) {               \
    return lockyard::plain::take_for(bytes, alignment, LOCKYARD_PC); \
  }
#define LOCKYARD_DELETE(name, ...)                                    \
  void __wrap_##name(void* object __VA_ARGS__) {                      \
    if (is_active()) lockyard::plain::release(object, LOCKYARD_HERE); \
  }
LOCKYARD_NEW(_Znwm, lockyard::plain::usual)
LOCKYARD_NEW(_Znam, lockyard::plain::usual)
LOCKYARD_NEW(_ZnwmRKSt9nothrow_t, lockyard::plain::usual, , const void*)
LOCKYARD_NEW(_ZnamRKSt9nothrow_t, lockyard::plain::usual, , const void*)
LOCKYARD_NEW(_ZnwmSt11align_val_t, alignment, , std::size_t alignment)
LOCKYARD_NEW(_ZnamSt11align_val_t, alignment, , std::size_t alignment)
LOCKYARD_DELETE(_ZdlPv)
LOCKYARD_DELETE(_ZdaPv)
LOCKYARD_DELETE(_ZdlPvm, , std::size_t)
LOCKYARD_DELETE(_ZdaPvm, , std::size_t)
LOCKYARD_DELETE(_ZdlPvRKSt9nothrow_t, , const void*)
LOCKYARD_DELETE(_ZdaPvRKSt9nothrow_t, , const void*)
LOCKYARD_DELETE(_ZdlPvSt11align_val_t, , std::size_t)
LOCKYARD_DELETE(_ZdaPvSt11align_val_t, , std::size_t)
LOCKYARD_DELETE(_ZdlPvmSt11align_val_t, , std::size_t, std::size_t)
LOCKYARD_DELETE(_ZdaPvmSt11align_val_t, , std::size_t, std::size_t)

extern void* __tls_get_addr(const lockyard::plain::variable_place* which);

void* __wrap___tls_get_addr(const lockyard::plain::variable_place* which) {
  const auto variables = lockyard::plain::variables_of(which->module);
  if (!is_active() || !variables) return __tls_get_addr(which);
  auto* const block = lockyard::plain::block_of(*variables, LOCKYARD_HERE);
  return static_cast<std::byte*>(block) + which->offset;
}
/// Called by the promises and tasks that std/future changes.
void lockyard_at_thread_exit(void (*run)(void*), void* object) noexcept {
  if (!is_active()) return;
  lockyard::plain::thread_storage::at_end(
      {.run = [](void* called, void* with,
                 const void*) { reinterpret_cast<void (*)(void*)>(called)(with); },
       .first = reinterpret_cast<void*>(run),
       .second = object,
       .pc = LOCKYARD_PC});
}
int __wrap___cxa_thread_atexit(void (*end)(void*), void* object, void* /*module*/) {
  if (!is_active()) return 0;
  lockyard::plain::worker::mine().storage[lockyard::plain::now().self()].destructors.emplace_back(
      end, object);
  lockyard::plain::worker::mine().loop().note_hidden_change();
  return 0;
}
}
// NOLINTEND(bugprone-reserved-identifier)
