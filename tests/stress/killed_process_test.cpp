// SPDX-License-Identifier: Apache-2.0
// Kills a process after each single instruction of lock and unlock of shared_memory_mutex, and
// requires that the other processes go on, and hear of a dead owner.

#include <lockyard/park/shared_memory_mutex.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <thread>

namespace lockyard::testing {
namespace {

using namespace std::chrono_literals;

struct shared_page {
  shared_memory_mutex mutex;
  // A change sets both, one after the other. Other processes read them after a kill.
  std::atomic<int> first{0}, second{0};

  [[nodiscard]] bool has_sleepers() noexcept {
    const auto& word = reinterpret_cast<const std::atomic<std::uint32_t>&>(mutex);
    return (word.load() & 0x8000'0000) != 0;
  }
  void change() noexcept {
    mutex.lock();
    first.store(first.load() + 1);
    second.store(second.load() + 1);
    mutex.unlock();
  }
  /// Makes the data consistent as an owner does after owner_died(). Returns whether it was needed.
  bool repair() noexcept {
    const bool is_torn = first.load() != second.load();
    EXPECT_TRUE(mutex.owner_died() || !is_torn) << "a change was interrupted";
    second.store(first.load());
    mutex.make_consistent();
    return is_torn;
  }
};

/// Another process, forked from this one; ends at the latest with the object.
class process {
 public:
  enum class state { stopped, runs, ended };

  template <class Body>
  explicit process(Body body) : id_{fork()} {
    if (id_ != 0) return;
    alarm(60);
    body();
    _exit(0);
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process() { kill(); }

  void kill() noexcept {
    if (has_ended_) return;
    ::kill(id_, SIGKILL);
    while (look(0) != state::ended) {
    }
  }
  /// Waits until the process stops or ends, for at most `most`.
  state wait(std::chrono::milliseconds most) noexcept {
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      const state now = look(WNOHANG);
      const auto waited = std::chrono::steady_clock::now() - start;
      if (now != state::runs || waited >= most) return now;
      if (waited < 1ms) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(100us);
      }
    }
  }
  /// Lets the process execute one instruction. Returns `runs` if that takes longer than `most`.
  state step(std::chrono::milliseconds most) noexcept {
    ptrace(PTRACE_SINGLESTEP, id_, nullptr, nullptr);
    return most == 0ms ? look(0) : wait(most);
  }
  [[nodiscard]] bool was_stopped_by(int signal) const noexcept { return signal_ == signal; }

 private:
  state look(int how) noexcept {
    if (has_ended_) return state::ended;
    int status = 0;
    if (waitpid(id_, &status, how) != id_) return state::runs;
    has_ended_ = !WIFSTOPPED(status);
    signal_ = has_ended_ ? 0 : WSTOPSIG(status);
    return has_ended_ ? state::ended : state::stopped;
  }

  pid_t id_;
  bool has_ended_ = false;
  int signal_ = 0;
};

class KilledProcess : public ::testing::Test {
 protected:
  KilledProcess()
      : page_{::new(mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) shared_page} {}
  ~KilledProcess() override { munmap(page_, sizeof(shared_page)); }

  /// Returns a process that stops before and after page_->change().
  [[nodiscard]] auto stepped() {
    return [page = page_] {
      shared_memory_mutex other;
      other.lock();  // finds the list
      other.unlock();
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      std::raise(SIGSTOP);
      page->change();
      std::raise(SIGSTOP);
    };
  }
  /// Returns a process that repairs the data, if an owner has died.
  [[nodiscard]] auto waiter() {
    return [page = page_] {
      page->mutex.lock();
      page->repair();
      page->mutex.unlock();
    };
  }
  /// Waits until a thread sleeps for the mutex, or `other` is done.
  void await_sleeper(process& other) {
    while (!page_->has_sleepers() && other.wait(0ms) == process::state::runs) {
      std::this_thread::yield();
    }
  }
  void expect_usable(int step) {
    ASSERT_TRUE(page_->mutex.try_lock_for(20s)) << "locked forever after step " << step;
    was_torn_ += page_->repair() ? 1 : 0;
    page_->mutex.unlock();
  }

  /// The number of instructions between two kills; smaller with LOCKYARD_EVERY_STEP set.
  [[nodiscard]] static int stride(int usual, int least = 1) {
    return std::getenv("LOCKYARD_EVERY_STEP") != nullptr ? least : usual;
  }

  shared_page* page_;
  int was_torn_ = 0;
};

TEST_F(KilledProcess, leaves_the_mutex_to_others_at_each_instruction_of_an_owner) {
  bool is_done = false;
  int kills = 0;
  for (int steps = 1; !is_done; steps += stride(3)) {
    process owner{stepped()};
    ASSERT_EQ(owner.wait(20s), process::state::stopped) << "ptrace is unavailable";
    for (int i = 0; i < steps && !is_done; ++i) {
      ASSERT_EQ(owner.step(0ms), process::state::stopped);
      is_done = owner.was_stopped_by(SIGSTOP);
    }
    ++kills;
    owner.kill();
    expect_usable(steps);
  }
  EXPECT_GT(kills, 20) << "lock and unlock have more instructions than that";
  EXPECT_GT(was_torn_, 0) << "some kill has hit the critical section";
}

TEST_F(KilledProcess, wakes_a_sleeper_at_each_instruction_of_an_owner) {
  bool is_done = false;
  for (int steps = 1; !is_done; steps += stride(11)) {
    process owner{stepped()};
    ASSERT_EQ(owner.wait(20s), process::state::stopped);
    for (int i = 0; i < steps && !is_done; ++i) {
      ASSERT_EQ(owner.step(0ms), process::state::stopped);
      is_done = owner.was_stopped_by(SIGSTOP);
    }
    process sleeper{waiter()};
    await_sleeper(sleeper);
    owner.kill();
    ASSERT_EQ(sleeper.wait(20s), process::state::ended) << "asleep forever after step " << steps;
  }
}

TEST_F(KilledProcess, leaves_the_wake_up_to_others_at_each_instruction_of_a_waiter) {
  bool is_done = false;
  for (int steps = 1; !is_done; steps += stride(199, 7)) {
    page_->mutex.lock();
    bool is_held = true;
    process first{stepped()};
    ASSERT_EQ(first.wait(20s), process::state::stopped);
    std::optional<process> second;
    for (int i = 0; i < steps && !is_done; ++i) {
      process::state now = first.step(5ms);
      if (now == process::state::runs && is_held) {  // it sleeps
        second.emplace(waiter());
        std::this_thread::sleep_for(1ms);
        page_->mutex.unlock();
        is_held = false;
      }
      if (now == process::state::runs) now = first.wait(20s);
      ASSERT_EQ(now, process::state::stopped);
      is_done = first.was_stopped_by(SIGSTOP);
    }
    if (!second) second.emplace(waiter());
    first.kill();
    if (is_held) page_->mutex.unlock();
    ASSERT_EQ(second->wait(20s), process::state::ended) << "asleep forever after step " << steps;
    expect_usable(steps);
  }
}

}  // namespace
}  // namespace lockyard::testing
