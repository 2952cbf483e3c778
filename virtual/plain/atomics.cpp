// SPDX-License-Identifier: Apache-2.0

// The functions that code which was compiled with -fsanitize=thread calls for atomic accesses. Each
// becomes an operation of the engine. Outside an execution they do what their names say.

#include "membarrier.hpp"
#include "places.hpp"
#include "program.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>

namespace lockyard::plain {

namespace {

execution& now() {
  return *execution::current();
}

std::memory_order order_of(int written) {
  return static_cast<std::memory_order>(written & 0xff);  // the rest are hints
}

wide mask(unsigned size) {
  return size >= sizeof(wide) ? ~wide{0} : (wide{1} << (8 * size)) - 1;
}

wide get_part(wide whole, const part& at, unsigned size) {
  return (whole >> (8 * at.shift)) & mask(size);
}

wide put_part(wide whole, const part& at, unsigned size, wide value) {
  const wide bits = mask(size) << (8 * at.shift);
  return (whole & ~bits) | ((value << (8 * at.shift)) & bits);
}

/// A read-modify-write of a part of a word.
struct part_change {
  part at;
  unsigned size;
  wide operand;
  wide (*apply)(wide found, wide operand);

  [[nodiscard]] std::uint64_t of(std::uint64_t stored) const {
    const wide whole = decode(stored, at.unit);
    return encode(put_part(whole, at, size, apply(get_part(whole, at, size), operand)), at.unit);
  }
  static std::uint64_t applied(std::uint64_t found, std::uint64_t self) {
    return reinterpret_cast<const part_change*>(self)->of(found);
  }
  /// Whether the result depends on what the part held; an exchange may be a first store.
  [[nodiscard]] bool depends_on_found() const {
    return apply(0, operand) != apply(mask(size), operand);
  }
  [[nodiscard]] model::change change() const {
    return {.apply = &applied, .operand = reinterpret_cast<std::uint64_t>(this)};
  }
};

struct site {
  const void* pc;
  std::source_location where;
  std::uintptr_t at;
  unsigned size;
};

part word_of(const site& call) {
  const part found = worker::mine().memory.word_at(call.at, call.size, call.where);
  if (found.unit != call.size) now().note_cap(model::cap::mixed_sizes);
  return found;
}

part word_to_change(const site& call) {
  const part found = word_of(call);
  worker::mine().locks.note_other_change(call.at - found.shift);
  return found;
}

[[gnu::noinline]] wide load(const site& call, std::memory_order order) {
  const part at = word_of(call);
  worker::mine().loop().look(call.pc, call.at, call.where);
  const std::uint64_t found = now().load(at.word, order, call.where);
  at.check_written(found, call.where);
  return get_part(decode(worker::mine().loop().note_read(at.word, found), at.unit), at, call.size);
}

[[gnu::noinline]] void store(const site& call, wide value, std::memory_order order) {
  const part at = word_to_change(call);
  worker::mine().loop().act();
  if (at.unit == call.size) {
    now().store(at.word, encode(value, at.unit), order, call.where);
  } else {
    const part_change by{at, call.size, value, [](wide, wide operand) { return operand; }};
    now().exchange_by(at.word, by.change(), order, call.where);
  }
  clear_dead_stack();
}

/// Waits until one of the words has another value.
void await_change(std::span<const spins::word_value> of, std::source_location where) {
  note_spin(where);
  std::vector<model::look> looks;
  for (const spins::word_value& each : of) {
    looks.push_back({.where = each.word,
                     .order = std::memory_order_relaxed,
                     .predicate = &each.value,
                     .test = [](const void* known, std::uint64_t value) {
                       return value != *static_cast<const std::uint64_t*>(known);
                     }});
  }
  // Without a place: the look has no order of its own that could be weakened.
  now().await(looks, std::nullopt, std::nullopt, {});
}

[[gnu::noinline]] wide change(const site& call, const part_change& by, std::memory_order order) {
  spins& loop = worker::mine().loop();
  const auto operand = static_cast<std::uint64_t>(by.operand);
  std::uint64_t found = 0;
  switch (loop.next_attempt(call.pc, call.at, operand)) {
    case spins::attempt::skip:
      now().note_cap(model::cap::counted_pauses);
      now().note_skipped_look(by.at.word);
      return get_part(decode(loop.last_found(), by.at.unit), by.at, call.size);
    // Another value may end the loop even if the operation does not change it either.
    case spins::attempt::await: {
      const spins::word_value known{by.at.word, loop.last_found()};
      await_change(std::span{&known, 1}, call.where);
      loop.end_wait();
      found = now().exchange_by(by.at.word, by.change(), order, call.where);
      break;
    }
    case spins::attempt::await_any:
      await_change(loop.turn(), call.where);
      found = now().exchange_by(by.at.word, by.change(), order, call.where);
      break;
    case spins::attempt::make:
      found = now().exchange_by(by.at.word, by.change(), order, call.where);
      break;
  }
  if (by.depends_on_found()) by.at.check_written(found, call.where);
  loop.note_read(by.at.word, by.of(found));
  if (by.of(found) == found) {
    loop.note_futile(call.pc, call.at, operand, {by.at.word, found});
  } else {
    loop.act();
  }
  clear_dead_stack();
  return get_part(decode(found, by.at.unit), by.at, call.size);
}

bool exchange_part(const site& call, const part& at, wide& expected, wide desired,
                   std::memory_order success, std::memory_order failure) {
  const wide seen =
      get_part(decode(now().load(at.word, failure, call.where), at.unit), at, call.size);
  if (seen == expected) {
    struct both {
      wide expected;
      wide desired;
    } values{expected, desired};
    struct conditional {
      part at;
      unsigned size;
      const both* values;
    } how{at, call.size, &values};
    const model::change by{.apply =
                               [](std::uint64_t found, std::uint64_t self) {
                                 const auto& mine = *reinterpret_cast<const conditional*>(self);
                                 const wide whole = decode(found, mine.at.unit);
                                 if (get_part(whole, mine.at, mine.size) != mine.values->expected)
                                   return found;
                                 return encode(
                                     put_part(whole, mine.at, mine.size, mine.values->desired),
                                     mine.at.unit);
                               },
                           .operand = reinterpret_cast<std::uint64_t>(&how)};
    const wide found = get_part(
        decode(now().exchange_by(at.word, by, success, call.where), at.unit), at, call.size);
    if (found == expected) return true;
    expected = found;
    return false;
  }
  expected = seen;
  return false;
}

[[gnu::noinline]] bool compare_exchange(const site& call, wide& expected, wide desired,
                                        std::memory_order success, std::memory_order failure,
                                        bool weak) {
  const part at = word_to_change(call);
  spins& loop = worker::mine().loop();
  loop.note_operands(encode(expected, call.size), encode(desired, call.size));
  loop.look(call.pc, call.at, call.where);
  const wide wanted = expected;
  bool done = false;
  if (at.unit == call.size) {
    std::uint64_t found = encode(expected, at.unit);
    done = now().compare_exchange(at.word, found, encode(desired, at.unit), success, failure, weak,
                                  call.where);
    at.check_written(found, call.where);
    loop.note_read(at.word, done ? encode(desired, at.unit) : found);
    if (!done) expected = decode(found, at.unit);
  } else {
    done = exchange_part(call, at, expected, desired, success, failure);
  }
  if (done) {
    loop.act();
  } else if (expected == wanted) {
    loop.excuse();  // a failure for no reason; the engine knows such loops
  }
  clear_dead_stack();
  return done;
}

enum class operation : std::uint8_t { load = 1, store, change, compare_exchange };

site site_at(const volatile void* address, unsigned size, const void* pc, operation which,
             int order, int failure = 0) {
  constexpr int orders = 8;
  const auto number = static_cast<unsigned>(
      (static_cast<int>(which) * orders + order % orders) * orders + failure % orders);
  const std::source_location where = place_of(pc, number);
  clear_dead_stack();  // a line that is looked up for the first time leaves more than later ones
  return {pc, where, reinterpret_cast<std::uintptr_t>(address), size};
}

template <class T>
site site_of(const volatile T* address, const void* pc, operation which, int order,
             int failure = 0) {
  return site_at(address, sizeof(T), pc, which, order, failure);
}

/// A call for an object of a size that has no instruction, such as 12 bytes.
site site_of_object(const volatile void* address, std::size_t size, const void* pc, operation which,
                    int order, int failure = 0) {
  if (size > sizeof(wide)) {
    refuse("an atomic object is larger than 16 bytes, and so not lock-free",
           "make it smaller, or protect it by a lock", place_of(pc));
  }
  return site_at(address, static_cast<unsigned>(size), pc, which, order, failure);
}

/// The operands and results of such a call.
wide object_at(const void* from, std::size_t size, const void* pc) {
  read_bytes(from, size, pc);
  return raw_value(reinterpret_cast<std::uintptr_t>(from), size);
}
void put_object(void* to, wide value, std::size_t size, const void* pc) {
  write_bytes(to, size, pc);
  std::memcpy(to, &value, size);
}

template <class T>
[[gnu::noinline]] T change_by(volatile T* address, T operand, int order, const void* pc,
                              wide (*apply)(wide, wide)) {
  if (!is_active()) {
    const T found = *address;
    *address = static_cast<T>(apply(found, operand));
    return found;
  }
  const site call = site_of(address, pc, operation::change, order);
  const part_change by{word_to_change(call), sizeof(T), operand, apply};
  clear_dead_stack();  // removes what the search for the word has left
  return static_cast<T>(change(call, by, order_of(order)));
}

template <class T>
[[gnu::noinline]] bool store_to(volatile T* address, T value, int order, const void* pc) {
  if (!is_active()) {
    *address = value;
  } else {
    store(site_of(address, pc, operation::store, order), value, order_of(order));
  }
  return true;
}

template <class T>
[[gnu::noinline]] T load_from(const volatile T* address, int order, const void* pc) {
  if (!is_active()) return *address;
  return static_cast<T>(load(site_of(address, pc, operation::load, order), order_of(order)));
}

// An atomic object of 16 bytes may be aligned better than a value of its type.

template <class T>
T value_at(const T* from) {
  T value;
  std::memcpy(&value, static_cast<const void*>(from), sizeof value);
  return value;
}

template <class T>
void put_value(T* to, T value) {
  std::memcpy(static_cast<void*>(to), &value, sizeof value);
}

template <class T>
[[gnu::noinline]] bool compare_exchange(volatile T* address, T* expected, T desired, int success,
                                        int failure, bool weak, const void* pc) {
  if (!is_active()) {
    const T found = *address;
    const bool same = found == value_at(expected);
    if (same) *address = desired;
    put_value(expected, found);
    return same;
  }
  spins& loop = worker::mine().loop();
  if (!loop.tries_again(expected)) read_bytes(expected, sizeof(T), pc);
  wide value = value_at(expected);
  const site call = site_of(address, pc, operation::compare_exchange, success, failure);
  const bool done =
      compare_exchange(call, value, desired, order_of(success), order_of(failure), weak);
  if (!done && static_cast<T>(value) == value_at(expected)) {
    loop.note_failure(expected);
  } else if (!done) {
    write_bytes(expected, sizeof(T), pc);
    put_value(expected, static_cast<T>(value));
  }
  return done;
}

/// Returns what was there.
template <class T>
[[gnu::noinline]] T compare_exchange_value(volatile T* address, T expected, T desired, int success,
                                           int failure, const void* pc) {
  compare_exchange<T>(address, &expected, desired, success, failure, false, pc);
  return expected;
}

}  // namespace

}  // namespace lockyard::plain

