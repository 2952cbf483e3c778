// SPDX-License-Identifier: Apache-2.0
#pragma once

// Idle policies, and the queue of a worker pool in small, with one of their rules left out.

#include <lockyard/event/event_count.hpp>
#include <lockyard/event/task_queue.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lockyard::checker {

enum class idle_fault : std::uint8_t {
  none,         ///< shows that the fault is found, not this copy
  looks_first,  ///< a waiter announces itself after its last look
  wakes_one,    ///< at the end, too
};

template <idle_fault Fault>
struct faulty_event {
  static constexpr const char* label = "faulty event";

  template <world W>
  class in {
   public:
    template <class Atomic, class Predicate>
    void wait(const Atomic& word, Predicate predicate) noexcept {
      const auto holds = [&] { return predicate(word.load(std::memory_order_relaxed)); };
      while (!holds()) {
        const auto key = events_.prepare_wait();
        if (Fault != idle_fault::looks_first && holds()) {
          events_.cancel_wait();
          return;
        }
        events_.commit_wait(key);
      }
    }
    void notify_one() noexcept { events_.notify_one(); }
    void notify_all() noexcept {
      Fault == idle_fault::wakes_one ? events_.notify_one() : events_.notify_all();
    }

   private:
    basic_event_count<W> events_;
  };
};

enum class queue_fault : std::uint8_t {
  none,              ///< shows that the fault is found, not this copy
  notifies_first,    ///< a push notifies before it puts
  forgets_room,      ///< close() lets those wait who wait for room
  never_calls_back,  ///< a pop does not wake threads that wait for room
  trusts_notice,     ///< who has been called takes without another look
};

/// basic_task_queue in small.
template <class T, world W, queue_fault Fault>
class faulty_task_queue {
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::uint32_t closed = 0x8000'0000;

 public:
  using slot = var<W, T>;
  explicit faulty_task_queue(std::span<slot> slots) noexcept : slots_{slots} {}

  push_result try_push(T value) noexcept {
    if (Fault == queue_fault::notifies_first) work_.notify_one();
    mutex_.lock();
    const std::uint32_t before = state_.load(relaxed);
    const bool done = (before & closed) == 0 && before != slots_.size();
    if (done) {
      slots_[(first_.read() + before) % slots_.size()].write(value);
      state_.store(before + 1, relaxed);
    }
    mutex_.unlock();
    if (!done) return (before & closed) != 0 ? push_result::closed : push_result::full;
    if (Fault != queue_fault::notifies_first) work_.notify_one();
    return push_result::done;
  }

  push_result push(T value) noexcept {
    push_result found = try_push(value);
    while (found == push_result::full) {
      room_.await([this] { return state_.load(relaxed) != slots_.size(); });
      found = try_push(value);
    }
    return found;
  }

  std::optional<T> try_pop() noexcept {
    std::optional<T> found;
    mutex_.lock();
    const std::uint32_t before = state_.load(relaxed);
    if ((before & ~closed) != 0 || (Fault == queue_fault::trusts_notice && before == 0)) {
      found = slots_[first_.read()].read();
      first_.write(static_cast<std::uint32_t>((first_.read() + 1) % slots_.size()));
      state_.store(before - 1, relaxed);
    }
    mutex_.unlock();
    if (found && Fault != queue_fault::never_calls_back) room_.notify_one();
    return found;
  }

  std::optional<T> pop() noexcept {
    for (;;) {
      work_.await([this] { return state_.load(relaxed) != 0; });
      if (const std::optional<T> found = try_pop()) return found;
      if (state_.load(relaxed) == closed) return std::nullopt;
    }
  }

  void close() noexcept {
    mutex_.lock();
    state_.store(state_.load(relaxed) | closed, relaxed);
    mutex_.unlock();
    work_.notify_all();
    if (Fault != queue_fault::forgets_room) room_.notify_all();
  }

  std::size_t size() const noexcept { return state_.load(relaxed) & ~closed; }

 private:
  detail::inner_lock<W, basic_mutex<W>> mutex_;
  atomic<W, std::uint32_t> state_{0};
  var<W, std::uint32_t> first_{0};
  std::span<slot> slots_;
  basic_event_count<W> work_;
  basic_event_count<W> room_;
};

}  // namespace lockyard::checker
