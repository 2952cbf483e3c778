// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of the libraries that read a text which another thread may write.

#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace plain_texts {

enum class use : unsigned char { puts, printf, number, real, stoi };

template <use How, bool InOrder = false>
struct read_by {
  static constexpr unsigned threads = 2;
  std::atomic<bool> is_written{false};
  char text[8] = "12";
  std::string string{"34"};
  int number = 0;
  void thread(unsigned index) {
    if (index == 1) {
      text[0] = '2';
      string[0] = '4';
      is_written.store(true, std::memory_order_release);
    } else if (!InOrder || is_written.load(std::memory_order_acquire)) {
      read();
    }
  }
  void read() {
    switch (How) {
      case use::puts: std::puts(text); break;
      case use::printf: std::printf("%d %s\n", 1, text); break;
      case use::number: number = std::atoi(text); break;
      case use::real: number = static_cast<int>(std::strtod(text, nullptr)); break;
      case use::stoi: number = std::stoi(string); break;
    }
    if (How == use::number && InOrder) assert(number == 22);
    if (How == use::stoi && InOrder) assert(number == 44);
  }
};

/// Writes behind what the function reads: no race.
struct read_to_the_end_of_a_number {
  static constexpr unsigned threads = 2;
  char text[8] = "12 34";
  void thread(unsigned index) {
    if (index == 1) {
      text[3] = '5';
      return;
    }
    char* end = nullptr;
    assert(std::strtol(text, &end, 10) == 12 && end == text + 2);
    errno = 0;
    assert(std::strtol("99999999999999999999", nullptr, 10) != 0 && errno == ERANGE);
  }
};

}  // namespace plain_texts

/// What programs of the competition on software verification call.
inline void assume_abort_if_not(int holds) {
  if (holds == 0) std::abort();
}

namespace plain_texts {

struct assumed_by_abort {
  static constexpr unsigned threads = 2;
  std::atomic<int> word{0};
  void thread(unsigned index) {
    if (index == 1) return word.store(1);
    const int seen = word.load();
    assume_abort_if_not(static_cast<int>(seen == 1));
    assert(word.load() == 1);
  }
};

}  // namespace plain_texts
