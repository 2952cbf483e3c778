// SPDX-License-Identifier: Apache-2.0

// Threads that wait for each other's data by condition variables.

#include "locked_data.hpp"

#include <lockyard/park/condition_variable_any.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lockyard::harness {

namespace {

/// A buffer that every other thread fills, and the others empty; a single thread does both.
struct bounded_buffer {
  static constexpr std::uint64_t room = 64;
  std::uint64_t put = 0;
  std::uint64_t taken = 0;
  bool is_over = false;
  condition_variable_any has_room;
  condition_variable_any has_some;
};

class condition_pattern final : public locked_data<bounded_buffer> {
 public:
  condition_pattern(const subject& lock, std::uint64_t seed, unsigned threads)
      : locked_data{lock, seed}, is_alone_{threads == 1} {}

  void step(pattern_thread& by) override {
    const any_lock guard = lock();
    std::unique_lock held{guard};
    bounded_buffer& buffer = data();
    const bool puts = is_alone_ ? buffer.put == buffer.taken : by.number % 2 == 0;
    const auto may_go_on = [&] {
      return buffer.is_over ||
             (puts ? buffer.put - buffer.taken < bounded_buffer::room : buffer.put != buffer.taken);
    };
    (puts ? buffer.has_room : buffer.has_some).wait(held, may_go_on);
    if (puts ? buffer.put - buffer.taken == bounded_buffer::room : buffer.put == buffer.taken) {
      by.skipped += 1;  // the time is over
      return;
    }
    (puts ? buffer.put : buffer.taken) += 1;
    by.work.hold();
    (puts ? buffer.has_some : buffer.has_room).notify_one();
  }
  void end() override {
    const any_lock guard = lock();
    const std::lock_guard held{guard};
    data().is_over = true;
    data().has_room.notify_all();
    data().has_some.notify_all();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return data().put + data().taken == operations && data().put >= data().taken;
  }

 private:
  bool is_alone_;
};

/// Requests that one thread serves, in order of arrival.
struct request_counts {
  std::uint64_t asked = 0;
  std::uint64_t served = 0;
  std::uint64_t received = 0;  ///< replies that arrived
  bool is_over = false;
  condition_variable_any has_request;
};

/// Thread 0 serves the requests of the others, each of which waits for its reply. A thread alone
/// asks and serves in one operation, and receives the reply in the next one.
class request_pattern final : public locked_data<request_counts> {
 public:
  request_pattern(const subject& lock, std::uint64_t seed, unsigned threads)
      : locked_data{lock, seed}, unserved_(threads), mailboxes_(threads) {}

  void step(pattern_thread& by) override {
    const any_lock guard = lock();
    std::unique_lock held{guard};
    const bool is_alone = mailboxes_.size() == 1;
    mailbox& mine = mailboxes_[by.number];
    if (is_alone && !mine.has_reply) put(by.number);
    if (by.number == server && !mine.has_reply) {
      data().has_request.wait(held, [&] { return data().is_over || has_unserved(); });
      if (!has_unserved()) return skip(by);
      return serve(by);
    }
    if (!is_alone) {
      if (data().is_over) return skip(by);
      put(by.number);
      data().has_request.notify_one();
      mine.replied.wait(held, [&] { return data().is_over || mine.has_reply; });
      if (!mine.has_reply) return skip(by);
    }
    mine.has_reply = false;
    data().received += 1;
  }
  void end() override {
    const any_lock guard = lock();
    const std::lock_guard held{guard};
    data().is_over = true;
    data().has_request.notify_all();
    for (mailbox& each : mailboxes_) each.replied.notify_all();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    const request_counts& counts = data();
    return counts.served + counts.received == operations && counts.received <= counts.served &&
           counts.served <= counts.asked && counts.asked - counts.received <= mailboxes_.size();
  }

 private:
  static constexpr unsigned server = 0;

  /// Where a thread finds its reply.
  struct mailbox {
    bool has_reply = false;
    condition_variable_any replied;
  };

  [[nodiscard]] bool has_unserved() const noexcept { return data().asked != data().served; }
  void put(unsigned thread) noexcept { unserved_[data().asked++ % unserved_.size()] = thread; }
  void serve(pattern_thread& by) {
    mailbox& to = mailboxes_[unserved_[data().served++ % unserved_.size()]];
    by.work.hold();
    to.has_reply = true;
    to.replied.notify_one();
  }
  static void skip(pattern_thread& by) noexcept { by.skipped += 1; }

  std::vector<unsigned> unserved_;  ///< a ring: a thread has one request at most
  std::vector<mailbox> mailboxes_;
};

template <class Pattern>
std::unique_ptr<pattern> make_waiting(const job& of, const subject& lock) {
  return std::make_unique<Pattern>(lock, of.seed, of.threads);
}

}  // namespace

std::vector<listed_pattern> waiting_patterns() {
  return {
      {"condition", "data", 1, make_waiting<condition_pattern>},
      {"request_reply", "data", 1, make_waiting<request_pattern>},
  };
}

}  // namespace lockyard::harness
