// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selects what the operating system offers: yield, futex, membarrier.

#if defined(__linux__)
#include <lockyard/detail/os/linux.hpp>
#else
#error "lockyard supports Linux; port it by writing include/lockyard/detail/os/<name>.hpp"
#endif
