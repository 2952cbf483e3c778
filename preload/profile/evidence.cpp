// SPDX-License-Identifier: Apache-2.0

#include "evidence.hpp"

#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "machine.hpp"

namespace lockyard::preload::record {
namespace {

/// Reads a file of a thread of this process, without the C library's buffers.
class task_file {
 public:
  task_file(u32 tid, const char* name) {
    if (is_confined()) return;
    char path[64] = "/proc/self/task/";
    char digits[12];
    int count = 0;
    for (; tid != 0; tid /= 10) digits[count++] = static_cast<char>('0' + tid % 10);
    char* to = path + std::strlen(path);
    while (count > 0) *to++ = digits[--count];
    *to++ = '/';
    std::strcpy(to, name);
    const long descriptor = kernel(__NR_openat, AT_FDCWD, word(path), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    const long length = kernel(__NR_read, descriptor, word(text_), sizeof text_ - 1);
    kernel(__NR_close, descriptor);
    text_[length > 0 ? length : 0] = 0;
  }

  const char* text() const { return text_; }

  /// Returns the next number of the text, and whether there was one.
  bool next(u64& to) {
    while (*at_ == ' ') ++at_;
    if (*at_ < '0' || *at_ > '9') return false;
    for (to = 0; *at_ >= '0' && *at_ <= '9'; ++at_) to = to * 10 + static_cast<u64>(*at_ - '0');
    return true;
  }

 private:
  char text_[256] = {};
  const char* at_ = text_;
};

}  // namespace

u64 monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
}

wait_evidence::schedule wait_evidence::schedule_of(u32 tid) {
  task_file file{tid, "schedstat"};
  schedule found;
  found.is_known = file.next(found.ran_ns) && file.next(found.queued_ns);
  return found;
}

void wait_evidence::account(const schedule& now, bool is_blocked, u64 now_ns) {
  const u64 interval = now_ns - since_ns_;
  if (!now.is_known || !before_.is_known) return;
  const u64 in_queue = std::min(interval, now.queued_ns - before_.queued_ns);
  const u64 on_processor = std::min(interval - in_queue, now.ran_ns - before_.ran_ns);
  // The kernel updates the time that a thread ran only now and then, so the rest is sleep only if
  // the thread was seen blocked.
  const u64 rest = interval - in_queue - on_processor;
  const u64 in_sleep = is_blocked || was_blocked_ ? rest : 0;
  add(asleep, in_sleep);
  owner_ns_ += interval;
  owner_asleep_ns_ += in_sleep;
  // The kernel adds the time in a queue when the thread leaves the queue. So all of the owner's
  // time is divided anew at each look.
  const u64 awake = owner_ns_ - owner_asleep_ns_;
  const u64 in_queues = std::min(awake, now.queued_ns - first_.queued_ns);
  spent_ns_[queued] = queued_before_ns_ + in_queues;
  spent_ns_[ran] = ran_before_ns_ + awake - in_queues;
  last_ = in_sleep > interval / 2 ? asleep : in_queue > interval / 2 ? queued : ran;
}

void wait_evidence::look(u32 owner, u32 turn) {
  if (owner == 0) return;
  const bool is_same = turn == turn_ && (owner_ == 0 || owner_ == owner);
  task_file file{owner, "syscall"};
  const char* const text = file.text();
  const bool is_blocked = *text == '-' || (*text >= '0' && *text <= '9');
  if (is_blocked) {
    u64 number = 0;
    system_call_ = file.next(number) ? static_cast<int>(number) : -1;
  }
  const schedule now = schedule_of(owner);
  const u64 now_ns = monotonic_ns();
  if (!is_same) {
    add(others, now_ns - since_ns_);
    last_ = others;
    since_ns_ = now_ns;
  } else if (owner_ != 0) {
    account(now, is_blocked, now_ns);
    since_ns_ = now_ns;
  }  // The time before the first look goes where the next interval goes.
  if (!is_same || owner_ == 0) {
    first_ = now;
    owner_ns_ = owner_asleep_ns_ = 0;
    queued_before_ns_ = spent_ns_[queued];
    ran_before_ns_ = spent_ns_[ran];
  }
  owner_ = owner;
  turn_ = turn;
  was_blocked_ = is_blocked;
  before_ = now;
}

void wait_evidence::end(u32 turn) {
  if (owner_ == 0) return;
  if (turn == turn_) {
    const schedule now = schedule_of(owner_);
    account(now, false, monotonic_ns());
  } else {
    add(others, monotonic_ns() - since_ns_);
    last_ = others;
  }
}

wait_cause wait_evidence::cause(u64 wait_ns, u64 late_ns, u32 others_first,
                                holder_mark mark) const {
  if (wait_ns < long_wait_ns) return wait_cause::too_short;
  const bool was_wiped = mark == holder_mark::wiped;
  if (last_ == parts) {  // it ended before the first look
    if (late_ns > wait_ns / 2) return wait_cause::woken_late;
    if (mark == holder_mark::kept) return wait_cause::holder_ran;
    if (was_wiped) return wait_cause::holder_queued;
    return others_first > 0 ? wait_cause::others_first : wait_cause::unknown;
  }
  u64 spent[parts];
  std::copy(std::begin(spent_ns_), std::end(spent_ns_), std::begin(spent));
  part last = last_;
  if (mark == holder_mark::kept) {  // the kernel's times are older than the mark
    spent[ran] += spent[queued] + spent[asleep];
    spent[queued] = spent[asleep] = 0;
    if (last != others) last = ran;
  }
  int most = 0;
  u64 most_ns = 0;
  for (int each = 0; each < parts; ++each) {
    const u64 free_ns = each == last ? std::min(late_ns, spent[each]) : 0;
    if (spent[each] - free_ns > most_ns) {
      most = each;
      most_ns = spent[each] - free_ns;
    }
  }
  if (late_ns > most_ns) return wait_cause::woken_late;
  if (most_ns * 5 < wait_ns * 2) return was_wiped ? wait_cause::holder_queued : wait_cause::unknown;
  constexpr wait_cause causes[] = {wait_cause::holder_ran, wait_cause::holder_queued,
                                   wait_cause::holder_asleep, wait_cause::others_first};
  return causes[most];
}

}  // namespace lockyard::preload::record
