// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include "program.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <istream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

namespace lockyard::plain {

namespace {

struct member {
  std::uintptr_t offset;
  std::size_t size;
  std::string name;
};
using members = std::vector<member>;

/// The variables of a function that lie in its frame, by offset from `frame_begins`.
struct function {
  std::uintptr_t code;
  std::uintptr_t code_end;
  members variables;
};

/// The debug information counts from the end of the caller's stack. Below it are the place to
/// return to and the caller's frame pointer, to which the function's own one points.
constexpr std::uintptr_t above_frame_pointer = 2 * sizeof(void*);
/// Offsets are negative, so they are counted from so far below.
constexpr std::uintptr_t most_below = std::uintptr_t{1} << 32U;

struct known_names {
  std::map<std::string, members, std::less<>> objects;  ///< keys: the entries' names
  members variables;                                    ///< by address
  members of_threads;                                   ///< by offset
  std::vector<function> functions;
  std::map<std::pair<std::string, std::size_t>, members> types;
  const members* current = nullptr;
  std::string held;  ///< the type of what a thread keeps while it holds the lock
  bool has_longer_ends = true;
};

known_names& known() {
  static known_names all;
  return all;
}

/// The member that lies there; with an offset for an address inside it.
std::optional<std::string> name_in(const members& list, std::uintptr_t offset) {
  for (const member& each : list) {
    if (offset < each.offset || offset >= each.offset + each.size) continue;
    const std::uintptr_t inside = offset - each.offset;
    return inside == 0 ? each.name : each.name + "+" + std::to_string(inside);
  }
  return std::nullopt;
}

std::string line_of_source(std::source_location where) {
  std::ifstream file{where.file_name()};
  std::string line;
  for (unsigned i = 0; i < where.line() && std::getline(file, line); ++i) {
  }
  return line;
}

/// The type that a line creates, as in `new my::node`.
std::string created_type(std::source_location where) {
  static const std::regex form{
      R"((?:new|make_\w+\s*<|sizeof\s*\(?)\s*(?:struct\s+)?((?:\w+::)*)(\w+))"};
  const std::string line = line_of_source(where);
  std::smatch found;
  return std::regex_search(line, found, form) ? found[2].str() : std::string{};
}

std::string type_of(const arena::object& found) {
  const std::string_view file{found.where.file_name()};
  return file.ends_with("plain/calls.hpp") ? known().held : created_type(found.where);
}

std::string name_on_heap(const arena::object& found) {
  const std::string type = type_of(found);
  return (type.empty() ? "heap object" : type) + "#" + std::to_string(found.number);
}

std::string name_on_heap(const arena::object& found, std::uintptr_t offset) {
  const std::string type = type_of(found);
  const std::string name = name_on_heap(found);
  const auto fields = known().types.find({type, found.bytes});
  if (fields != known().types.end()) {
    if (const auto inside = name_in(fields->second, offset)) return name + "." + *inside;
  }
  return offset == 0 ? name : name + "+" + std::to_string(offset);
}

std::string name_on_stack(const execution::stack_place& found, std::uintptr_t at) {
  const std::string where = " on T" + std::to_string(found.thread) + "'s stack";
  const auto frame = worker::mine().memory.functions.frame_of(found.thread, at);
  if (frame) {
    const std::uintptr_t begin = frame->end + above_frame_pointer - most_below;
    for (const function& each : known().functions) {
      if (frame->pc < each.code || frame->pc >= each.code_end) continue;
      if (const auto name = name_in(each.variables, at - begin)) return *name + where;
    }
  }
  return "a variable" + where;
}

/// A variable of a thread, if the address is in a thread's copy of the module's variables.
std::optional<std::string> name_of_thread(std::uintptr_t at) {
  worker& mine = worker::mine();
  for (std::size_t i = 0; i < mine.storage.size(); ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(mine.storage[i].block);
    if (begin == 0 || at < begin) continue;
    if (at - begin >= arena::size_of(mine.storage[i].block)) continue;
    const auto inside = name_in(known().of_threads, at - begin);
    return "T" + std::to_string(i) + "'s " + inside.value_or("thread_local data");
  }
  return std::nullopt;
}

void read_local(std::istream& words, std::uintptr_t base) {
  function of{};
  std::intptr_t offset = 0;
  member each{};
  words >> of.code >> of.code_end >> offset >> each.size >> each.name;
  of.code += base;
  of.code_end += base;
  each.offset = most_below + static_cast<std::uintptr_t>(offset);
  std::vector<function>& all = known().functions;
  if (all.empty() || all.back().code != of.code) all.push_back(of);
  all.back().variables.push_back(each);
}

}  // namespace

account read_names(const std::string& path, std::uintptr_t base) {
  std::ifstream file{path};
  known_names& all = known();
  account found = account::unknown;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    std::string kind;
    std::pair<std::string, std::size_t> type;
    words >> kind;
    if (kind == "instrumented" || kind == "silent") {
      found = kind == "silent" ? account::partial : account::complete;
      all.has_longer_ends = false;
      continue;
    }
    if (kind == "longer") {
      all.has_longer_ends = true;
      continue;
    }
    if (kind == "local") {
      read_local(words, base);
      continue;
    }
    if (kind == "type") words >> type.second >> type.first;
    member each{};
    words >> each.offset >> each.size >> each.name;
    if (kind == "static") {
      each.offset += base;
      all.variables.push_back(each);
    } else if (kind == "thread") {
      all.of_threads.push_back(each);
    } else if (kind == "type") {
      all.types[type].push_back(each);
    } else {
      std::string entry;
      std::getline(words >> std::ws, entry);
      all.objects[entry].push_back(each);
    }
  }
  return found;
}

