// SPDX-License-Identifier: Apache-2.0
#pragma once

// A biased mutex that its next owner ends, and another one in its memory.

#include <lockyard/park/biased_mutex.hpp>
#include <lockyard/park/futex_mutex.hpp>

#include <model/client.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

namespace lockyard::checker {

/// A mutex inside that is small, because M is checked by itself; one acquisition gives the bias.
using eager_biased_mutex = biased_mutex<basic_futex_mutex<model::model>, 1>;

/// The first thread gets the bias of a mutex, and holds it. The second thread revokes the bias,
/// ends the mutex when it owns it, makes another one in its memory, and gets and holds that one's
/// bias. The third thread revokes this bias. So the last wake of the first thread may reach the
/// third one, which sleeps at the same address. The lock is a parameter for the seeded faults.
template <class Lock>
class biased_reuse_client : public model::client {
 public:
  explicit biased_reuse_client(const model::client_size& /*size*/) { ::new (place_.data()) Lock; }

  [[nodiscard]] unsigned threads() const override { return 3; }

  void thread(unsigned index) override {
    if (index == 0) {
      hold_by_bias();
      count_.write(count_.read() + 1);
      say(1);
      here().unlock();
    } else if (index == 1) {
      await_word(1);
      here().lock();
      count_.write(count_.read() + 1);
      std::destroy_at(&here());
      ::new (place_.data()) Lock;
      hold_by_bias();
      say(2);
      count_.write(count_.read() + 1);
      here().unlock();
    } else {
      await_word(2);
      here().lock();
      count_.write(count_.read() + 1);
      here().unlock();
    }
  }

  void finish() override { model::require(count_.read() == 4, "no update is lost"); }

 private:
  Lock& here() { return *std::launder(reinterpret_cast<Lock*>(place_.data())); }
  /// One acquisition gives the bias.
  void hold_by_bias() {
    here().lock();
    here().unlock();
    here().lock();
  }
  void say(unsigned generation) {
    // order[say]: release; pairs [await]; publishes the mutex.
    word_.store(generation, std::memory_order_release);
  }
  void await_word(unsigned generation) {
    // order[await]: acquire; pairs [say]; the mutex is there.
    model::model::await(
        word_, [generation](unsigned seen) noexcept { return seen >= generation; },
        std::memory_order_acquire, wait_policies::pausing{});
  }

  alignas(Lock) std::array<std::byte, sizeof(Lock)> place_{};
  model::word<unsigned> word_{0};
  model::plain_data<unsigned> count_{0};
};

}  // namespace lockyard::checker
