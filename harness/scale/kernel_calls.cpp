// SPDX-License-Identifier: Apache-2.0
#include "kernel_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace lockyard::harness {

namespace {

[[noreturn]] void refuse(const std::string& path) {
  const std::string why = std::strerror(errno);
  throw condition_error{"the files for the system calls cannot be made in " + path + ": " + why +
                        "; set TMPDIR to a folder with room"};
}

}  // namespace

kernel_files::kernel_files(unsigned threads, bool share_directory) {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  if (error) {
    throw condition_error{"the files for the system calls have no folder: " + error.message() +
                          "; set TMPDIR to a folder with room"};
  }
  folder_ = (parent / "lockyard-scale.XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) refuse(folder_);
  try {
    for (unsigned i = 0; i < threads; ++i) {
      const std::string number = std::to_string(i);
      std::filesystem::path within = folder_;
      if (!share_directory) {
        within /= number;
        if (mkdir(within.c_str(), S_IRWXU) != 0) refuse(within);
        folders_.push_back(within);
      }
      make_file((within / number).replace_extension("file"));
    }
  } catch (...) {
    remove_all();
    throw;
  }
}

kernel_files::~kernel_files() {
  remove_all();
}

void kernel_files::make_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) refuse(path);
  files_.push_back(file);
  paths_.push_back(path);
}

void kernel_files::remove_all() noexcept {
  for (const int each : files_) close(each);
  for (const std::string& each : paths_) unlink(each.c_str());
  for (const std::string& each : folders_) rmdir(each.c_str());
  rmdir(folder_.c_str());
}

void kernel_files::open_and_close(unsigned thread) noexcept {
  const int file = open(paths_[thread].c_str(), O_RDWR | O_CLOEXEC);
  note(file >= 0 && close(file) == 0);
}

void kernel_files::lock_and_unlock(unsigned file) noexcept {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  const bool locked = fcntl(files_[file], F_SETLK, &range) == 0;
  range.l_type = F_UNLCK;
  note(locked && fcntl(files_[file], F_SETLK, &range) == 0);
}

void kernel_files::note(bool succeeded) noexcept {
  // relaxed(atomicity): read after the threads have ended.
  if (!succeeded) has_failed_.store(true, std::memory_order_relaxed);
}

}  // namespace lockyard::harness
