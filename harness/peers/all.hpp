// SPDX-License-Identifier: Apache-2.0
#pragma once

// Completes every type that the catalogue names, except locks of missing libraries.

// User locks are measured where the other libraries' headers may be missing.
#ifndef LOCKYARD_OWN_LOCKS

#include <peers/catalog.hpp>
#include <peers/controls.hpp>
#include <peers/libraries.hpp>
#include <peers/pthread.hpp>
#include <peers/spin_variants.hpp>
#include <peers/std.hpp>

#ifdef LOCKYARD_HAS_ABSEIL
#include <peers/abseil.hpp>
#endif
#ifdef LOCKYARD_HAS_CONCURRENCY_KIT
#include <peers/concurrency_kit.hpp>
#endif
#ifdef LOCKYARD_HAS_NSYNC
#include <peers/nsync.hpp>
#endif
#ifdef LOCKYARD_HAS_ONETBB
#include <peers/onetbb.hpp>
#endif
#ifdef LOCKYARD_HAS_PARKING_LOT
#include <peers/parking_lot.hpp>
#endif

#endif  // LOCKYARD_OWN_LOCKS
