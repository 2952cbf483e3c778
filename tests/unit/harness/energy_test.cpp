// SPDX-License-Identifier: Apache-2.0
#include <energy.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace lockyard::harness {
namespace {

/// A folder like powercap's.
class EnergyMeter : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& zone, const char* file, const char* text) {
    std::filesystem::create_directories(folder_ / zone);
    std::ofstream{folder_ / zone / file} << text << '\n';
  }
  void package(const std::string& zone, const char* used_uj) {
    write(zone, "max_energy_range_uj", "10000000");
    write(zone, "energy_uj", used_uj);
  }

  /// A folder of this process: the tests run at the same time.
  std::filesystem::path folder_ = std::filesystem::path{::testing::TempDir()} /
                                  ("lockyard-energy-test-" + std::to_string(::getpid()));
};

TEST_F(EnergyMeter, adds_up_packages_and_not_their_parts) {
  package("intel-rapl:0", "1000000");
  package("intel-rapl:1", "9000000");
  package("intel-rapl:0:0", "5");
  const energy_meter meter{folder_};
  package("intel-rapl:0", "1500000");
  package("intel-rapl:1", "500000");  // it has wrapped around
  package("intel-rapl:0:0", "999");
  ASSERT_TRUE(meter.used_j());
  EXPECT_DOUBLE_EQ(*meter.used_j(), 0.5 + 1.5);
}

TEST_F(EnergyMeter, tells_nothing_where_the_machine_does_not) {
  EXPECT_FALSE(energy_meter{folder_}.used_j());
  package("intel-rapl:0", "1000000");
  write("intel-rapl:1", "max_energy_range_uj", "10000000");
  EXPECT_FALSE(energy_meter{folder_}.used_j()) << "one package is not told";
}

}  // namespace
}  // namespace lockyard::harness
