// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selects what the processor offers: pause(), thread_pointer() and cycle_counter().

#if defined(__x86_64__)
#include <lockyard/detail/arch/x86_64.hpp>
#elif defined(__aarch64__)
#include <lockyard/detail/arch/aarch64.hpp>
#else
#error \
    "lockyard has no code for this processor, so none of its locks can be built: compile for x86-64 or aarch64, or write detail/arch/<name>.hpp and select it in detail/arch.hpp"
#endif
