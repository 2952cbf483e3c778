// SPDX-License-Identifier: Apache-2.0
#include <scale/objects.hpp>

#include <gtest/gtest.h>

namespace lockyard::harness {
namespace {

TEST(Objects, a_file_gets_the_lowest_free_number) {
  file_table files;
  for (unsigned file = 0; file < 70; ++file) EXPECT_EQ(files.open(1), file);
  files.close(65, 1);
  files.close(3, 1);
  EXPECT_EQ(files.open(2), 3U);
  EXPECT_EQ(files.open(2), 65U);
  EXPECT_FALSE(files.is_whole());  // 70 are open
}

TEST(Objects, a_table_is_whole_when_all_is_closed_by_whom_it_was_opened) {
  file_table files;
  const unsigned file = files.open(1);
  files.look_up(file, 1);
  files.close(file, 1);
  EXPECT_TRUE(files.is_whole());
  files.close(files.open(1), 2);
  EXPECT_FALSE(files.is_whole());
  EXPECT_EQ(files.books().counter, 4U);
}

TEST(Objects, a_look_for_a_file_that_is_not_open_is_a_fault) {
  file_table files;
  files.look_up(0, 1);
  EXPECT_FALSE(files.is_whole());
}

TEST(Objects, who_locks_a_range_again_takes_it_over) {
  range_list ranges;
  ranges.insert(1);
  ranges.insert(2);
  EXPECT_FALSE(ranges.is_whole());
  ranges.remove(1);
  EXPECT_TRUE(ranges.is_whole());
  ranges.remove(2);  // nothing is there any more
  EXPECT_TRUE(ranges.is_whole());
  EXPECT_EQ(ranges.books().counter, 4U);
  EXPECT_EQ(ranges.books().switches, 4U);
}

TEST(Objects, a_directory_is_whole_when_no_reference_is_left) {
  directory in;
  in.take_reference(1);
  in.look_up(1);
  EXPECT_FALSE(in.is_whole());
  in.drop_reference(1);
  EXPECT_TRUE(in.is_whole());
  EXPECT_EQ(in.books().switches, 1U);
}

}  // namespace
}  // namespace lockyard::harness
