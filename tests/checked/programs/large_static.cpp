// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT race. Static initialisation may take 8 MB of memory.
#include <thread>
#include <vector>
static std::vector<int> values(2'000'000);
int main() {
  std::thread writer{[] { values[5] = 1; }};
#ifdef FAULT
  if (values[5] == 2) return 1;
#endif
  writer.join();
}
