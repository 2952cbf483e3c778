// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/catalog.hpp>

#include <mutex>

namespace lockyard::inline v0::peers {

class std_mutex : public std::mutex {};

}  // namespace lockyard::inline v0::peers
