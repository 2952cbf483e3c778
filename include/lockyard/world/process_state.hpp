// SPDX-License-Identifier: Apache-2.0
#pragma once

// The native world's state that exists once per process, even if several parts (executable, shared
// libraries, plug-ins) have these headers compiled into them:
// docs/decisions/0011-state-of-a-process.md.
//
// Every function here that names a variable of the part is hidden: the dynamic linker must not
// replace the function by another part's function.

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/detail/os/parts.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

namespace lockyard::inline v0::detail {

/// Names a type of state, the same for all compilers. Raise the first number whenever the layout or
/// the protocol of any such type changes: parts of different versions then share nothing.
class state_key {
 public:
  constexpr explicit state_key(std::string_view name) noexcept { add(1).add(name); }

  constexpr state_key& add(std::string_view text) noexcept {
    for (const char each : text) mix(static_cast<unsigned char>(each));
    return add(text.size());
  }
  constexpr state_key& add(std::uint64_t number) noexcept {
    for (int shift = 0; shift < 64; shift += 8) mix((number >> shift) & 0xFFU);
    return *this;
  }
  /// Adds the name of a world. A world without its own name gets the compiler's spelling of its
  /// type, so only parts from the same compiler share its state.
  template <class W>
  constexpr state_key& add_world() noexcept {
    if constexpr (requires { requires std::same_as<typename W::name_in_key::world, W>; }) {
      return add(W::name_in_key::text);
    } else {
      return add(std::string_view{__PRETTY_FUNCTION__});
    }
  }
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

 private:
  /// FNV-1a.
  constexpr void mix(std::uint64_t byte) noexcept { value_ = (value_ ^ byte) * 0x100'0000'01B3U; }

  std::uint64_t value_ = 0xCBF2'9CE4'8422'2325U;
};

/// How a type is kept. A type T specifies this by a member `static constexpr state_traits
/// process_traits`; a T without this member is named by the compiler's spelling.
struct state_traits {
  std::uint64_t key = 0;
  /// A new T is all zero bytes, and need not be written.
  bool starts_as_zeros = false;
  /// In the child of a fork the T is all zero bytes again, before any code runs there.
  bool is_wiped_on_fork = false;
  /// The program uses state_to_look_at(); costs each part a T that is never written.
  bool is_looked_at = false;
};

template <class T>
constexpr state_traits traits_of_state() noexcept {
  if constexpr (requires { T::process_traits; }) {
    return T::process_traits;
  } else {
    return {.key = state_key{__PRETTY_FUNCTION__}.value()};
  }
}

/// The state that the parts share: a list of the objects, each with its key. It has its own memory,
/// which stays until the process ends, because a part may be unloaded while other parts run.
///
/// The list only grows, by compare-exchange, and no lock protects it: a child that is forked while
/// another thread adds an object sees the list as it was before or after the addition. Its layout
/// is common to all parts of one version of part_root.
class state_registry {
 public:
  struct request {
    state_traits traits;
    std::uint64_t bytes;
    std::uint64_t alignment;
    void (*construct)(void* at) noexcept;
  };

  /// Returns the one object of that type; makes it if there is none yet.
  void* find_or_make(const request& wanted) noexcept {
    // order[look]: acquire; pairs [add]; the object is complete.
    object* first = first_.load(std::memory_order_acquire);
    object* made = nullptr;
    const object* last_seen = nullptr;
    for (;;) {
      for (object* each = first; each != last_seen; each = each->next) {
        if (!each->is(wanted)) continue;
        if (made != nullptr) discard(*made, wanted);
        return each->at;
      }
      last_seen = first;
      if (made == nullptr) made = &make(wanted);
      made->next = first;
      // order[add]: release; pairs [look, look_again]; publishes the object.
      // order[look_again]: acquire; pairs [add]; another thread's object is complete.
      if (first_.compare_exchange_weak(first, made, std::memory_order_release,
                                       std::memory_order_acquire)) {
        return made->at;
      }
    }
  }

  /// Wipes the objects that the kernel does not wipe; called by a handler of fork.
  void wipe_by_hand() noexcept {
    // relaxed(owner): the child has one thread.
    for (object* each = first_.load(std::memory_order_relaxed); each != nullptr;
         each = each->next) {
      if (each->needs_wipe != 0) std::memset(each->at, 0, each->bytes);
    }
  }
  [[nodiscard]] bool needs_handler() const noexcept {
    // relaxed(hint): the part that has made an object calls this afterwards.
    return needs_handler_.load(std::memory_order_relaxed);
  }

