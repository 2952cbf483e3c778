// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selects what the operating system offers: yield, futex, membarrier.

#if defined(__linux__)
#include <lockyard/detail/os/linux.hpp>
#else
#error \
    "lockyard has no code for this operating system, so none of its locks can be built: compile for Linux, or write detail/os/<name>.hpp and select it in detail/os.hpp"
#endif
