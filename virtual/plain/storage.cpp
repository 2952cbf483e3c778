// SPDX-License-Identifier: Apache-2.0

// Memory that a module's code takes and gives back: the heap, thread_local variables, and the C
// functions that copy and fill memory.

#include "wrapped.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace lockyard::plain {

namespace {

void* take(std::size_t bytes, std::size_t alignment, std::source_location where) {
  void* const object = worker::mine().heap.take(now().self(), bytes, alignment, where);
  if (object == nullptr)
    refuse("a thread takes more than 4 MiB of memory", "give it less to do", where);
  return object;
}

void release(void* object, std::source_location where) {
  if (object == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(object);
  worker& mine = worker::mine();
  if (!mine.heap.offset_of(begin)) return;  // from before the execution
  mine.memory.end(begin, begin + std::max<std::size_t>(arena::size_of(object), 1), where);
  mine.loop().act();
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
    std::memcpy(block, of.initial, of.initial_bytes);
  }
  return block;
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern "C" {

using lockyard::plain::is_active;

void* __wrap_malloc(std::size_t bytes) {
  if (!is_active()) return std::malloc(bytes);
  return lockyard::plain::take(bytes, lockyard::plain::usual, LOCKYARD_HERE);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  if (!is_active()) return std::calloc(count, bytes);
  return lockyard::plain::take(count * bytes, lockyard::plain::usual, LOCKYARD_HERE);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (!is_active()) return std::aligned_alloc(alignment, bytes);
  return lockyard::plain::take(bytes, alignment, LOCKYARD_HERE);
}
void __wrap_free(void* object) {
  if (!is_active()) return std::free(object);
  lockyard::plain::release(object, LOCKYARD_HERE);
}
void* __wrap_realloc(void* object, std::size_t bytes) {
  if (!is_active()) return std::realloc(object, bytes);
  const auto where = LOCKYARD_HERE;
  void* const moved = lockyard::plain::take(bytes, lockyard::plain::usual, where);
  if (object == nullptr) return moved;
  const std::size_t common = std::min(bytes, lockyard::plain::arena::size_of(object));
  lockyard::plain::read_bytes(object, common, __builtin_return_address(0));
  lockyard::plain::write_bytes(moved, common, __builtin_return_address(0));
  std::memcpy(moved, object, common);
  lockyard::plain::release(object, where);
  return moved;
}
int __wrap_posix_memalign(void** object, std::size_t alignment, std::size_t bytes) {
  if (!is_active()) return posix_memalign(object, alignment, bytes);
  lockyard::plain::write_bytes(object, sizeof *object, __builtin_return_address(0));
  *object = lockyard::plain::take(bytes, alignment, LOCKYARD_HERE);
  return 0;
}

// The forms of operator new and of operator delete: what each takes besides the size or the object,
// and what it does outside an execution.
#define LOCKYARD_NEW(name, form, alignment, ...)                   \
  void* __wrap_##name(std::size_t bytes __VA_ARGS__) {             \
    if (!is_active()) return form;                                 \
    return lockyard::plain::take(bytes, alignment, LOCKYARD_HERE); \
  }
#define LOCKYARD_DELETE(name, form, ...)             \
  void __wrap_##name(void* object __VA_ARGS__) {     \
    if (!is_active()) return form;                   \
    lockyard::plain::release(object, LOCKYARD_HERE); \
  }
LOCKYARD_NEW(_Znwm, ::operator new(bytes), lockyard::plain::usual)
LOCKYARD_NEW(_Znam, ::operator new(bytes), lockyard::plain::usual)
LOCKYARD_NEW(_ZnwmRKSt9nothrow_t, std::malloc(bytes), lockyard::plain::usual, , const void*)
LOCKYARD_NEW(_ZnamRKSt9nothrow_t, std::malloc(bytes), lockyard::plain::usual, , const void*)
LOCKYARD_NEW(_ZnwmSt11align_val_t, ::operator new(bytes, std::align_val_t{alignment}), alignment, ,
             std::size_t alignment)
LOCKYARD_NEW(_ZnamSt11align_val_t, ::operator new(bytes, std::align_val_t{alignment}), alignment, ,
             std::size_t alignment)
LOCKYARD_DELETE(_ZdlPv, ::operator delete(object))
LOCKYARD_DELETE(_ZdaPv, ::operator delete(object))
LOCKYARD_DELETE(_ZdlPvm, ::operator delete(object), , std::size_t)
LOCKYARD_DELETE(_ZdaPvm, ::operator delete(object), , std::size_t)
LOCKYARD_DELETE(_ZdlPvRKSt9nothrow_t, std::free(object), , const void*)
LOCKYARD_DELETE(_ZdaPvRKSt9nothrow_t, std::free(object), , const void*)
LOCKYARD_DELETE(_ZdlPvSt11align_val_t, ::operator delete(object, std::align_val_t{alignment}), ,
                std::size_t alignment)
LOCKYARD_DELETE(_ZdaPvSt11align_val_t, ::operator delete(object, std::align_val_t{alignment}), ,
                std::size_t alignment)
LOCKYARD_DELETE(_ZdlPvmSt11align_val_t, ::operator delete(object, std::align_val_t{alignment}), ,
                std::size_t, std::size_t alignment)
LOCKYARD_DELETE(_ZdaPvmSt11align_val_t, ::operator delete(object, std::align_val_t{alignment}), ,
                std::size_t, std::size_t alignment)

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  lockyard::plain::read_bytes(from, bytes, __builtin_return_address(0));
  lockyard::plain::write_bytes(to, bytes, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  lockyard::plain::read_bytes(from, bytes, __builtin_return_address(0));
  lockyard::plain::write_bytes(to, bytes, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  lockyard::plain::write_bytes(to, bytes, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}

extern void* __tls_get_addr(const lockyard::plain::variable_place* which);

void* __wrap___tls_get_addr(const lockyard::plain::variable_place* which) {
  const auto variables = lockyard::plain::variables_of(which->module);
  if (!is_active() || !variables) return __tls_get_addr(which);
  auto* const block = lockyard::plain::block_of(*variables, LOCKYARD_HERE);
  return static_cast<std::byte*>(block) + which->offset;
}
int __wrap___cxa_thread_atexit(void (*end)(void*), void* object, void* /*module*/) {
  if (!is_active()) return 0;
  lockyard::plain::worker::mine().storage[lockyard::plain::now().self()].destructors.emplace_back(
      end, object);
  return 0;
}
}
// NOLINTEND(bugprone-reserved-identifier)
