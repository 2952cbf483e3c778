// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <peers/names.hpp>

#include <mutex>
#include <shared_mutex>

namespace lockyard::inline v0::peers {

class std_mutex : public std::mutex {};
class std_shared_mutex : public std::shared_mutex {};

}  // namespace lockyard::inline v0::peers
