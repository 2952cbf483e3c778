// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"

#include <time.h>

#include <mutex>
#include <new>
#include <string>

namespace lockyard::harness {

namespace {

constexpr std::size_t several = 8;
/// One of 8 operations of a thread goes to any stripe instead of its own.
constexpr std::uint64_t strays = 8;
constexpr std::uint32_t instead_steps = 100;

std::size_t rounded_up(std::size_t size, std::size_t to) {
  return (size + to - 1) / to * to;
}

/// One operation: acquire, count, hold.
void count_under(const any_lock& lock, std::uint64_t& counter, worker& work) {
  const std::lock_guard held{lock};
  counter = counter + 1;
  work.hold();
}

/// Several locks; the derived class chooses one for each operation.
class several_locks : public pattern {
 public:
  several_locks(const subject& lock, std::size_t count, lock_array::placement how)
      : locks_{lock, count, how} {}

  void step(pattern_thread& by) final {
    const std::size_t at = choose(by);
    count_under(locks_[at], locks_.counter(at), by.work);
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const final {
    return locks_.sum() == operations;
  }
  [[nodiscard]] void* main_lock() const final { return locks_.lock_at(0); }

 protected:
  [[nodiscard]] std::size_t count() const noexcept { return locks_.size(); }
  [[nodiscard]] virtual std::size_t choose(pattern_thread& by) const = 0;

 private:
  lock_array locks_;
};

class locks_at_random final : public several_locks {
 public:
  using several_locks::several_locks;

 private:
  [[nodiscard]] std::size_t choose(pattern_thread& by) const override {
    return by.draws.next() % count();
  }
};

class striped_locks final : public several_locks {
 public:
  using several_locks::several_locks;

 private:
  [[nodiscard]] std::size_t choose(pattern_thread& by) const override {
    const std::uint64_t drawn = by.draws.next();
    return (drawn % strays == 0 ? drawn / strays : by.number) % count();
  }
};

class locks_of_their_own final : public several_locks {
 public:
  using several_locks::several_locks;

 private:
  [[nodiscard]] std::size_t choose(pattern_thread& by) const override {
    return by.number % count();
  }
};

/// An outer lock, and then one of several inner ones.
class nested_locks final : public pattern {
 public:
  explicit nested_locks(const subject& lock)
      : outer_{lock, 1, lock_array::placement::apart},
        inner_{lock, several, lock_array::placement::apart} {}

  void step(pattern_thread& by) override {
    const std::size_t at = by.draws.next() % inner_.size();
    const any_lock outer = outer_[0];
    const std::lock_guard held{outer};
    outer_.counter(0) = outer_.counter(0) + 1;
    count_under(inner_[at], inner_.counter(at), by.work);
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return outer_.sum() == operations && inner_.sum() == operations;
  }
  [[nodiscard]] void* main_lock() const override { return outer_.lock_at(0); }

 private:
  lock_array outer_;
  lock_array inner_;
};

/// One lock that a thread only tries; if it is held, the thread does something else.
class tried_lock final : public pattern {
 public:
  explicit tried_lock(const subject& lock) : locks_{lock, 1, lock_array::placement::apart} {
    if (lock.operations.try_lock == nullptr) {
      throw condition_error{
          std::string{lock.traits.name} +
          " has no try_lock, so this workload does not apply to it; leave it out"};
    }
  }

  void step(pattern_thread& by) override {
    const any_lock lock = locks_[0];
    const std::unique_lock tried{lock, std::try_to_lock};
    if (!tried.owns_lock()) {
      by.skipped += 1;
      keep_busy(instead_steps);
      return;
    }
    locks_.counter(0) = locks_.counter(0) + 1;
    by.work.hold();
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return locks_.sum() == operations;
  }
  [[nodiscard]] void* main_lock() const override { return locks_.lock_at(0); }

 private:
  lock_array locks_;
};

/// One lock; after each operation a thread sleeps for the shortest time that the kernel grants.
class sleeping_threads final : public pattern {
 public:
  explicit sleeping_threads(const subject& lock) : locks_{lock, 1, lock_array::placement::apart} {}

  void step(pattern_thread& by) override {
    count_under(locks_[0], locks_.counter(0), by.work);
    constexpr timespec shortest{.tv_sec = 0, .tv_nsec = 1000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &shortest, nullptr);
  }
  [[nodiscard]] bool is_whole(std::uint64_t operations) const override {
    return locks_.sum() == operations;
  }
  [[nodiscard]] void* main_lock() const override { return locks_.lock_at(0); }

 private:
  lock_array locks_;
};

template <class Pattern, std::size_t Count, lock_array::placement How>
std::unique_ptr<pattern> make_several(const job& /*of*/, const subject& lock) {
  return std::make_unique<Pattern>(lock, Count, How);
}

template <class Pattern>
std::unique_ptr<pattern> make_one(const job& /*of*/, const subject& lock) {
  return std::make_unique<Pattern>(lock);
}

}  // namespace

lock_array::lock_array(const subject& of, std::size_t count, placement how)
    : operations_{of.operations},
      count_{count},
      to_counter_{how == placement::packed ? rounded_up(of.operations.size, alignof(std::uint64_t))
                                           : of.operations.spacing},
      stride_{how == placement::packed
                  ? rounded_up(to_counter_ + sizeof(std::uint64_t), of.operations.alignment)
                  : to_counter_ + lock_spacing},
      pages_{(count * stride_ + pages::size - 1) / pages::size} {
  for (std::size_t i = 0; i < count_; ++i) {
    operations_.construct(place_of(i));
    ::new (place_of(i) + to_counter_) std::uint64_t{0};
  }
}

lock_array::~lock_array() {
  for (std::size_t i = 0; i < count_; ++i) operations_.destroy(place_of(i));
}

std::uint64_t lock_array::sum() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += counter(i);
  return sum;
}

std::vector<listed_pattern> lock_patterns() {
  using enum lock_array::placement;
  return {
      {"one_apart", "one lock", 1, make_several<locks_at_random, 1, apart>},
      {"one_beside_data", "one lock", 1, make_several<locks_at_random, 1, packed>},
      {"one_sleeping", "one lock", 1, make_one<sleeping_threads>},
      {"random8", "several locks", 1, make_several<locks_at_random, several, apart>},
      {"striped8", "several locks", 1, make_several<striped_locks, several, apart>},
      {"own8", "several locks", 1, make_several<locks_of_their_own, several, apart>},
      {"own8_false_shared", "several locks", 1, make_several<locks_of_their_own, several, packed>},
      {"nested", "several locks", 2, make_one<nested_locks>},
      {"try_or_skip", "one lock", 1, make_one<tried_lock>},
  };
}

}  // namespace lockyard::harness
