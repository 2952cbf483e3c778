// SPDX-License-Identifier: Apache-2.0
#include "kernel_ring.hpp"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace lockyard::harness {

namespace {

constexpr std::size_t page = 4096;

}  // namespace

descriptor::~descriptor() {
  if (number_ >= 0) close(number_);
}

perf_event_attr event_attributes(std::uint32_t type, std::uint64_t config) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = type;
  wanted.config = config;
  wanted.disabled = 1;
  wanted.write_backward = 1;
  wanted.use_clockid = 1;
  wanted.clockid = CLOCK_MONOTONIC_RAW;
  return wanted;
}

descriptor open_event(perf_event_attr attributes, watched who) {
  const long found =
      syscall(SYS_perf_event_open, &attributes, who.thread, who.cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (found < 0) throw std::system_error{errno, std::generic_category()};
  return descriptor{static_cast<int>(found)};
}

void leave_out_others(int event, const char* field, const std::vector<std::uint32_t>& threads) {
  constexpr std::size_t most_named = 100;
  if (threads.size() > most_named) return;
  std::string only;
  for (const std::uint32_t each : threads) {
    only += (only.empty() ? "" : "||") + std::string{field} + "==" + std::to_string(each);
  }
  ioctl(event, PERF_EVENT_IOC_SET_FILTER, only.c_str());
}

kernel_ring::kernel_ring(descriptor event, std::size_t most_bytes) : event_{std::move(event)} {
  for (std::size_t bytes = most_bytes; bytes >= page; bytes /= 2) {
    // Not writable: the kernel then overwrites unread records.
    void* const found = mmap(nullptr, bytes + page, PROT_READ, MAP_SHARED, event_.number(), 0);
    if (found != MAP_FAILED) {
      pages_ = static_cast<std::byte*>(found);
      bytes_ = bytes;
      return;
    }
    if (errno != EPERM && errno != ENOMEM) break;
  }
  throw std::system_error{errno, std::generic_category()};
}

kernel_ring::kernel_ring(kernel_ring&& other) noexcept
    : event_{std::move(other.event_)},
      pages_{std::exchange(other.pages_, nullptr)},
      bytes_{other.bytes_} {}

kernel_ring& kernel_ring::operator=(kernel_ring&& other) noexcept {
  std::swap(event_, other.event_);
  std::swap(pages_, other.pages_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

kernel_ring::~kernel_ring() {
  if (pages_ != nullptr) munmap(pages_, bytes_ + page);
}

void kernel_ring::share_with(const descriptor& other) const {
  if (ioctl(other.number(), PERF_EVENT_IOC_SET_OUTPUT, event_.number()) != 0) {
    throw std::system_error{errno, std::generic_category()};
  }
}

void kernel_ring::enable() const noexcept {
  ioctl(event_.number(), PERF_EVENT_IOC_ENABLE, 0);
}

void kernel_ring::disable() const noexcept {
  ioctl(event_.number(), PERF_EVENT_IOC_DISABLE, 0);
}

std::uint64_t kernel_ring::read(const std::function<void(const kernel_record&)>& each) const {
  auto& books = *reinterpret_cast<perf_event_mmap_page*>(pages_);
  // A ring that is written backwards begins at 0 and continues below.
  // order[head]: acquire; pairs [kernel]; the kernel's records come before its head.
  const std::uint64_t head = std::atomic_ref{books.data_head}.load(std::memory_order_acquire);
  const std::uint64_t written = 0 - head;
  const std::uint64_t kept = written < bytes_ ? written : bytes_;
  const std::byte* const ring = pages_ + page;
  std::vector<std::byte> record;
  const auto copy = [&](std::uint64_t from, std::size_t bytes) {
    record.resize(bytes);
    const std::size_t begin = from & (bytes_ - 1);
    const std::size_t first = std::min(bytes, bytes_ - begin);
    std::memcpy(record.data(), ring + begin, first);
    std::memcpy(record.data() + first, ring, bytes - first);
  };
  std::uint64_t done = 0;
  while (done + sizeof(perf_event_header) <= kept) {
    perf_event_header of{};
    copy(head + done, sizeof of);
    std::memcpy(&of, record.data(), sizeof of);
    if (of.size < sizeof of || done + of.size > kept)
      break;  // the oldest record is half overwritten
    copy(head + done, of.size);
    each({.type = of.type,
          .flags = of.misc,
          .body = record.data() + sizeof of,
          .bytes = of.size - sizeof of});
    done += of.size;
  }
  return written - done;
}

std::string why_refused(int error, std::string_view what) {
  const std::string start = std::string{what} + ": ";
  if (error == EACCES || error == EPERM) {
    std::string level = "unknown";
    std::ifstream{"/proc/sys/kernel/perf_event_paranoid"} >> level;
    return start + "perf_event_open is not permitted (kernel.perf_event_paranoid is " + level +
           "), or a container filters it; run as root or with CAP_PERFMON";
  }
  if (error == ENOSYS) return start + "this kernel, or a container's filter, has no perf events";
  return start + std::strerror(error);
}

}  // namespace lockyard::harness
