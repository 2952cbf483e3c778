// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include <dlfcn.h>

#include <map>
#include <stdexcept>

namespace lockyard::simulation {

namespace {

std::span<const subject> load(const std::string& path) {
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw std::invalid_argument{std::string{"cannot load "} + dlerror()};
  const void* const locks = dlsym(module, "lockyard_simulated_locks");
  const void* const count = dlsym(module, "lockyard_simulated_lock_count");
  if (locks == nullptr || count == nullptr) {
    throw std::invalid_argument{path + " is not a module of the simulator"};
  }
  return {static_cast<const subject*>(locks), *static_cast<const std::size_t*>(count)};
}

}  // namespace

std::span<const subject> subjects_of_module(const std::string& path) {
  static std::map<std::string, std::span<const subject>> loaded;
  const auto known = loaded.find(path);
  return known != loaded.end() ? known->second : loaded.emplace(path, load(path)).first->second;
}

}  // namespace lockyard::simulation
