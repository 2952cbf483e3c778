// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Each thread has its own exception, though the C++ library uses the
// memory of the first one again; one that nothing catches ends the program.
#include <cassert>
#include <mutex>
#include <thread>
static std::mutex guard;
static int thrown;
static void run() {
#ifndef FAULT
  try {
#endif
    const std::scoped_lock held{guard};
    throw ++thrown;
#ifndef FAULT
  } catch (int which) {
    assert(which == 1 || which == 2);
  }
#endif
}
int main() {
  std::thread other{run};
#ifndef FAULT
  run();
#endif
  other.join();
}
