// SPDX-License-Identifier: Apache-2.0
#include "tracepoints.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace lockyard::harness {

namespace {

descriptor open_folder() {
  constexpr int folder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  for (const char* const place :
       {"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"}) {
    descriptor mounted{::open(place, folder)};
    if (mounted.is_open()) return mounted;
  }
  constexpr unsigned create = 6;  // FSCONFIG_CMD_CREATE
  const descriptor context{static_cast<int>(syscall(SYS_fsopen, "tracefs", 0U))};
  if (!context.is_open()) return {};
  if (syscall(SYS_fsconfig, context.number(), create, nullptr, nullptr, 0) != 0) return {};
  const descriptor unplaced{static_cast<int>(syscall(SYS_fsmount, context.number(), 0U, 0U))};
  if (!unplaced.is_open()) return {};
  return descriptor{openat(unplaced.number(), "events", folder)};
}

}  // namespace

tracepoint_folder::tracepoint_folder() : folder_{open_folder()} {}

std::optional<std::uint16_t> tracepoint_folder::number_of(const std::string& name) const {
  const std::string text = read(name + "/id");
  std::uint16_t found = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), found);
  if (end.ec != std::errc{}) return std::nullopt;
  return found;
}

std::string tracepoint_folder::format_of(const std::string& name) const {
  return read(name + "/format");
}

std::string tracepoint_folder::read(const std::string& path) const {
  std::string found;
  if (!folder_.is_open()) return found;
  const descriptor file{openat(folder_.number(), path.c_str(), O_RDONLY | O_CLOEXEC)};
  std::array<char, 4096> part{};
  while (file.is_open()) {
    const ssize_t count = ::read(file.number(), part.data(), part.size());
    if (count <= 0) break;
    found.append(part.data(), static_cast<std::size_t>(count));
  }
  return found;
}

std::size_t offset_of_field(const std::string& format, const std::string& field) {
  const std::size_t at = format.find(" " + field + ";");
  if (at == std::string::npos) return 0;
  constexpr std::string_view offset = "offset:";
  const std::size_t begin = format.find(offset, at);
  std::size_t found = 0;
  if (begin != std::string::npos) {
    std::from_chars(format.data() + begin + offset.size(), format.data() + format.size(), found);
  }
  return found;
}

std::string how_to_read_tracepoints() {
  constexpr const char* mount = "mount -t tracefs nodev /sys/kernel/tracing";
  if (geteuid() == 0) {
    return std::string{"mount tracefs ("} + mount + "), under a kernel that has tracepoints";
  }
  return std::string{"run as root; or, with CAP_PERFMON alone, where tracefs is mounted ("} +
         mount + ")";
}

}  // namespace lockyard::harness
