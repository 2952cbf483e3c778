// SPDX-License-Identifier: Apache-2.0
#include "support/pools.hpp"

#include <utility>

namespace lockyard::testing {

namespace {

template <class Idle>
class pool_of final : public some_pool {
 public:
  explicit pool_of(worker_pool_options options) : pool_{std::move(options)} {}

  std::optional<refused_task> submit(task work) override { return pool_.submit(std::move(work)); }
  std::optional<refused_task> try_submit(task work) override {
    return pool_.try_submit(std::move(work));
  }
  void drain() override { pool_.drain(); }
  std::vector<task> cancel() override { return pool_.cancel(); }
  stop_report stop_within(std::chrono::nanoseconds patience) override {
    return pool_.stop_within(patience);
  }
  [[nodiscard]] std::size_t waiting() const override { return pool_.waiting(); }

 private:
  worker_pool<Idle> pool_;
};

template <class Idle>
constexpr pool_maker maker_of{Idle::label,
                              [](worker_pool_options options) -> std::unique_ptr<some_pool> {
                                return std::make_unique<pool_of<Idle>>(std::move(options));
                              }};

}  // namespace

const std::vector<pool_maker>& pool_makers() {
  static const std::vector<pool_maker> makers{
      maker_of<idle::spin>,  maker_of<idle::pause>, maker_of<idle::yield>,
      maker_of<idle::sleep>, maker_of<idle::event>, maker_of<idle::spin_then_event>};
  return makers;
}

}  // namespace lockyard::testing
