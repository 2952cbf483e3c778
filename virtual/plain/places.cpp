// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace lockyard::plain {

namespace {

/// libstdc++'s std::source_location is a pointer to such a record.
struct record {
  const char* file;
  const char* function;
  unsigned line;
  unsigned column;
};
static_assert(sizeof(std::source_location) == sizeof(const record*));

struct line_of_source {
  std::string file;
  unsigned line;
  std::string function;
};

/// The C++ library's, or the checker's.
bool is_of_standard(std::string_view path) {
  return path.find("/c++/") != std::string_view::npos ||
         path.find("plain/std/") != std::string_view::npos || path.ends_with("plain/module.hpp") ||
         path.ends_with("plain/calls.hpp") || path.ends_with("plain/call_names.hpp") ||
         path.starts_with("?");
}

bool is_of_system(std::string_view path) {
  return path.starts_with("/usr/") || is_of_standard(path);
}

/// addr2line of the module's file, which answers one address after the other.
class line_finder {
 public:
  explicit line_finder(const char* path) {
    std::array<int, 2> questions{};
    std::array<int, 2> answers{};
    if (pipe2(questions.data(), O_CLOEXEC) != 0 || pipe2(answers.data(), O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t plan;
    posix_spawn_file_actions_init(&plan);
    posix_spawn_file_actions_adddup2(&plan, questions[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&plan, answers[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&plan, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const std::array<const char*, 7> words{"addr2line", "-a", "-f", "-i", "-e", path, nullptr};
    const int failed = posix_spawnp(&process_, words[0], &plan, nullptr,
                                    const_cast<char* const*>(words.data()), environ);
    posix_spawn_file_actions_destroy(&plan);
    close(questions[0]);
    close(answers[1]);
    if (failed != 0) process_ = 0;
    to_ = questions[1];
    from_ = fdopen(answers[0], "r");
  }
  line_finder(const line_finder&) = delete;
  line_finder& operator=(const line_finder&) = delete;
  ~line_finder() {
    if (to_ >= 0) close(to_);
    if (from_ != nullptr) std::fclose(from_);
    if (process_ != 0) waitpid(process_, nullptr, 0);
  }

  /// Returns the lines of an address, innermost first.
  std::vector<line_of_source> lines(std::uintptr_t address) {
    std::vector<line_of_source> found;
    if (process_ == 0 || from_ == nullptr) return found;
    // The second address is in no function: its answer ends the first one's.
    std::array<char, 64> question{};
    const int length = std::snprintf(question.data(), question.size(), "%#zx\n0\n", address);
    if (write(to_, question.data(), static_cast<std::size_t>(length)) != length) return found;
    unsigned addresses = 0;
    std::string function;
    bool is_function = false;  // each line of the source comes behind a function's name
    std::array<char, 4096> line{};
    while (std::fgets(line.data(), line.size(), from_) != nullptr) {
      std::string_view text{line.data()};
      while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
      if (text.starts_with("0x")) {
        ++addresses;
        is_function = true;
      } else if (is_function) {
        function = text;
        is_function = false;
      } else if (addresses == 2) {
        return found;
      } else {
        found.push_back(parsed(text, function));
        is_function = true;
      }
    }
    return found;
  }

 private:
  static line_of_source parsed(std::string_view text, const std::string& function) {
    text = text.substr(0, text.find(" (discriminator"));
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return {std::string{text}, 0, function};
    unsigned line = 0;
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), line);
    return {std::string{text.substr(0, colon)}, line, function};
  }

  pid_t process_ = 0;
  int to_ = -1;
  std::FILE* from_ = nullptr;
};

struct module {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::string path;
  std::optional<line_finder> finder;
};

/// All that is known of places; there for as long as the program, as source locations are.
struct known_places {
  std::mutex lock;
  std::deque<module> modules;
  std::deque<std::string> texts;
  std::deque<record> records;
  std::map<const void*, std::vector<line_of_source>> functions;  ///< that were asked for
};

known_places& known() {
  static known_places all;
  return all;
}

const char* kept(known_places& all, const std::string& text) {
  const auto same = std::ranges::find(all.texts, text);
  return (same == all.texts.end() ? all.texts.emplace_back(text) : *same).c_str();
}

enum class wanted : std::uint8_t { of_user, of_library, any };

/// The lines of an address, innermost first.
std::vector<line_of_source> lines_of(known_places& all, std::uintptr_t at) {
  const auto inside = std::ranges::find_if(
      all.modules, [at](const module& each) { return each.begin <= at && at < each.end; });
  if (inside == all.modules.end()) return {};
  if (!inside->finder) inside->finder.emplace(inside->path.c_str());
  return inside->finder->lines(at - inside->begin);
}

/// The line of an address, if it is one of the user's; or else its innermost line.
std::optional<line_of_source> line_of(known_places& all, std::uintptr_t at, wanted which) {
  const auto lines = lines_of(all, at);
  const auto own = std::ranges::find_if(lines, [which](const line_of_source& each) {
    if (which == wanted::of_user) return each.line != 0 && !is_of_system(each.file);
    return each.line != 0 && (which == wanted::any || !is_of_standard(each.file));
  });
  return own == lines.end() ? std::nullopt : std::optional{*own};
}

/// The place of an address in its module's file, which is the same in every process.
std::uintptr_t offset_of(const known_places& all, std::uintptr_t at) {
  for (const module& each : all.modules) {
    if (each.begin <= at && at < each.end) return at - each.begin;
  }
  return 0;
}

/// Return addresses, innermost first: code of a module keeps its frame pointers.
using call_chain = std::array<std::uintptr_t, 12>;

bool lies_in_module(std::uintptr_t at) {
  const auto& modules = known().modules;
  return std::ranges::any_of(
      modules, [at](const module& each) { return each.begin <= at && at < each.end; });
}

/// The callers of the function that holds this address.
call_chain callers_of(const void* return_address) {
  call_chain found{};
  const auto* frame = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
  const auto wanted = reinterpret_cast<std::uintptr_t>(return_address);
  const auto* const limit = frame + (std::size_t{1} << 13U);  // the size of a stack
  bool is_reached = false;
  std::size_t count = 0;
  while (count < found.size()) {
    const std::uintptr_t caller = frame[1];
    if (is_reached && !lies_in_module(caller)) break;
    if (is_reached) found[count++] = caller;
    is_reached = is_reached || caller == wanted;
    const auto* const next = reinterpret_cast<const std::uintptr_t*>(frame[0]);
    if (next <= frame || next >= limit) break;
    frame = next;
  }
  return found;
}

}  // namespace

void note_module(const char* path, std::uintptr_t base, std::size_t bytes) {
  known_places& all = known();
  const std::scoped_lock guard{all.lock};
  all.modules.emplace_back(base, base + bytes, path, std::nullopt);
}

bool is_in_module(const void* return_address) {
  const std::scoped_lock guard{known().lock};
  return lies_in_module(reinterpret_cast<std::uintptr_t>(return_address));
}

namespace {

/// An address: with its own line, or with the lines of its callers.
struct known_address {
  const record* own = nullptr;
  std::map<call_chain, const record*> by_callers;
};

const record* new_record(known_places& all, const line_of_source& line, unsigned operation) {
  return &all.records.emplace_back(kept(all, line.file), "", line.line, operation);
}

const record* record_of(known_address& mine, const void* return_address, unsigned operation) {
  if (mine.own != nullptr) return mine.own;
  known_places& all = known();
  // The call is before the address to which it returns.
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  if (mine.by_callers.empty()) {
    const std::scoped_lock guard{all.lock};
    if (const auto line = line_of(all, at, wanted::of_user))
      return mine.own = new_record(all, *line, operation);
  }
  const call_chain callers = callers_of(return_address);
  const record*& found = mine.by_callers[callers];
  if (found != nullptr) return found;
  const std::scoped_lock guard{all.lock};
  line_of_source line{"address", static_cast<unsigned>(offset_of(all, at)), {}};
  line = line_of(all, at, wanted::any).value_or(line);
  line = line_of(all, at, wanted::of_library).value_or(line);
  for (const std::uintptr_t each : callers) {
    if (each == 0) break;
    if (const auto own = line_of(all, each - 1, wanted::of_user)) {
      line = *own;
      break;
    }
  }
  return found = new_record(all, line, operation);
}

}  // namespace

std::source_location place_of(const void* return_address, unsigned operation) {
  thread_local std::map<const void*, known_address> mine;
  const record* const here = record_of(mine[return_address], return_address, operation);
  std::source_location place;
  std::memcpy(static_cast<void*>(&place), &here, sizeof here);
  return place;
}

bool is_in_function(const void* return_address, std::string_view name) {
  known_places& all = known();
  const std::scoped_lock guard{all.lock};
  const auto [found, is_new] = all.functions.try_emplace(return_address);
  if (is_new) found->second = lines_of(all, reinterpret_cast<std::uintptr_t>(return_address) - 1);
  return std::ranges::any_of(found->second, [name](const line_of_source& each) {
    return each.function.find(name) != std::string::npos;
  });
}

}  // namespace lockyard::plain
