// SPDX-License-Identifier: Apache-2.0
#pragma once

// All of the library. Programs that use one lock include its own header instead.

#include <lockyard/catalog.hpp>
#include <lockyard/concepts.hpp>
#include <lockyard/guard.hpp>
#include <lockyard/guarded.hpp>