using lockyard::plain::wide;
using lockyard::plain::without_traces;

// NOLINTBEGIN(bugprone-reserved-identifier, bugprone-macro-parentheses): the names are the
// compiler's, and the arguments are types.
#define LOCKYARD_PC __builtin_return_address(0)

#define LOCKYARD_CHANGE(bits, T, name, result)                                                 \
  T __tsan_atomic##bits##_##name(volatile T* address, T operand, int order) {                  \
    return without_traces(lockyard::plain::change_by<T>(                                       \
        address, operand, order, LOCKYARD_PC,                                                  \
        []([[maybe_unused]] wide found, wide by) -> wide { return static_cast<T>(result); })); \
  }

#define LOCKYARD_ATOMICS(bits, T)                                                                \
  T __tsan_atomic##bits##_load(const volatile T* address, int order) {                           \
    LOCKYARD_NOTE_CALLER;                                                                        \
    return without_traces(lockyard::plain::load_from<T>(address, order, LOCKYARD_PC));           \
  }                                                                                              \
  void __tsan_atomic##bits##_store(volatile T* address, T value, int order) {                    \
    without_traces(lockyard::plain::store_to<T>(address, value, order, LOCKYARD_PC));            \
  }                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* address, T* expected, T desired, \
                                                    int success, int failure) {                  \
    LOCKYARD_NOTE_CALLER;                                                                        \
    return without_traces(lockyard::plain::compare_exchange<T>(                                  \
        address, expected, desired, success, failure, false, LOCKYARD_PC));                      \
  }                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* address, T* expected, T desired,   \
                                                  int success, int failure) {                    \
    LOCKYARD_NOTE_CALLER;                                                                        \
    return without_traces(lockyard::plain::compare_exchange<T>(                                  \
        address, expected, desired, success, failure, true, LOCKYARD_PC));                       \
  }                                                                                              \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* address, T expected, T desired,       \
                                               int success, int failure) {                       \
    LOCKYARD_NOTE_CALLER;                                                                        \
    return without_traces(lockyard::plain::compare_exchange_value<T>(                            \
        address, expected, desired, success, failure, LOCKYARD_PC));                             \
  }                                                                                              \
  LOCKYARD_CHANGE(bits, T, exchange, by)                                                         \
  LOCKYARD_CHANGE(bits, T, fetch_add, found + by)                                                \
  LOCKYARD_CHANGE(bits, T, fetch_sub, found - by)                                                \
  LOCKYARD_CHANGE(bits, T, fetch_and, found& by)                                                 \
  LOCKYARD_CHANGE(bits, T, fetch_or, found | by)                                                 \
  LOCKYARD_CHANGE(bits, T, fetch_xor, found ^ by)                                                \
  LOCKYARD_CHANGE(bits, T, fetch_nand, ~(found & by))

