// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. std::barrier with three threads: what each wrote is there for all behind
// it. A thread that only arrives does not wait, so its read of what another wrote is ordered with
// the write in no execution.
#include <barrier>
#include <cassert>
#include <thread>
static std::barrier<> barrier{3};
static int parts[3];
static void run(int index) {
  parts[index] = index + 1;
#ifdef FAULT
  static_cast<void>(barrier.arrive());
  if (index == 0 && parts[1] + parts[2] == 0) return;
#else
  barrier.arrive_and_wait();
  if (index == 0) assert(parts[0] + parts[1] + parts[2] == 6);
#endif
}
int main() {
  std::thread one{run, 1};
  std::thread two{run, 2};
  run(0);
  one.join();
  two.join();
}
