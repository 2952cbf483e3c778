// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks that readers share, in mixes of what can be done with them.

#include <checker/registry.hpp>

#include <lockyard/park/shared_mutex.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace lockyard::checker {

/// The single action of a thread. Writers change two counters; readers compare them.
enum class role : std::uint8_t {
  reads,
  reads_a_while,  ///< or gives up
  tries_to_read,
  writes,
  writes_a_while,
  downgrades,          ///< writes, then reads before it lets go
  downgrades_halfway,  ///< writes, reads as an upgrader, writes again
  upgrades,            ///< reads as an upgrader, then writes
  holds_upgrade,       ///< reads as an upgrader, and ends as a reader
  leaves,              ///< is a reader from the beginning
  destroys,            ///< writes as the last thread, and ends the lock itself
};

template <class Lock, role... Roles>
class shared_client : public model::client {
 public:
  explicit shared_client(const model::client_size& /*size*/) : lock_{::new(place_) Lock} {
    for (const role each : {Roles...}) {
      if (each == role::leaves) lock_->lock_shared();
    }
  }
  shared_client(const shared_client&) = delete;
  shared_client& operator=(const shared_client&) = delete;
  ~shared_client() override {
    if (lock_ != nullptr) lock_->~Lock();
  }

  [[nodiscard]] unsigned threads() const override { return sizeof...(Roles); }
  [[nodiscard]] unsigned symmetry_class(unsigned index) const override {
    return static_cast<unsigned>(std::array{Roles...}[index]);
  }

  void thread(unsigned index) override {
    constexpr std::array roles{Roles...};
    constexpr std::chrono::milliseconds a_while{1};
    switch (roles[index]) {
      case role::reads: lock_->lock_shared(); return look_and_leave();
      case role::reads_a_while:
        if (lock_->try_lock_shared_for(a_while)) look_and_leave();
        return;
      case role::tries_to_read:
        if (lock_->try_lock_shared()) look_and_leave();
        return;
      case role::writes: lock_->lock(); return change_and_leave();
      case role::writes_a_while:
        if (lock_->try_lock_for(a_while)) change_and_leave();
        return;
      case role::downgrades:
        lock_->lock();
        change();
        lock_->unlock_and_lock_shared();
        return look_and_leave();
      case role::downgrades_halfway:
        lock_->lock();
        change();
        lock_->unlock_and_lock_upgrade();
        return upgrade_and_leave();
      case role::upgrades: lock_->lock_upgrade(); return upgrade_and_leave();
      case role::holds_upgrade:
        lock_->lock_upgrade();
        look();
        lock_->unlock_upgrade_and_lock_shared();
        return look_and_leave();
      case role::leaves: return look_and_leave();
      case role::destroys:
        if (!lock_->try_lock_for(a_while)) lock_->lock();
        change_and_leave();
        std::exchange(lock_, nullptr)->~Lock();
    }
  }

  void finish() override {
    look();
    unsigned least = 0;
    unsigned most = 0;
    for (const role each : {Roles...}) {
      least += least_changes(each);
      most += each == role::writes_a_while ? 1 : least_changes(each);
    }
    model::require(least <= first_.read() && first_.read() <= most, "no update is lost");
  }

 private:
  static constexpr unsigned least_changes(role of) {
    switch (of) {
      case role::writes:
      case role::upgrades:
      case role::downgrades:
      case role::destroys: return 1;
      case role::downgrades_halfway: return 2;
      default: return 0;
    }
  }

  unsigned look() {
    const unsigned found = first_.read();
    model::require(found == second_.read(), "both counters agree");
    return found;
  }
  void change() {
    first_.write(first_.read() + 1);
    second_.write(second_.read() + 1);
  }
  void look_and_leave() {
    look();
    lock_->unlock_shared();
  }
  void change_and_leave() {
    change();
    lock_->unlock();
  }
  void upgrade_and_leave() {
    const unsigned seen = look();
    lock_->unlock_upgrade_and_lock();
    model::require(look() == seen, "no thread writes between an upgrader's look and its write");
    change_and_leave();
  }

  /// Stays where it is after the lock's end, so that a thread that still uses the lock finds it
  /// ended.
  alignas(Lock) std::byte place_[sizeof(Lock)];
  Lock* lock_;
  model::plain_data<unsigned> first_{0};
  model::plain_data<unsigned> second_{0};
};

}  // namespace lockyard::checker
