// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selects what the processor offers: pause() and cycle_counter().

#if defined(__x86_64__)
#include <lockyard/detail/arch/x86_64.hpp>
#elif defined(__aarch64__)
#include <lockyard/detail/arch/aarch64.hpp>
#else
#error \
    "lockyard supports x86-64 and aarch64; port it by writing include/lockyard/detail/arch/<name>.hpp"
#endif
