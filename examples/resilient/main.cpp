// SPDX-License-Identifier: Apache-2.0

// An order book and a ledger call each other, each with its own lock held: the book pays for an
// order that it fills, the ledger drops an order that it refunds. In every round the two meet with
// their locks held, so that each round has a deadlock. One of them is told, releases what it has,
// and starts again, in the order on which both agree: the book before the ledger.

#include <lockyard/resilient/resilient_guard.hpp>
#include <lockyard/resilient/resilient_mutex.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>

namespace {

using lockyard::lock_result;
using mutex = lockyard::throwing<lockyard::resilient_mutex>;
using guard = lockyard::resilient_guard<lockyard::resilient_mutex>;

constexpr std::size_t rounds = 100;
constexpr long price = 25;

struct order_book {
  mutex lock{"order book"};
  long reserved = 2 * rounds * price;  ///< for two orders in each round
};

struct ledger {
  mutex lock{"ledger"};
  long sellers = 0;
  long buyers = 0;
};

order_book book;
ledger accounts;
std::barrier both{2};

lock_result pay_seller() {
  const guard held{accounts.lock.get()};
  if (held) accounts.sellers += price;
  return held.result();
}

lock_result drop_order() {
  const guard held{book.lock.get()};
  if (held) book.reserved -= price;
  return held.result();
}

/// Calls that can fail come first: after a failure no data has changed and nothing must be undone.
lock_result fill_order(bool meets) {
  const guard held{book.lock.get()};
  if (!held) return held.result();
  if (meets) both.arrive_and_wait();
  const lock_result paid = pay_seller();
  if (paid) book.reserved -= price;
  return paid;
}

lock_result refund_order(bool meets) {
  const guard held{accounts.lock.get()};
  if (!held) return held.result();
  if (meets) both.arrive_and_wait();
  const lock_result dropped = drop_order();
  if (dropped) accounts.buyers += price;
  return dropped;
}

/// The same, with both locks taken before anything is done, in the order of fill_order().
lock_result refund_order_in_order(bool /*meets*/) {
  const guard first{book.lock.get()};
  if (!first) return first.result();
  const guard second{accounts.lock.get()};
  if (!second) return second.result();
  book.reserved -= price;
  accounts.buyers += price;
  return second.result();
}

using step = lock_result (*)(bool meets);
using failures = std::array<bool, rounds>;  ///< by round

/// Repeats failed attempts. An attempt has released all its locks when it returns.
void work(step attempt, step attempt_again, failures& failed) {
  for (std::size_t round = 0; round < rounds; ++round) {
    for (lock_result done = attempt(true); !done; done = attempt_again(false)) {
      failed[round] = true;
      std::this_thread::yield();  // lets the other thread run
    }
    both.arrive_and_wait();
  }
}

/// Uses the standard's guards, which have no result: a failure is a std::system_error.
bool adds_up() {
  const std::scoped_lock all{book.lock, accounts.lock};
  constexpr long half = rounds * price;
  return book.reserved == 0 && accounts.sellers == half && accounts.buyers == half;
}

void print_first_report(const lockyard::lock_report& report) {
  static std::atomic<bool> was_printed{false};
  if (!was_printed.exchange(true)) lockyard::print_lock_report(report);
}

}  // namespace

int main() {
  lockyard::set_lock_report_handler(&print_first_report);
  failures of_book{}, of_ledger{};
  std::thread other{work, &refund_order, &refund_order_in_order, std::ref(of_ledger)};
  work(&fill_order, &fill_order, of_book);
  other.join();

  std::size_t recovered = 0;
  for (std::size_t i = 0; i < rounds; ++i) recovered += of_book[i] || of_ledger[i] ? 1 : 0;
  std::printf("%zu orders filled, %zu refunded\n", rounds, rounds);
  std::printf("recovered from %zu deadlocks\n", recovered);
  std::printf("the money %s\n", adds_up() ? "adds up" : "does NOT add up");
  return adds_up() && recovered == rounds ? EXIT_SUCCESS : EXIT_FAILURE;
}