extern "C" {
LOCKYARD_ATOMICS(8, std::uint8_t)
LOCKYARD_ATOMICS(16, std::uint16_t)
LOCKYARD_ATOMICS(32, std::uint32_t)
LOCKYARD_ATOMICS(64, std::uint64_t)
LOCKYARD_ATOMICS(128, wide)

// Objects of other sizes, for which the compiler calls libatomic.
void __wrap___atomic_load(std::size_t size, const volatile void* address, void* to, int order) {
  using namespace lockyard::plain;
  if (!is_active())
    return static_cast<void>(std::memcpy(to, const_cast<const void*>(address), size));
  const wide found =
      load(site_of_object(address, size, LOCKYARD_PC, operation::load, order), order_of(order));
  put_object(to, found, size, LOCKYARD_PC);
}
void __wrap___atomic_store(std::size_t size, volatile void* address, const void* from, int order) {
  using namespace lockyard::plain;
  if (!is_active()) return static_cast<void>(std::memcpy(const_cast<void*>(address), from, size));
  const site call = site_of_object(address, size, LOCKYARD_PC, operation::store, order);
  store(call, object_at(from, size, LOCKYARD_PC), order_of(order));
}
void __wrap___atomic_exchange(std::size_t size, volatile void* address, const void* from, void* to,
                              int order) {
  using namespace lockyard::plain;
  if (!is_active()) {
    std::memcpy(to, const_cast<const void*>(address), size);
    return static_cast<void>(std::memcpy(const_cast<void*>(address), from, size));
  }
  const site call = site_of_object(address, size, LOCKYARD_PC, operation::change, order);
  const wide desired = object_at(from, size, LOCKYARD_PC);
  const part_change by{word_to_change(call), call.size, desired,
                       [](wide, wide next) { return next; }};
  clear_dead_stack();
  put_object(to, change(call, by, order_of(order)), size, LOCKYARD_PC);
}
bool __wrap___atomic_compare_exchange(std::size_t size, volatile void* address, void* expected,
                                      const void* from, int success, int failure) {
  using namespace lockyard::plain;
  if (!is_active()) {
    void* const at = const_cast<void*>(address);
    const bool is_same = std::memcmp(at, expected, size) == 0;
    std::memcpy(is_same ? at : expected, is_same ? from : at, size);
    return is_same;
  }
  const site call =
      site_of_object(address, size, LOCKYARD_PC, operation::compare_exchange, success, failure);
  wide value = object_at(expected, size, LOCKYARD_PC);
  const wide desired = object_at(from, size, LOCKYARD_PC);
  const bool done =
      compare_exchange(call, value, desired, order_of(success), order_of(failure), false);
  if (!done) put_object(expected, value, size, LOCKYARD_PC);
  return done;
}

void __tsan_atomic_thread_fence(int order) {
  if (!lockyard::plain::is_active()) return;
  lockyard::plain::worker::mine().loop().fence();
  lockyard::plain::execution::current()->fence(lockyard::plain::order_of(order),
                                               lockyard::plain::place_of(LOCKYARD_PC));
}
void __tsan_atomic_signal_fence(int order) {
  const bool is_full = lockyard::plain::order_of(order) == std::memory_order_seq_cst;
  if (is_full && lockyard::plain::is_active()) {
    lockyard::plain::signal_fence(lockyard::plain::place_of(LOCKYARD_PC));
  }
}
}
// NOLINTEND(bugprone-reserved-identifier, bugprone-macro-parentheses)
