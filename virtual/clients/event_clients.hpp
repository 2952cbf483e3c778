// SPDX-License-Identifier: Apache-2.0
#pragma once

// Uses of events that a lock made of them does not come by.

#include <lockyard/event/event_count.hpp>
#include <lockyard/event/manual_reset_event.hpp>

#include <model/client.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>

namespace lockyard::checker {

/// The first thread makes a condition true and notifies; the second one waits for that, makes
/// another true and notifies; the third waits for that one. So both wait by one event count for
/// different things, and neither may leave out its barrier for the other's sake alone. Where a
/// waiter looks again and again without a fence, all of it is by exchanges, which see the last
/// value: other reads may see an old value forever.
template <class Count, bool ByExchange = false>
class two_conditions_client : public model::client {
 public:
  explicit two_conditions_client(const model::client_size& size) : threads_{size.threads} {
    changed_.notify_all();  // the first one, without waiters, has a fence in any case
  }

  [[nodiscard]] unsigned threads() const override { return threads_; }

  void thread(unsigned index) override {
    if (index > 0) {
      auto& mine = holds_[index - 1];
      changed_.await([&mine]() noexcept {
        if (ByExchange) return mine.fetch_or(0, std::memory_order_relaxed) != 0;
        return mine.load(std::memory_order_relaxed) != 0;
      });
    }
    if (index + 1 == threads_) return;
    if (ByExchange) {
      holds_[index].exchange(1, std::memory_order_relaxed);
    } else {
      holds_[index].store(1, std::memory_order_relaxed);
    }
    changed_.notify_all();
  }

 private:
  unsigned threads_;
  model::word<std::uint32_t> holds_[2]{};
  Count changed_;
};

/// All threads but the first one wait, by hand, for one thing; the last one for a while only.
/// There is one notification, so a thread that it woke sees all that came before it. For
/// settings in which barriers are available.
template <class Count>
class broadcast_client : public model::client {
 public:
  explicit broadcast_client(const model::client_size& size) : size_{size} {}

  [[nodiscard]] unsigned threads() const override { return size_.threads; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return index == 0 || is_patient(index) ? std::min(index, 1U) : index;
  }

  void thread(unsigned index) override {
    if (index == 0) {
      data_.write(1);
      happened_.store(true, std::memory_order_release);
      count_.notify_all();
      return;
    }
    for (bool in_time = true; in_time;) {
      const auto key = count_.prepare_wait();
      if (happened_.load(std::memory_order_acquire)) {
        count_.cancel_wait();
        model::require(data_.read() == 1, "what came before the condition is seen");
        return;
      }
      if (is_patient(index)) {
        count_.commit_wait(key);
      } else {
        in_time = count_.commit_wait_for(key, std::chrono::milliseconds{1});
      }
      if (in_time) model::require(data_.read() == 1, "what came before the notification is seen");
    }
  }

 private:
  [[nodiscard]] bool is_patient(unsigned index) const {
    return !size_.timed || index + 1 < size_.threads;
  }

  model::client_size size_;
  model::word<bool> happened_{false};
  model::plain_data<unsigned> data_{0};
  Count count_;
};

/// The first thread sets the event, and all others wait for it; the last one for a while only, or,
/// if the size says so, it ends the event after its wait.
template <class Event>
class manual_event_client : public model::client {
 public:
  explicit manual_event_client(const model::client_size& size)
      : size_{size}, event_{::new(place_) Event} {}

  [[nodiscard]] unsigned threads() const override { return size_.threads; }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    const bool has_own_part = (size_.timed || size_.destroys) && index + 1 == size_.threads;
    return has_own_part ? index : std::min(index, 1U);
  }

  void thread(unsigned index) override {
    if (index == 0) {
      data_.write(1);
      event_->set();
      return;
    }
    const bool is_last = index + 1 == size_.threads;
    if (is_last && size_.timed) {
      if (!event_->wait_for(std::chrono::milliseconds{1})) return;
    } else {
      event_->wait();
    }
    model::require(data_.read() == 1, "what came before the set is seen");
    if (is_last && size_.destroys) event_->~Event();
  }

 private:
  model::client_size size_;
  alignas(Event) std::byte place_[sizeof(Event)];
  Event* event_;
  model::plain_data<unsigned> data_{0};
};

/// The first thread gives out work twice, and sets the event each time; the second one waits,
/// resets and looks, until it has found both: the set whose work it has not seen must not be
/// undone.
template <class Event>
class drained_event_client : public model::client {
 public:
  explicit drained_event_client(const model::client_size& size) : threads_{size.threads} {}

  [[nodiscard]] unsigned threads() const override { return threads_; }

  void thread(unsigned index) override {
    if (index == 0) {
      for (std::uint32_t work = 1; work <= 2; ++work) {
        work_.store(work, std::memory_order_relaxed);
        given_.set();
      }
      return;
    }
    do {
      given_.wait();
      given_.reset();
    } while (work_.load(std::memory_order_relaxed) != 2);
  }

 private:
  unsigned threads_;
  model::word<std::uint32_t> work_{0};
  Event given_;
};

}  // namespace lockyard::checker
