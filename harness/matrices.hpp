// SPDX-License-Identifier: Apache-2.0
#pragma once

// Work that has nothing to do with any lock: a thread multiplies two square matrices.

#include "random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockyard::harness {

class matrices {
 public:
  matrices(std::size_t rows, std::uint64_t seed)
      : rows_{rows}, left_(rows * rows), right_(rows * rows), product_(rows * rows) {
    xorshift draws{seed};
    // Small whole numbers, so that every product is exact.
    const auto fill = [&](std::vector<double>& matrix) {
      for (double& each : matrix) each = static_cast<double>(draws.next() % entries);
    };
    fill(left_);
    fill(right_);
  }

  /// Multiplies in the plain way, row by row, with the same code for every lock.
  [[gnu::noinline]] void multiply() noexcept {
    std::ranges::fill(product_, 0.0);
    for (std::size_t row = 0; row < rows_; ++row) {
      double* const to = product_.data() + row * rows_;
      for (std::size_t inner = 0; inner < rows_; ++inner) {
        const double factor = left_[row * rows_ + inner];
        const double* const from = right_.data() + inner * rows_;
        for (std::size_t column = 0; column < rows_; ++column) to[column] += factor * from[column];
      }
    }
    asm volatile("" : : "r"(product_.data()) : "memory");  // makes the compiler keep the result
  }

  /// Tells whether the product is right: applied to (1, 2, …), it equals both factors in turn.
  [[nodiscard]] bool product_is_right() const {
    std::vector<double> counted(rows_);
    for (std::size_t i = 0; i < rows_; ++i) counted[i] = static_cast<double>(i + 1);
    return applied(product_, counted) == applied(left_, applied(right_, counted));
  }

  [[nodiscard]] std::vector<double>& product() noexcept { return product_; }

 private:
  static constexpr std::uint64_t entries = 8;

  [[nodiscard]] std::vector<double> applied(const std::vector<double>& matrix,
                                            const std::vector<double>& to) const {
    std::vector<double> found(rows_, 0.0);
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t column = 0; column < rows_; ++column) {
        found[row] += matrix[row * rows_ + column] * to[column];
      }
    }
    return found;
  }

  std::size_t rows_;
  std::vector<double> left_;
  std::vector<double> right_;
  std::vector<double> product_;
};

}  // namespace lockyard::harness
