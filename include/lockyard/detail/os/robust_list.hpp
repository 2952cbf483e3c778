// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's list of the robust futexes that a thread holds (Documentation/locking/
// robust-futex-ABI.rst). When a thread ends, by a signal or otherwise, the kernel goes through its
// list, marks each word that has the thread's id, and wakes a waiter. A thread has one list, and
// the C library needs it for its own robust mutexes. So this code enters locks into the C library's
// list, in the C library's layout: the kernel allows one distance between link and word for all
// locks of a list, and the C library also follows the links to the previous lock.

#include <lockyard/detail/os/linux.hpp>

#include <linux/futex.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::detail::os {

/// A lock's place in the list: the addresses of `next` in the previous link and in the next link.
/// Written by the owner alone; valid in the owner's process alone.
struct robust_link {
  std::atomic<std::uintptr_t> previous{0};
  std::atomic<std::uintptr_t> next{0};
};

/// The list of the calling thread. The kernel reads it after any instruction, so the order of the
/// stores counts, but only for the compiler: the kernel reads on behalf of the same thread.
class robust_list {
 public:
  /// The distance from `next` of a link to the futex word, on which the C library and the kernel
  /// agree; 64-bit glibc.
  static constexpr long distance = -32;

  /// Says that the lock of this link is about to be acquired or released. Until `end`, the kernel
  /// also looks at its word.
  static void begin(robust_link& link) noexcept { set_pending(address_of(link.next)); }
  static void end() noexcept { set_pending(0); }

  /// Enters a lock that the thread has acquired. Precondition: between begin() and end().
  static void add(robust_link& link) noexcept {
    head& list = of_this_thread();
    // relaxed(owner): only this thread, and the kernel for it, uses the list.
    const std::uintptr_t first = list.first.load(std::memory_order_relaxed);
    // relaxed(owner): as above.
    link_at(first).previous.store(address_of(link.next), std::memory_order_relaxed);
    // relaxed(owner): as above.
    link.next.store(first, std::memory_order_relaxed);
    // relaxed(owner): as above.
    link.previous.store(address_of(list.first), std::memory_order_relaxed);
    compiler_barrier();
    // relaxed(owner): as above.
    list.first.store(address_of(link.next), std::memory_order_relaxed);
    compiler_barrier();
  }
  /// Removes a lock that the thread is about to release. Precondition: as add().
  static void remove(robust_link& link) noexcept {
    // relaxed(owner): as in add().
    const std::uintptr_t next = link.next.load(std::memory_order_relaxed);
    // relaxed(owner): as in add().
    const std::uintptr_t previous = link.previous.load(std::memory_order_relaxed);
    // relaxed(owner): as in add().
    link_at(next).previous.store(previous, std::memory_order_relaxed);
    // relaxed(owner): as in add().
    link_at(previous).next.store(next, std::memory_order_relaxed);
    compiler_barrier();
  }

 private:
  /// The kernel's robust_list_head, and before it the C library's pointer to the last link, which
  /// makes the head a link too.
  struct head {
    std::atomic<std::uintptr_t> previous{0};
    std::atomic<std::uintptr_t> first{0};
    long futex_offset = distance;
    std::atomic<std::uintptr_t> pending{0};
  };
  /// The kernel knows the head without the pointer before it.
  static constexpr std::size_t head_bytes = sizeof(head) - offsetof(head, first);
  /// A flag of the C library in addresses of links of priority-inheritance mutexes.
  static constexpr std::uintptr_t priority_inheritance = 1;

  template <class T>
  static std::uintptr_t address_of(const T& object) noexcept {
    return reinterpret_cast<std::uintptr_t>(&object);
  }
  static robust_link& link_at(std::uintptr_t next) noexcept {
    return *reinterpret_cast<robust_link*>((next & ~priority_inheritance) -
                                           offsetof(robust_link, next));
  }
  static void compiler_barrier() noexcept {
    // order[stepped]: seq_cst; pairs [kernel]; forbids the cycle in which the kernel, which may
    // read after each instruction on behalf of this thread, finds the mutex neither in the list nor
    // pending. For the compiler only.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  static void set_pending(std::uintptr_t next) noexcept {
    head& list = of_this_thread();
    compiler_barrier();
    // relaxed(owner): as in add().
    list.pending.store(next, std::memory_order_relaxed);
    compiler_barrier();
  }

  static head& of_this_thread() noexcept {
    head*& known = known_to_this_thread();
    if (known == nullptr) [[unlikely]]
      known = find();
    return *known;
  }
  static head*& known_to_this_thread() noexcept {
    static constinit thread_local head* known = nullptr;
    return known;
  }

  /// A forked child's thread has no list, unless the C library registers one for it. Telling the C
  /// library twice does no harm.
  static void look_again_in_child() noexcept {
    static constinit std::atomic<bool> does{false};
    // relaxed(hint): as above.
    if (does.load(std::memory_order_relaxed)) return;
    if (!call_in_forked_child([] { known_to_this_thread() = nullptr; })) {
      fatal("pthread_atfork", ENOMEM);
    }
    // relaxed(hint): as above.
    does.store(true, std::memory_order_relaxed);
  }

  [[gnu::noinline, gnu::cold]] static head* find() noexcept {
    static constinit thread_local head own{};
    std::uintptr_t found = 0;
    std::size_t bytes = 0;
    if (call(SYS_get_robust_list, 0, &found, &bytes) != 0) {
      refuse(
          "a shared_memory_mutex needs the kernel's robust list, which is unavailable here, so a "
          "process that ends could leave the mutex locked forever; allow get_robust_list and "
          "set_robust_list");
    }
    look_again_in_child();  // even if the list exists: another part may have registered its own
    if (found == 0) {       // a C library without robust mutexes in use
      // relaxed(owner): as in add().
      own.first.store(address_of(own.first), std::memory_order_relaxed);
      if (call(SYS_set_robust_list, &own.first, head_bytes) != 0) {
        refuse(
            "a shared_memory_mutex needs the kernel's robust list, and set_robust_list failed; "
            "allow it");
      }
      return &own;
    }
    auto* const theirs = reinterpret_cast<head*>(found - offsetof(head, first));
    if (theirs->futex_offset != distance) {
      refuse(
          "this C library lays out robust mutexes differently, so a shared_memory_mutex cannot "
          "share its list; use the C library's robust mutexes");
    }
    return theirs;
  }
};

}  // namespace lockyard::inline v0::detail::os
