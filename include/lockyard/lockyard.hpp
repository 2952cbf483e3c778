// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole library. Programs that use one lock should include that lock's header instead.

#include <lockyard/catalog.hpp>
#include <lockyard/concepts.hpp>
#include <lockyard/event/auto_reset_event.hpp>
#include <lockyard/event/event_count.hpp>
#include <lockyard/event/manual_reset_event.hpp>
#include <lockyard/guard.hpp>
#include <lockyard/guarded.hpp>
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/park/notify_all_at_thread_exit.hpp>
#include <lockyard/park/semaphore.hpp>
#include <lockyard/resilient/resilient_guard.hpp>
