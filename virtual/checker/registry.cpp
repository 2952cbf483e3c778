// SPDX-License-Identifier: Apache-2.0
#include "registry.hpp"

#include "clients/biased_clients.hpp"
#include "clients/clients.hpp"
#include "faults/faults.hpp"
#include "litmus/litmus.hpp"

#include <lockyard/catalog.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace lockyard::checker {

namespace {

/// A lock with so many states has so many executions that at a large size only those with few
/// preemptions can be searched in seconds. The clients in virtual/clients start such locks where it
/// matters.
template <class Lock>
constexpr std::optional<size_bound> bound{};
template <release_fence Fence>
constexpr std::optional<size_bound> bound<basic_mutex<model::model, Fence>> = size_bound{2};
template <handoff_policy Policy, std::uint32_t PatienceUs>
constexpr std::optional<size_bound> bound<basic_fair_mutex<model::model, Policy, PatienceUs>> =
    size_bound{.preemptions = 2, .whole_up_to = 6};
template <class M, std::uint32_t MaxDepth>
constexpr std::optional<size_bound> bound<recursive_mutex<M, MaxDepth>> = size_bound{1};
template <class M, std::uint16_t BiasAfter>
constexpr std::optional<size_bound> bound<biased_mutex<M, BiasAfter>> = size_bound{2};
template <>
constexpr std::optional<size_bound> bound<basic_owner_aware_mutex<model::model>> =
    size_bound{.preemptions = 2, .whole_up_to = 6};
template <>
constexpr std::optional<size_bound> bound<basic_shared_mutex<model::model>> =
    size_bound{.preemptions = 2, .whole_up_to = 6};
template <>
constexpr std::optional<size_bound> bound<throwing<basic_resilient_spinlock<model::model>>> =
    size_bound{1};
template <>
constexpr std::optional<size_bound> bound<throwing<basic_resilient_mutex<model::model>>> =
    size_bound{1};

/// Decision 0078 has the reasons. A lock that is in no list is searched without symmetry.
constexpr auto full_symmetry = std::to_array<std::string_view>(
    {"tas_spinlock", "ttas_spinlock", "yielding_spinlock", "backoff_spinlock", "ticket_spinlock",
     "mutex", "mutex[fence]", "byte_mutex", "array_spinlock", "mcs_spinlock", "futex_mutex",
     "adaptive_mutex", "single_spinner_mutex", "ticket_mutex", "fair_mutex", "fair_mutex[strict]",
     "fair_mutex[barging]", "semaphore_mutex", "shared_mutex"});
/// Locks that ask for the slots, keys or ids of threads, and only whether two are equal, or which
/// nodes belong to a slot.
constexpr auto symmetry_of_names = std::to_array<std::string_view>(
    {"queued_spinlock", "clh_spinlock", "owner_aware_mutex", "shared_memory_mutex", "pi_mutex",
     "biased_mutex", "recursive_mutex"});

constexpr model::symmetry symmetry_of(std::string_view lock) {
  if (std::ranges::find(full_symmetry, lock) != full_symmetry.end()) return model::symmetry::full;
  if (std::ranges::find(symmetry_of_names, lock) != symmetry_of_names.end())
    return model::symmetry::of_names;
  return model::symmetry::none;
}

/// The lock that is checked for a lock of the catalogue.
template <class Lock>
struct checked_lock : detail::in_world<Lock, model::model> {};
/// eager_biased_mutex says why.
template <class M, std::uint16_t BiasAfter>
struct checked_lock<biased_mutex<M, BiasAfter>> {
  using type = eager_biased_mutex;
};

std::vector<checked_client> catalogue_locks() {
  std::vector<checked_client> found;
  for_each_entry([&found]<class Lock>(const catalog_entry<Lock>& entry) {
    if constexpr (requires { typename in_world_t<Lock, model::model>; }) {
      using checked = typename checked_lock<Lock>::type;
      found.push_back({.name = entry.traits.name,
                       .of = group::lock,
                       .summary = entry.traits.origin,
                       .make = &model::exclusion_of<checked>,
                       .size = {.lock_has = symmetry_of(entry.traits.name)},
                       .offers_timed = entry.traits.timed,
                       .bound = bound<checked>});
    }
  });
  return found;
}

}  // namespace

model::settings checked_client::settings_in(const model::client_size& chosen) const {
  model::settings bounded = how;
  if (of == group::lock && chosen.threads > 2) bounded.short_spins = 1;
  const unsigned acquisitions = chosen.threads * chosen.acquisitions;
  // So many let most locks with two threads be searched whole.
  if (of == group::lock && acquisitions <= 2) bounded.timeouts = 4;
  if (bound && acquisitions > 2) {
    if (chosen.threads > 3 || acquisitions > bound->whole_up_to)
      bounded.preemptions = bound->preemptions - (chosen.threads > 2 ? 1 : 0);
    // The timed size with three threads covers them all.
    bounded.timeouts = chosen.threads > 2 && !chosen.timed ? 0 : 1;
    // Three threads sleep in the clients that begin where the lock is held.
    bounded.short_spins = chosen.threads > 2 ? 0 : 1;
    bounded.spurious_wakes = 0;
  }
  return bounded;
}

const std::vector<checked_client>& all_clients() {
  static const std::vector<checked_client> checked_clients = [] {
    std::vector<checked_client> all = catalogue_locks();
    for (const auto& more :
         {clients(), condition_clients(), resilient_clients(), semaphore_clients(),
          task_queue_clients(), lock_free_clients(), reuse_clients(), litmus_of_two_words(),
          litmus_of_many_threads(), litmus_of_changes(), litmus_of_sequential_accesses(),
          litmus_of_families(), seeded_faults()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return checked_clients;
}

const checked_client* find_client(std::string_view name) {
  const auto found = std::ranges::find(all_clients(), name, &checked_client::name);
  return found == all_clients().end() ? nullptr : &*found;
}

std::string_view name_of(group which) noexcept {
  return std::array<std::string_view, 4>{"lock", "client", "litmus",
                                         "mutant"}[static_cast<std::size_t>(which)];
}

}  // namespace lockyard::checker
