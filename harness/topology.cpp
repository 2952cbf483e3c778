// SPDX-License-Identifier: Apache-2.0
#include "topology.hpp"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string>

namespace lockyard::harness {

namespace {

struct topology_deleter {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using topology_handle = std::unique_ptr<hwloc_topology, topology_deleter>;

topology_handle load() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0) {
    throw condition_error{"hwloc cannot read this machine's topology; use --pin none"};
  }
  topology_handle handle{topology};
  // hwloc lists the machine's processors; this process may be confined to some of them.
  const hwloc_cpuset_t usable = hwloc_bitmap_alloc();
  for (const int cpu : usable_cpus()) hwloc_bitmap_set(usable, static_cast<unsigned>(cpu));
  const int restricted = hwloc_topology_restrict(topology, usable, 0);
  hwloc_bitmap_free(usable);
  if (restricted != 0) {
    throw condition_error{"hwloc knows none of the processors of this process; use --pin none"};
  }
  return handle;
}

/// Returns the processors' system numbers in hwloc's logical order: neighbours are adjacent.
std::vector<int> in_logical_order(hwloc_topology_t topology) {
  const std::vector<int> allowed = usable_cpus();
  std::vector<int> cpus;
  const int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t pu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, static_cast<unsigned>(i));
    const int cpu = static_cast<int>(pu->os_index);
    if (std::ranges::find(allowed, cpu) != allowed.end()) cpus.push_back(cpu);
  }
  return cpus;
}

/// Orders the processors so that any prefix of the list is spread over packages and cores:
/// hwloc_distrib finds the places for n threads; places that it repeats are filled in order.
std::vector<int> spread_order(hwloc_topology_t topology, const std::vector<int>& compact,
                              unsigned threads) {
  const unsigned wanted = std::min<unsigned>(threads, static_cast<unsigned>(compact.size()));
  std::vector<hwloc_cpuset_t> sets(wanted);
  hwloc_obj_t root = hwloc_get_root_obj(topology);
  hwloc_distrib(topology, &root, 1, sets.data(), wanted, INT_MAX, 0);
  std::vector<int> cpus;
  const auto take = [&cpus](int cpu) {
    if (std::ranges::find(cpus, cpu) == cpus.end()) cpus.push_back(cpu);
  };
  for (hwloc_cpuset_t set : sets) {
    const int cpu = hwloc_bitmap_first(set);
    if (std::ranges::find(compact, cpu) != compact.end()) take(cpu);
    hwloc_bitmap_free(set);
  }
  for (int cpu : compact) {
    if (cpus.size() < wanted) take(cpu);
  }
  return cpus;
}

std::string listed(const std::vector<int>& cpus) {
  std::string text;
  for (int cpu : cpus) text += (text.empty() ? "" : ",") + std::to_string(cpu);
  return text;
}

std::vector<int> checked(const std::vector<int>& wanted) {
  const std::vector<int> usable = usable_cpus();
  for (int cpu : wanted) {
    if (std::ranges::find(usable, cpu) == usable.end()) {
      throw condition_error{"threads cannot be pinned to processor " + std::to_string(cpu) +
                            ": this process may use only " + listed(usable) +
                            "; name one of those, or use --pin none"};
    }
  }
  return wanted;
}

std::vector<int> candidates(const pin_request& request, unsigned threads) {
  if (const auto* cpus = std::get_if<std::vector<int>>(&request)) return checked(*cpus);
  if (std::get<pinning>(request) == pinning::none) return {};
  const topology_handle topology = load();
  std::vector<int> compact = in_logical_order(topology.get());
  if (compact.empty()) {
    throw condition_error{"hwloc shows no processor that this process may use; use --pin none"};
  }
  if (std::get<pinning>(request) == pinning::compact) return compact;
  return spread_order(topology.get(), compact, threads);
}

int count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return hwloc_get_nbobjs_by_type(topology, type);
}

}  // namespace

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    throw condition_error{std::string{"this process's processors cannot be read: "} +
                          std::strerror(errno)};
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> place(const pin_request& request, unsigned threads) {
  const std::vector<int> cpus = candidates(request, threads);
  std::vector<int> placed;
  for (unsigned i = 0; !cpus.empty() && i < threads; ++i) placed.push_back(cpus[i % cpus.size()]);
  return placed;
}

std::vector<int> processors_at(const pin_request& request) {
  std::vector<int> cpus;
  for (const int cpu : candidates(request, static_cast<unsigned>(usable_cpus().size()))) {
    if (std::ranges::find(cpus, cpu) == cpus.end()) cpus.push_back(cpu);
  }
  return cpus.empty() ? usable_cpus() : cpus;
}

unsigned processors_of(const std::vector<int>& placed) {
  if (placed.empty()) return static_cast<unsigned>(usable_cpus().size());
  return static_cast<unsigned>(std::set<int>{placed.begin(), placed.end()}.size());
}

void pin_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    throw condition_error{"a thread cannot be pinned to processor " + std::to_string(cpu) + ": " +
                          std::strerror(errno) + "; choose another one, or use --pin none"};
  }
}

nlohmann::ordered_json describe_topology() {
  const topology_handle topology = load();
  nlohmann::ordered_json caches = nlohmann::ordered_json::array();
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE}) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology.get(), type, 0);
    if (cache == nullptr) continue;
    caches.push_back({{"level", cache->attr->cache.depth},
                      {"size_bytes", cache->attr->cache.size},
                      {"line_bytes", cache->attr->cache.linesize},
                      {"count", count_of(topology.get(), type)}});
  }
  return {{"packages", count_of(topology.get(), HWLOC_OBJ_PACKAGE)},
          {"numa_nodes", count_of(topology.get(), HWLOC_OBJ_NUMANODE)},
          {"cores", count_of(topology.get(), HWLOC_OBJ_CORE)},
          {"processors", count_of(topology.get(), HWLOC_OBJ_PU)},
          {"usable", usable_cpus()},
          {"caches", caches}};
}

}  // namespace lockyard::harness
