// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. arrive_and_wait orders the phases: what a thread wrote in one, the
// other reads in the next; the completion runs between them. arrive() alone does not wait, so the
// other's work may be missing.
#include <barrier>
#include <cassert>
#include <thread>
int main() {
  int work[2] = {0, 0};
  int completed = 0;
  const auto complete = [&]() noexcept { ++completed; };
  std::barrier barrier{2, complete};
  const auto run = [&](int me) {
    work[me] = 1;
#ifndef FAULT
    barrier.arrive_and_wait();
#else
    (void)barrier.arrive();
#endif
    assert(work[1 - me] == 1);
  };
  std::thread other{run, 1};
  run(0);
  other.join();
  assert(completed == 1);
}
