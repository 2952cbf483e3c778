// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace lockyard::inline v0 {

/// Work to be done once, by any thread, under a name that reports use. Moves only, so that the work
/// need not be copyable; empty after it was moved from.
class task {
 public:
  /// The contents of a queue of tasks.
  struct body {
    explicit body(const char* called) noexcept : name{called} {}
    body(const body&) = delete;
    body& operator=(const body&) = delete;
    virtual ~body() = default;
    virtual void run() = 0;

    const char* const name;
  };

  task() noexcept = default;

  /// Preconditions: `name` is not null, and its text outlives the task and every report that names
  /// it, as a literal does; `work()` can be called.
  /// Effects: keeps `work` in memory of its own. Throws any exception of the allocation or the move
  /// of `work`.
  template <std::invocable Work>
    requires std::move_constructible<Work>
  task(const char* name, Work work)
      : body_{std::make_unique<holder<Work>>(name, std::move(work))} {}

  explicit task(std::unique_ptr<body> from) noexcept : body_{std::move(from)} {}
  /// Leaves the task empty.
  std::unique_ptr<body> release() noexcept { return std::move(body_); }

  [[nodiscard]] explicit operator bool() const noexcept { return body_ != nullptr; }
  /// Precondition: not empty.
  [[nodiscard]] const char* name() const noexcept { return body_->name; }
  /// Precondition: not empty. Effects: does the work. Throws any exception of the work.
  void operator()() { body_->run(); }

 private:
  template <class Work>
  struct holder final : body {
    holder(const char* called, Work&& from) : body{called}, work{std::move(from)} {}
    void run() override { static_cast<void>(std::invoke(work)); }

    Work work;
  };

  std::unique_ptr<body> body_;
};

}  // namespace lockyard::inline v0
