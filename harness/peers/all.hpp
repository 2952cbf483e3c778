// SPDX-License-Identifier: Apache-2.0
#pragma once

// Completes every type that the catalogue names, and derives the list of types from it.

#include <lockyard/catalog.hpp>

#include <peers/controls.hpp>
#include <peers/pthread.hpp>
#include <peers/std.hpp>
