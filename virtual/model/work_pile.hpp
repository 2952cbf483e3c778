// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the workers of a search share besides the states that they have reached. Workers are threads
// or processes, so all of it lies in shared memory, and a list of choices is copied there.

#include "choices.hpp"
#include "shared_memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace lockyard::model {

struct tally {
  std::uint64_t executions = 0;
  std::uint64_t states = 0;
  std::uint64_t cut = 0;       ///< executions that reached a known state
  std::uint64_t too_deep = 0;  ///< executions that ended inconclusively

  tally& operator+=(const tally& other) noexcept {
    executions += other.executions;
    states += other.states;
    cut += other.cut;
    too_deep += other.too_deep;
    return *this;
  }
};

/// An execution of a worker process that shows something new. The first process runs it again.
struct news {
  std::vector<choice> list;
  bool ends_search = false;
  bool begins_anew = false;  ///< the search ends, and begins anew
};

/// Parts of the tree that no worker has begun, the workers that wait for one, and their counts.
class work_pile {
 public:
  /// One part: the whole tree.
  work_pile() { here_->parts.count = 1; }

  /// One more worker takes parts.
  void join();
  /// Whether a worker waits for a part, and the list is not too long for one.
  [[nodiscard]] bool wants(const std::vector<choice>& list);
  void give(const std::vector<choice>& part);
  /// Returns nullopt when all is done, or when the search was called off. While there is no part,
  /// `look` is called now and then.
  std::optional<std::vector<choice>> take(const std::function<void()>& look);

  void call_off();
  [[nodiscard]] bool is_off();

  /// Adds to the counts, and returns them.
  tally add(const tally& more);

  void report(const news& of);
  std::optional<news> hear();
  /// The search cannot go on with these workers.
  void break_off();
  /// Whether that was so, or there was no room for a report.
  [[nodiscard]] bool is_broken();

 private:
  static constexpr std::size_t most_lists = 64;
  static constexpr std::size_t most_choices = 32 * 1024;

  /// A list in shared memory. A page that is not used takes no room.
  struct kept_list {
    std::size_t size;
    bool ends_search;
    bool begins_anew;
    std::array<std::byte, most_choices * sizeof(choice)> bytes;

    void keep(const std::vector<choice>& list);
    [[nodiscard]] std::vector<choice> list() const;
  };
  struct kept_lists {
    std::size_t count;
    std::array<kept_list, most_lists> all;
  };
  struct contents {
    process_mutex lock;
    process_condition changed;
    tally counts;
    unsigned busy;
    unsigned waiting;
    bool is_off;
    bool is_broken;
    kept_lists parts;
    kept_lists reports;
  };

  void give_up();

  shared<contents> here_;
};

}  // namespace lockyard::model