 private:
  struct object {
    object* next;
    void* at;
    std::uint64_t key;
    std::uint64_t bytes;
    std::uint64_t alignment;
    std::uint64_t needs_wipe;  ///< a handler must wipe the object

    [[nodiscard]] bool is(const request& wanted) const noexcept {
      return key == wanted.traits.key && bytes == wanted.bytes && alignment == wanted.alignment;
    }
  };

  static constexpr std::size_t room = std::size_t{1} << 14U;
  static constexpr std::size_t largest_inside = 2048;

  /// Returns memory from the rest of the room; null if the rest is too small.
  void* take(std::size_t bytes) noexcept {
    constexpr std::size_t line = arch::interference_size;
    const std::size_t rounded = (bytes + line - 1) / line * line;
    // relaxed(atomicity): no byte is allocated twice.
    const std::size_t begin = taken_.fetch_add(rounded, std::memory_order_relaxed);
    return begin + rounded <= sizeof room_ ? room_ + begin : nullptr;
  }
  void* take_or_map(std::size_t bytes) noexcept {
    void* const inside = bytes <= largest_inside ? take(bytes) : nullptr;
    return inside != nullptr ? inside : os::map_for_all_parts(bytes);
  }

  object& make(const request& wanted) noexcept {
    auto& made = *static_cast<object*>(take_or_map(sizeof(object)));
    made = {nullptr, nullptr, wanted.traits.key, wanted.bytes, wanted.alignment, 0};
    if (wanted.traits.is_wiped_on_fork) {
      made.at = os::map_for_all_parts(wanted.bytes);
      if (!os::wipe_on_fork(made.at, wanted.bytes)) {
        made.needs_wipe = 1;
        // relaxed(hint): the calling thread reads it afterwards.
        needs_handler_.store(true, std::memory_order_relaxed);
      }
    } else {
      made.at = take_or_map(wanted.bytes);
    }
    if (!wanted.traits.starts_as_zeros) wanted.construct(made.at);
    return made;
  }
  /// Discards an object because another thread was faster. Memory from the room stays unused.
  static void discard(const object& made, const request& wanted) noexcept {
    if (wanted.traits.is_wiped_on_fork || made.bytes > largest_inside) {
      os::unmap_for_all_parts(made.at, made.bytes);
    }
  }

