// SPDX-License-Identifier: Apache-2.0
// Values that live across calls, branches, loops, switches, recursion and thrown exceptions. Prints
// a number in which each of them counts.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

unsigned long long total = 14695981039346656037ULL;

[[gnu::noinline]] void mix(unsigned long long value) {
  total = (total ^ value) * 1099511628211ULL;
}

struct counted {
  static inline int living = 0;
  int value;
  explicit counted(int of) : value{of} { ++living; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { mix(static_cast<unsigned>(value + --living)); }
};

[[gnu::noinline]] int throws(int number, int depth) {
  const counted mine{number};
  if (depth == 0) {
    if (number % 3 == 0) throw std::runtime_error{"text " + std::to_string(number)};
    if (number % 5 == 0) throw number;
    return number;
  }
  const int before = number * 7 + depth;
  int found = 0;
  try {
    found = throws(number + 1, depth - 1);
    found = found * 31 + throws(number * 2, depth - 1);
  } catch (const std::exception& error) {
    found += static_cast<int>(std::string{error.what()}.size()) + before;
  }
  return found + mine.value + before;
}

[[gnu::noinline]] int switches(int number) {
  switch (number % 13) {
    case 0: return 3;
    case 1: return number * 2;
    case 2: return switches(number / 2) + number;
    case 3: return number - 1;
    case 4: return number ^ 55;
    case 5: return switches(number - 3) * 3 + number;
    case 6: return ~number;
    case 7: return number | 9;
    default: return switches(number - 8);
  }
}

[[gnu::noinline]] unsigned power(unsigned long long base, unsigned exponent, unsigned modulus) {
  unsigned long long result = 1;
  for (; exponent != 0; exponent /= 2) {
    mix(base);
    if (exponent % 2 == 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return static_cast<unsigned>(result);
}

void round(std::minstd_rand& random) {
  std::vector<std::string> words(100);
  for (std::string& each : words) {
    for (auto left = random() % 12; left != 0; --left)
      each += static_cast<char>('a' + random() % 26);
  }
  std::sort(words.begin(), words.end());
  std::map<std::string, std::size_t> sizes;
  for (const std::string& each : words) sizes[each.substr(0, 2)] += each.size();
  for (const auto& [word, size] : sizes) mix(word.size() * 1000 + size);
  for (int i = 0; i < 60; ++i) {
    try {
      mix(static_cast<unsigned>(throws(static_cast<int>(random() % 50), i % 6)));
    } catch (int number) {
      mix(static_cast<unsigned>(number) + 1000U);
    } catch (const std::exception&) {
      mix(7);
    }
    mix(static_cast<unsigned>(switches(static_cast<int>(random() % 1000))));
    mix(power(random(), static_cast<unsigned>(i), 1000003));
  }
  const std::function<int(int)> fibonacci = [&](int number) {
    return number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2);
  };
  mix(static_cast<unsigned>(fibonacci(10)));
}

}  // namespace

int main() {
  std::minstd_rand random{7};
  for (int i = 0; i < 20; ++i) round(random);
  std::printf("%llu\n", total);
}
