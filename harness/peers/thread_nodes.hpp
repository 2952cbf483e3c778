// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes queue locks whose callers pass a node usable without passing one.

#include <lockyard/detail/arch.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace lockyard::inline v0::peers {

/// Each thread's nodes for the locks of one kind that it holds or waits for. They are stored with
/// the thread, so that the lock keeps its size and only its library writes to it. Costs a look at
/// the first place and a store at each end of a critical section; each further lock that the thread
/// holds costs another look. A thread that acquires more than `places` locks at once ends the
/// process.
template <class Node>
class thread_nodes {
 public:
  // Bytes, because a thread_local with a destructor is checked before each use for whether it has
  // been constructed.
  class alignas(detail::arch::interference_size) place {
   public:
    Node& node() noexcept { return *std::launder(reinterpret_cast<Node*>(node_)); }

   private:
    friend thread_nodes;
    const void* lock_;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): a node may be a pointer
    alignas(Node) std::byte node_[sizeof(Node)];
  };

  /// Returns a place with a new node for this lock.
  static place& take(const void* lock) noexcept {
    place& free = of(nullptr);
    free.lock_ = lock;
    ::new (static_cast<void*>(free.node_)) Node{};
    return free;
  }
  /// Returns the place of the node with which this thread acquired the lock.
  static place& of(const void* lock) noexcept {
    for (place& each : all_) {
      if (each.lock_ == lock) [[likely]]
        return each;
    }
    std::abort();
  }
  static void give_back(place& used) noexcept {
    used.node().~Node();
    used.lock_ = nullptr;
  }

 private:
  static constexpr std::size_t places = 8;
  static inline constinit thread_local std::array<place, places> all_{};
};

}  // namespace lockyard::inline v0::peers