  std::atomic<object*> first_{nullptr};
  std::atomic<std::size_t> taken_{0};
  std::atomic<bool> needs_handler_{false};
  alignas(arch::interference_size) std::byte room_[room];  // zero bytes, as they were mapped
};

/// Finds the registry of the process through the other parts, or makes it. Two parts that do this
/// at the same time agree by a compare-exchange on the root of the first part that both find.
[[gnu::visibility("hidden"), gnu::noinline, gnu::cold]] inline state_registry*
find_registry() noexcept {
  void* found = nullptr;
  bool sees_itself = false;
  os::visit_parts([&](os::part_root& each) {
    sees_itself = sees_itself || &each == &os::own_part_root;
    // order[found]: acquire; pairs [agree, know]; the registry is complete.
    if (found == nullptr) found = each.shared.load(std::memory_order_acquire);
    return false;
  });
  if (!sees_itself) {
    os::refuse(
        "a part of this program has lost its section .note.lockyard, so that locks which it shares "
        "with other parts would lose wake-ups; keep that section (linker script, objcopy, strip)");
  }
  if (found == nullptr) {
    auto* const made = ::new (os::map_for_all_parts(sizeof(state_registry))) state_registry;
    os::visit_parts([&](os::part_root& first) {
      // order[agree]: acq_rel; pairs [agree, agree_failed, found, known]; publishes the registry,
      // or another thread's is complete. order[agree_failed]: acquire; pairs [agree, know]; another
      // thread's is complete.
      if (first.shared.compare_exchange_strong(found, made, std::memory_order_acq_rel,
                                               std::memory_order_acquire)) {
        found = made;
      }
      return true;
    });
    if (found != made) os::unmap_for_all_parts(made, sizeof(state_registry));
  }
  // order[know]: release; pairs [agree_failed, found, known]; publishes the registry.
  os::own_part_root.shared.store(found, std::memory_order_release);
  return static_cast<state_registry*>(found);
}

[[gnu::visibility("hidden")]] inline state_registry& registry_of_process() noexcept {
  // order[known]: acquire; pairs [know, agree]; the registry is complete.
  void* const known = os::own_part_root.shared.load(std::memory_order_acquire);
  return known != nullptr ? *static_cast<state_registry*>(known) : *find_registry();
}

/// Finds the registry before the part's ordinary objects are constructed, and not at the first use:
/// the first use may hold a lock for which the holder of the loader's lock waits. Constructors of
/// another part may call into this part even earlier. Such a use finds the registry itself.
struct registry_finder {
  registry_finder() noexcept { registry_of_process(); }
};
[[gnu::visibility("hidden"), gnu::init_priority(101)]] inline registry_finder registry_at_load;

/// True if this part has registered a handler of fork.
[[gnu::visibility("hidden")]] inline constinit std::atomic<bool> part_has_handler{false};

[[gnu::visibility("hidden"), gnu::noinline, gnu::cold]] inline void* state_in_registry(
    const state_registry::request& wanted) noexcept {
  state_registry& registry = registry_of_process();
  void* const found = registry.find_or_make(wanted);
  // Each part has its own handler, which disappears when the part is unloaded.
  // relaxed(atomicity): one thread registers it.
  if (wanted.traits.is_wiped_on_fork && registry.needs_handler() &&
      !part_has_handler.exchange(true, std::memory_order_relaxed)) {
    const auto wipe = [] { registry_of_process().wipe_by_hand(); };
    if (!os::call_in_forked_child(wipe)) os::fatal("pthread_atfork", ENOMEM);
  }
  return found;
}

/// A part's pointers to the T of the process.
template <class T>
class [[gnu::visibility("hidden")]] state_of_part {
 public:
  static T& get() noexcept {
    if constexpr (traits_of_state<T>().is_looked_at) {
      static_cast<void>(&at_load);  // makes sure that it exists
    }
    // order[use]: acquire; pairs [learn]; the object is complete.
    T* const known = pointer.to.load(std::memory_order_acquire);
    return known != nullptr ? *known : learn();
  }
  static const T& look() noexcept {
    static_assert(traits_of_state<T>().is_looked_at && traits_of_state<T>().starts_as_zeros);
    static_cast<void>(&at_load);  // makes sure that it exists
    // relaxed(unpublished): the T was zero bytes before its address was known to any thread.
    return *view<T>.of.load(std::memory_order_relaxed);
  }

 private:
  /// In a cache line of its own: nothing is written there once the part is loaded.
  struct alignas(arch::interference_size) line {
    std::atomic<T*> to{nullptr};
  };
  template <class Looked>
  struct alignas(arch::interference_size) view_line {
    static inline constinit Looked nothing{};  // not const: then it would fill room in the file
    std::atomic<const Looked*> of{&nothing};
  };
  /// Sets `view` when the part is loaded; otherwise no call might ever set it.
  struct learner {
    learner() noexcept { learn(); }
  };

  [[gnu::noinline, gnu::cold]] static T& learn() noexcept {
    constexpr state_traits traits = traits_of_state<T>();
    static_assert(!traits.is_wiped_on_fork || traits.starts_as_zeros);
    const auto construct = [](void* at) noexcept { ::new (at) T{}; };
    auto* const found =
        static_cast<T*>(state_in_registry({traits, sizeof(T), alignof(T), construct}));
    // order[learn]: release; pairs [use]; the object is complete.
    pointer.to.store(found, std::memory_order_release);
    if constexpr (traits.is_looked_at) {
      // relaxed(unpublished): as in look().
      view<T>.of.store(found, std::memory_order_relaxed);
    }
    return *found;
  }

  static inline constinit line pointer{};
  template <class Looked>
  static inline constinit view_line<Looked> view{};
  static learner at_load;
};

template <class T>
typename state_of_part<T>::learner state_of_part<T>::at_load __attribute__((init_priority(101)));

/// Returns the one T of the process.
template <class T>
[[gnu::visibility("hidden")]] inline T& state_of_process() noexcept {
  return state_of_part<T>::get();
}

/// Returns the one T of the process, or a T in its initial state while this part has not used it
/// and the part's objects are not constructed yet: one load, and no branch. Must not be written.
template <class T>
[[gnu::visibility("hidden")]] inline const T& state_to_look_at() noexcept {
  return state_of_part<T>::look();
}

}  // namespace lockyard::inline v0::detail
