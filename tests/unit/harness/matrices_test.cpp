// SPDX-License-Identifier: Apache-2.0
#include <matrices.hpp>

#include <gtest/gtest.h>

namespace lockyard::harness {
namespace {

TEST(Matrices, the_product_is_right) {
  for (const std::size_t rows : {1U, 2U, 7U, 64U}) {
    matrices on{rows, 5};
    on.multiply();
    on.multiply();  // over the first one's product
    EXPECT_TRUE(on.product_is_right()) << rows << " rows";
  }
}

TEST(Matrices, a_wrong_entry_is_found_wherever_it_is) {
  constexpr std::size_t rows = 5;
  for (std::size_t place = 0; place < rows * rows; ++place) {
    matrices on{rows, 5};
    on.multiply();
    on.product()[place] += 1;
    EXPECT_FALSE(on.product_is_right()) << "entry " << place;
  }
}

TEST(Matrices, nothing_multiplied_is_no_product) {
  EXPECT_FALSE(matrices(8, 5).product_is_right());
}

}  // namespace
}  // namespace lockyard::harness
