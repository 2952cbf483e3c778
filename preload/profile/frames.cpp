// SPDX-License-Identifier: Apache-2.0

#include "frames.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "frame_tables.hpp"
#include "memory.hpp"

namespace lockyard::preload::record {
namespace {

constexpr std::size_t cached_rules = 4096, stack_heads = 1 << 14, most_modules = 512;
// A program that locks in a recursion has more stacks than anyone reads. The later ones are known
// by their innermost call only.
constexpr u32 most_stacks = 1 << 16;
constexpr u64 longest_frame = u64{1} << 24;
constexpr int frames_of_recorder = 12;  // between the walk and the program

// A rule and the address that it belongs to, without a lock: `key` is the address XOR `rule`, so
// halves of two entries do not fit each other.
struct cached_rule {
  u64 key;
  u64 rule;
};
constinit cached_rule cache[cached_rules] = {};
constinit u32 heads[stack_heads] = {};
constinit u32 stacks_used = 0;

struct known_module {
  std::uintptr_t begin, end;
};
constinit known_module modules[most_modules] = {};
constinit u32 modules_used = 0;

u64 mixed(u64 value) {
  return (value ^ (value >> 29)) * 0x9e3779b97f4a7c15;
}

u64 encoded(const frame_rule& rule) {
  return u64{rule.is_known} << 63 | u64{rule.is_from_frame_pointer} << 62 |
         static_cast<u64>(rule.cfa_bytes) << 32 | u64{static_cast<u16>(rule.return_words)} << 16 |
         u64{static_cast<u16>(rule.frame_words)};
}

frame_rule decoded(u64 from) {
  return {(from >> 63) != 0, ((from >> 62) & 1) != 0,
          static_cast<std::int32_t>((from >> 32) & 0x3fffffff),
          static_cast<std::int16_t>(static_cast<u16>(from >> 16)),
          static_cast<std::int16_t>(static_cast<u16>(from))};
}

void add_module(const dl_find_object& found) {
  const auto begin = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start);
  const u32 count =
      std::min(__atomic_load_n(&modules_used, __ATOMIC_ACQUIRE), static_cast<u32>(most_modules));
  for (u32 i = 0; i < count; ++i) {
    if (__atomic_load_n(&modules[i].begin, __ATOMIC_RELAXED) == begin) return;
  }
  auto* const made = allocate_block<module_block>();
  if (made == nullptr) return;
  const u32 number = __atomic_fetch_add(&modules_used, 1, __ATOMIC_RELAXED);
  if (number < most_modules) __atomic_store_n(&modules[number].begin, begin, __ATOMIC_RELEASE);
  made->begin = begin;
  made->end = reinterpret_cast<std::uintptr_t>(found.dlfo_map_end);
  made->shift = found.dlfo_link_map->l_addr;
  const char* const name = found.dlfo_link_map->l_name;
  const char* const path = name != nullptr && *name != 0 ? name : file->program;
  std::memcpy(made->path, path, std::min(std::strlen(path), sizeof made->path - 1));
  publish(made->head, block_kind::module);
}

cached_rule& slot_of(std::uintptr_t return_address) {
  return cache[mixed(return_address) >> 52];
}

[[gnu::noinline]] u64 look_rule_up(std::uintptr_t return_address) {
  dl_find_object found{};
  // One less: a call may be the last instruction of its function.
  if (_dl_find_object(reinterpret_cast<void*>(return_address - 1), &found) != 0) return 0;
  add_module(found);
  const u64 made =
      encoded(found.dlfo_eh_frame != nullptr ? rule_at(found.dlfo_eh_frame, return_address - 1)
                                             : frame_rule{});
  cached_rule& slot = slot_of(return_address);
  __atomic_store_n(&slot.rule, made, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.key, return_address ^ made, __ATOMIC_RELAXED);
  return made;
}

inline frame_rule rule_of(std::uintptr_t return_address) {
  const cached_rule& slot = slot_of(return_address);
  const u64 rule = __atomic_load_n(&slot.rule, __ATOMIC_RELAXED);
  const bool is_it = (__atomic_load_n(&slot.key, __ATOMIC_RELAXED) ^ rule) == return_address;
  return decoded(is_it ? rule : look_rule_up(return_address));
}

u64 without_signature(u64 return_address) {
#if defined(__aarch64__)
  return return_address & 0x0000ffffffffffff;
#else
  return return_address;
#endif
}

/// Walks from the caller of the function that has this frame. Returns how many frames there are.
std::size_t walk(u64 address, u64 cfa, u64 frame, u64 site, u64* to) {
  std::size_t count = 0;
  bool is_outside = false;
  for (int step = 0;
       count < stack_depth && step < static_cast<int>(stack_depth) + frames_of_recorder; ++step) {
    is_outside = is_outside || address == site;
    if (is_outside) to[count++] = address;
    const frame_rule rule = rule_of(address);
    if (!rule.is_known || rule.return_words == 0) break;
    const u64 next_cfa =
        (rule.is_from_frame_pointer ? frame : cfa) + static_cast<u64>(rule.cfa_bytes);
    if (next_cfa <= cfa || next_cfa - cfa > longest_frame || next_cfa % 8 != 0) break;
    const auto* const words = reinterpret_cast<const u64*>(next_cfa);
    address = without_signature(words[rule.return_words]);
    if (rule.frame_words != 0) frame = words[rule.frame_words];
    cfa = next_cfa;
    if (address == 0) break;
  }
  return count;
}

u32 stored(const u64* frames, std::size_t count) {
  u64 hash = count;
  for (std::size_t i = 0; i < count; ++i) hash = mixed(hash + frames[i]);
  u32& head = heads[mixed(hash) >> 50];
  u32 first = __atomic_load_n(&head, __ATOMIC_ACQUIRE);
  for (u32 at = first; at != 0; at = at_offset<stack_block>(at)->next) {
    const auto* const each = at_offset<stack_block>(at);
    if (each->count == count && std::memcmp(each->frames, frames, count * sizeof *frames) == 0)
      return at;
  }
  // relaxed(hint): a few more do no harm.
  if (count > 1 && __atomic_load_n(&stacks_used, __ATOMIC_RELAXED) >= most_stacks)
    return stored(frames, 1);
  auto* const made = allocate_block<stack_block>();
  if (made == nullptr) return 0;
  __atomic_fetch_add(&stacks_used, 1, __ATOMIC_RELAXED);
  made->count = static_cast<u32>(count);
  std::memcpy(made->frames, frames, count * sizeof *frames);
  const u32 at = offset_of(made);
  do {
    made->next = first;
  } while (
      !__atomic_compare_exchange_n(&head, &first, at, true, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
  publish(made->head, block_kind::stack);
  return at;
}

}  // namespace

[[gnu::noinline]] u32 stack_from(const void* site) {
  if (file == nullptr) return 0;
  const auto* const own_frame = static_cast<const u64*>(__builtin_frame_address(0));
  const auto outer = reinterpret_cast<u64>(__builtin_dwarf_cfa());
  const auto caller = without_signature(reinterpret_cast<u64>(__builtin_return_address(0)));
  u64 frames[stack_depth];
  const std::size_t count = walk(caller, outer, own_frame[0], reinterpret_cast<u64>(site), frames);
  // None, if the walk did not come to the site: a function on the way has no unwind table.
  return count == 0 ? stack_of(site) : stored(frames, count);
}

u32 stack_of(const void* site) {
  if (file == nullptr || site == nullptr) return 0;
  const auto address = reinterpret_cast<u64>(site);
  rule_of(address);  // which notes the module
  return stored(&address, 1);
}

void note_module(const void* address) {
  dl_find_object found{};
  if (file != nullptr && _dl_find_object(const_cast<void*>(address), &found) == 0)
    add_module(found);
}

void forget_frames() {
  for (cached_rule& each : cache) {
    __atomic_store_n(&each.key, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&each.rule, 0, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&modules_used, 0, __ATOMIC_RELAXED);
}

void forget_stacks() {
  std::memset(heads, 0, sizeof heads);
  stacks_used = 0;
  forget_frames();
}

}  // namespace lockyard::preload::record
