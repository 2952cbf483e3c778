// SPDX-License-Identifier: Apache-2.0
#include <tracing/tracepoints.hpp>

#include <gtest/gtest.h>

namespace lockyard::harness {
namespace {

constexpr const char* format =
    "name: sched_migrate_task\nID: 300\nformat:\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";

TEST(Tracepoints, a_field_is_found_by_its_whole_name) {
  EXPECT_EQ(offset_of_field(format, "pid"), 24U);
  EXPECT_EQ(offset_of_field(format, "common_pid"), 4U);
  EXPECT_EQ(offset_of_field(format, "dest_cpu"), 0U);
}

TEST(Tracepoints, of_a_name_that_no_kernel_has_there_is_no_number) {
  const tracepoint_folder folder;
  EXPECT_FALSE(folder.number_of("sched/no_such_tracepoint"));
  EXPECT_EQ(folder.format_of("sched/no_such_tracepoint"), "");
}

TEST(Tracepoints, numbers_and_formats_belong_together) {
  const tracepoint_folder folder;
  const auto number = folder.number_of("sched/sched_waking");
  if (!number) GTEST_SKIP() << "unavailable here: " << how_to_read_tracepoints();
  const std::string found = folder.format_of("sched/sched_waking");
  EXPECT_NE(found.find("\nID: " + std::to_string(*number) + "\n"), std::string::npos) << found;
  EXPECT_GT(offset_of_field(found, "pid"), 0U);
}

}  // namespace
}  // namespace lockyard::harness
