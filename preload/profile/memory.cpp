// SPDX-License-Identifier: Apache-2.0

#include "memory.hpp"

#include <fcntl.h>
#include <linux/limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.hpp"

namespace lockyard::preload::record {

constinit header* file = nullptr;
constinit thread_block* records[most_records] = {};
constinit u32 records_used = 0;

namespace {

constexpr u64 most_mapped_bytes = u64{1} << 30;
constexpr u64 chunk_bytes = u64{256} << 10;
constexpr u64 confined_bytes = u64{16} << 20;  ///< for all that a confined process records
constexpr u64 share_of_limit = 16;             ///< of the address space that the program may have
constexpr u64 ticks_between_notes = u64{1} << 24;

constinit char path[PATH_MAX] = {};
constinit u64 mapped_bytes = 0;  ///< changes under is_growing
constinit int is_growing = 0;
constinit pthread_key_t thread_end{};
constinit bool has_key = false;

constinit thread_local thread_block* mine __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool has_ended __attribute__((tls_model("initial-exec"))) = false;

u64 clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
}

/// Gives the file memory up to `bytes`, so that a full disk is an error here and no signal later.
bool reserve(int descriptor, u64 bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return false;  // a signal
  return kernel(__NR_fallocate, descriptor, 0, 0, static_cast<long>(bytes)) == 0;
}

u64 whole_chunks(u64 bytes) {
  return (bytes + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
}

/// Returns how much of the address space is mapped where the program may have `limit` bytes of it.
u64 mapped_within(u64 limit) {
  return std::clamp(whole_chunks(limit / share_of_limit), chunk_bytes, most_mapped_bytes);
}

void begin_growing() {
  while (__atomic_exchange_n(&is_growing, 1, __ATOMIC_ACQUIRE) != 0) yield();
}
void end_growing() {
  __atomic_store_n(&is_growing, 0, __ATOMIC_RELEASE);
}

bool grow(u64 needed) {
  if (__atomic_load_n(&file->reserved, __ATOMIC_ACQUIRE) >= needed) return true;
  // relaxed(hint): the holder of is_growing looks again.
  if (is_confined() || needed > __atomic_load_n(&mapped_bytes, __ATOMIC_RELAXED)) return false;
  begin_growing();
  bool is_done = file->reserved >= needed;
  if (!is_done && needed <= mapped_bytes) {
    const u64 wanted = std::min(mapped_bytes, whole_chunks(needed));
    const long descriptor = kernel(__NR_openat, AT_FDCWD, word(path), O_RDWR | O_CLOEXEC);
    if (descriptor >= 0) {
      is_done = reserve(static_cast<int>(descriptor), wanted);
      if (is_done) __atomic_store_n(&file->reserved, wanted, __ATOMIC_RELEASE);
      kernel(__NR_close, descriptor);
    }
  }
  end_growing();
  return is_done;
}

void fill_header(header& to) {
  std::memcpy(to.magic, "LKYDREC", 8);
  to.version = layout_version;
  to.pid = static_cast<u32>(getpid());
  to.parent = static_cast<u32>(getppid());
  to.start_ns = to.latest_ns = clock_ns(CLOCK_MONOTONIC);
  to.start_ticks = to.latest_ticks = ticks();
  to.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  to.used = header_bytes;
  to.reserved = header_bytes;
  const long length = kernel(__NR_readlinkat, AT_FDCWD, word("/proc/self/exe"), word(to.program),
                             sizeof to.program - 1);
  if (length < 0) to.program[0] = 0;
  __atomic_store_n(&to.is_complete, 1, __ATOMIC_RELEASE);
}

thread_block* take_record_over() {
  const u32 count = std::min(__atomic_load_n(&records_used, __ATOMIC_ACQUIRE), most_records);
  for (u32 i = 0; i < count; ++i) {
    thread_block* const each = __atomic_load_n(&records[i], __ATOMIC_ACQUIRE);
    u32 no_thread = 0;
    if (each != nullptr && __atomic_load_n(&each->tid, __ATOMIC_RELAXED) == 0 &&
        __atomic_compare_exchange_n(&each->tid, &no_thread, own_tid(), false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      return each;
    }
  }
  return nullptr;
}

thread_block* new_record() {
  const u32 number = __atomic_fetch_add(&records_used, 1, __ATOMIC_RELAXED);
  if (number >= most_records)
    return __atomic_fetch_sub(&records_used, 1, __ATOMIC_RELAXED), nullptr;
  auto* const made = allocate_block<thread_block>();
  if (made == nullptr) return nullptr;
  made->number = number + 1;
  made->tid = own_tid();
  __atomic_store_n(&records[number], made, __ATOMIC_RELEASE);
  return made;
}

}  // namespace

void open_file() {
  const char* const folder = std::getenv("LOCKYARD_RECORDS");
  if (folder == nullptr || file != nullptr || is_confined()) return;
  long descriptor = -1;
  for (int attempt = 0; attempt < 100 && (descriptor == -1 || descriptor == -EEXIST); ++attempt) {
    const int length =
        std::snprintf(path, sizeof path, "%s/%d-%d.lockrec", folder, getpid(), attempt);
    if (length <= 0 || static_cast<std::size_t>(length) >= sizeof path) return;
    descriptor =
        kernel(__NR_openat, AT_FDCWD, word(path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  if (descriptor < 0) return;
  void* mapped = MAP_FAILED;
  rlimit limit{};
  mapped_bytes =
      getrlimit(RLIMIT_AS, &limit) == 0 ? mapped_within(limit.rlim_cur) : most_mapped_bytes;
  if (reserve(static_cast<int>(descriptor), header_bytes)) {
    mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  static_cast<int>(descriptor), 0);
  }
  kernel(__NR_close, descriptor);
  if (mapped == MAP_FAILED) {
    kernel(__NR_unlinkat, AT_FDCWD, word(path));
    return;
  }
  fill_header(*static_cast<header*>(mapped));
  __atomic_store_n(&file, static_cast<header*>(mapped), __ATOMIC_RELEASE);
  if (!has_key) has_key = pthread_key_create(&thread_end, end_of_thread) == 0;
}

void forget_file() {
  if (file != nullptr && !is_confined()) munmap(file, mapped_bytes);
  file = nullptr;
  mine = nullptr;
  is_growing = 0;
  records_used = 0;
  std::memset(records, 0, sizeof records);
}

void fit_into(u64 limit) {
  if (file == nullptr || is_confined()) return;
  begin_growing();
  const u64 kept = std::max(file->reserved, mapped_within(limit));
  const u64 from = whole_chunks(kept);
  if (from < mapped_bytes) {
    munmap(reinterpret_cast<char*>(file) + from, mapped_bytes - from);
    __atomic_store_n(&mapped_bytes, from, __ATOMIC_RELAXED);
  }
  end_growing();
}

void reserve_for_confinement() {
  if (file == nullptr || is_confined()) return;
  const u64 used = __atomic_load_n(&file->used, __ATOMIC_RELAXED);
  grow(std::min(mapped_bytes, used + confined_bytes));
}

void* allocate(std::size_t bytes) {
  if (file == nullptr) return nullptr;
  const u64 size = (bytes + 7) / 8 * 8;
  const u64 at = __atomic_fetch_add(&file->used, size, __ATOMIC_RELAXED);
  if (!grow(at + size)) {
    // The reader stops at the end of what has memory.
    count_lost();
    return nullptr;
  }
  auto* const made = reinterpret_cast<char*>(file) + at;
  reinterpret_cast<block*>(made)->size = static_cast<u32>(size);
  return made;
}

void note_time() {
  if (file == nullptr) return;
  __atomic_store_n(&file->latest_ticks, ticks(), __ATOMIC_RELAXED);
  __atomic_store_n(&file->latest_ns, clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
}

void note_time_now_and_then(u64 now_ticks) {
  if (file == nullptr) return;
  const u64 latest = __atomic_load_n(&file->latest_ticks, __ATOMIC_RELAXED);
  if (now_ticks - latest >= ticks_between_notes) note_time();
}

void note_name(thread_block& of) {
  if (!is_confined()) kernel(__NR_prctl, PR_GET_NAME, word(of.name));
  of.latest_tid = of.tid;
}

void end_record() {
  mine = nullptr;
  has_ended = true;
}

thread_block* own_record() {
  if (mine != nullptr) [[likely]]
    return mine;
  if (file == nullptr || has_ended) return nullptr;
  thread_block* found = take_record_over();
  if (found == nullptr) found = new_record();
  if (found == nullptr) return count_lost(), nullptr;
  note_name(*found);
  __atomic_fetch_add(&file->threads, 1, __ATOMIC_RELAXED);
  publish(found->head, block_kind::thread);
  mine = found;
  if (has_key) pthread_setspecific(thread_end, found);
  return found;
}

thread_block* record_of(u32 tid) {
  const u32 count = std::min(__atomic_load_n(&records_used, __ATOMIC_ACQUIRE), most_records);
  for (u32 i = 0; i < count; ++i) {
    thread_block* const each = __atomic_load_n(&records[i], __ATOMIC_ACQUIRE);
    if (each != nullptr && __atomic_load_n(&each->tid, __ATOMIC_RELAXED) == tid) return each;
  }
  return nullptr;
}

void postpone_end_of_thread(void* record) {
  pthread_setspecific(thread_end, record);
}

void give_record_back(void* record) {
  auto* const of = static_cast<thread_block*>(record);
  mine = nullptr;
  __atomic_store_n(&of->waits_for, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&of->tid, 0, __ATOMIC_RELEASE);
}

}  // namespace lockyard::preload::record