bool has_longer_ends() {
  return known().has_longer_ends;
}

void name_object_as(std::string_view entry, const char* held) {
  known().held = held == nullptr ? "" : held;
  const auto found = known().objects.find(entry);
  known().current = found == known().objects.end() ? nullptr : &found->second;
}

std::string name_of_memory(const void* address) {
  worker& mine = worker::mine();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (mine.data.first <= at && at < mine.data.second) return "of the critical section";
  if (auto name = mine.threads.name_of(at)) return *name;
  if (address == &list_of_keys) return "the list of keys";
  if (address == &list_of_exit_calls) return "the list of calls after main()";
  if (known().current != nullptr && at >= mine.object) {
    if (auto name = name_in(*known().current, at - mine.object)) return *name;
  }
  if (auto name = name_in(known().variables, at)) return *name;
  if (auto name = name_of_thread(at)) return *name;
  if (const auto found = mine.heap.find(at); found && found->begin != mine.object) {
    return name_on_heap(*found, at - found->begin);
  }
  if (const auto found = earlier_heap().find(at)) {
    const std::uintptr_t offset = at - found->begin;
    return "static heap object#" + std::to_string(found->number) +
           (offset == 0 ? std::string{} : "+" + std::to_string(offset));
  }
  const auto on_stack = execution::current()->find_on_stack(address);
  return on_stack ? name_on_stack(*on_stack, at) : std::string{};
}

namespace {

/// A pointer to the beginning of an object means the object, not its first member.
std::string name_of_target(std::uintptr_t at) {
  const worker& mine = worker::mine();
  const auto found = mine.heap.find(at);
  const bool is_object = found && found->begin == at && at != mine.object && !name_of_thread(at);
  return is_object ? name_on_heap(*found) : name_of_memory(reinterpret_cast<const void*>(at));
}

}  // namespace

std::string text_of_value(std::uint64_t value, std::size_t size) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  if (size > word) {
    const wide whole = decode(value, static_cast<unsigned>(size));
    return "{" + text_of_value(static_cast<std::uint64_t>(whole), word) + ", " +
           text_of_value(static_cast<std::uint64_t>(whole >> 64U), word) + "}";
  }
  constexpr std::uint64_t least_address = 1U << 16U;
  if (size == word && value >= least_address) {
    // The lowest bits may be flags.
    for (const std::uint64_t flags : {value & 0, value & 7}) {
      const std::string name = name_of_target(value - flags);
      if (name.empty()) continue;
      return "&" + name + (flags == 0 ? "" : " | " + std::to_string(flags));
    }
  }
  // Nothing says whether the word has a sign; a number just below 0 is more likely than its
  // complement.
  constexpr std::uint64_t least_negative = 1024;
  const std::uint64_t most = ~std::uint64_t{0} >> 8 * (word - size);
  if (size >= sizeof(int) && value > most - least_negative) {
    return "-" + std::to_string(most - value + 1);
  }
  return std::to_string(value);
}

}  // namespace lockyard::plain
