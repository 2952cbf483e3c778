// SPDX-License-Identifier: Apache-2.0

// The functions that code which was compiled with -fsanitize=thread calls for plain accesses, and
// when a function begins or ends.

#include "shared_frames.hpp"
#include "wrapped.hpp"

#include <mutex>

namespace lockyard::plain {

namespace {

enum class use : bool { read, write };

/// libstdc++'s own variables of a thread, by which std::call_once hands its callable over. All
/// threads of an execution are one thread of the system (once.cpp).
bool is_of_library(std::uintptr_t at) {
  return at == reinterpret_cast<std::uintptr_t>(&std::__once_callable) ||
         at == reinterpret_cast<std::uintptr_t>(&std::__once_call);
}

/// The frame is one of a function that the module's code has called: nothing of the module's lies
/// below it, but memory that its function has taken since its beginning (alloca) lies above it.
[[gnu::noinline]] void access(const volatile void* address, std::size_t size, use how,
                              const void* pc, const void* frame) {
  if (!is_active() || size == 0) return;
  worker& mine = worker::mine();
  mine.memory.functions.reach(reinterpret_cast<std::uintptr_t>(frame));
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (is_of_library(at)) return;
  if (how == use::read) {
    mine.loop().note_plain_use(at, size, access_kind::read);
    mine.memory.read_plain(at, size, place_of(pc));
  } else {
    mine.loop().note_plain_use(at, size, access_kind::write);
    switch (mine.memory.write_plain(at, size, place_of(pc))) {
      case shadow::target::variable:
        if (frames().are_changed(at, size)) mine.loop().rewrite(at, size);
        break;
      case shadow::target::data: mine.loop().rewrite(at, size); break;
      case shadow::target::word: mine.loop().act(); break;
    }
  }
  clear_dead_stack();
}

}  // namespace

void read_bytes(const void* address, std::size_t size, const void* pc) {
  access(address, size, use::read, pc, __builtin_frame_address(0));
}

void write_bytes(const void* address, std::size_t size, const void* pc) {
  access(address, size, use::write, pc, __builtin_frame_address(0));
}

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the compiler's.
#define LOCKYARD_PLAIN(size)                                             \
  void __tsan_read##size(void* at) {                                     \
    lockyard::plain::read_bytes(at, size, __builtin_return_address(0));  \
  }                                                                      \
  void __tsan_write##size(void* at) {                                    \
    lockyard::plain::write_bytes(at, size, __builtin_return_address(0)); \
  }                                                                      \
  void __tsan_unaligned_read##size(void* at) {                           \
    lockyard::plain::read_bytes(at, size, __builtin_return_address(0));  \
  }                                                                      \
  void __tsan_unaligned_write##size(void* at) {                          \
    lockyard::plain::write_bytes(at, size, __builtin_return_address(0)); \
  }                                                                      \
  void __tsan_volatile_read##size(void* at) {                            \
    lockyard::plain::read_bytes(at, size, __builtin_return_address(0));  \
  }                                                                      \
  void __tsan_volatile_write##size(void* at) {                           \
    lockyard::plain::write_bytes(at, size, __builtin_return_address(0)); \
  }                                                                      \
  void __tsan_unaligned_volatile_read##size(void* at) {                  \
    lockyard::plain::read_bytes(at, size, __builtin_return_address(0));  \
  }                                                                      \
  void __tsan_unaligned_volatile_write##size(void* at) {                 \
    lockyard::plain::write_bytes(at, size, __builtin_return_address(0)); \
  }

extern "C" {
LOCKYARD_PLAIN(1)
LOCKYARD_PLAIN(2)
LOCKYARD_PLAIN(4)
LOCKYARD_PLAIN(8)
LOCKYARD_PLAIN(16)

void __tsan_read_range(void* at, std::size_t size) {
  lockyard::plain::read_bytes(at, size, __builtin_return_address(0));
}
void __tsan_write_range(void* at, std::size_t size) {
  lockyard::plain::write_bytes(at, size, __builtin_return_address(0));
}
void __tsan_vptr_read(void** at) {
  lockyard::plain::read_bytes(at, sizeof *at, __builtin_return_address(0));
}
/// A constructor that writes the value again changes nothing for other threads.
void __tsan_vptr_update(void** at, void* value) {
  const auto how = *at == value ? &lockyard::plain::read_bytes : &lockyard::plain::write_bytes;
  how(at, sizeof *at, __builtin_return_address(0));
}
void __tsan_init() {}
/// The module's code keeps frame pointers, so the frame above this one is the function's.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-address"
void __tsan_func_entry(void* /*caller*/) {
  if (!lockyard::plain::is_active()) return;
  lockyard::plain::enter_function(__builtin_frame_address(1), __builtin_frame_address(0),
                                  __builtin_return_address(0));
}
void __tsan_func_exit() {
  if (!lockyard::plain::is_active()) return;
  lockyard::plain::leave_function(__builtin_frame_address(1), LOCKYARD_HERE);
}
#pragma GCC diagnostic pop
}
// NOLINTEND(bugprone-reserved-identifier)
