// SPDX-License-Identifier: Apache-2.0

// What exists once per process, for programs whose parts cannot agree on it by themselves:
// docs/decisions/0011-state-of-a-process.md. A type that is missing here is an undefined symbol in
// the program that links this library.

#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/queue_nodes.hpp>
#include <lockyard/resilient/resilient_mutex.hpp>
#include <lockyard/resilient/resilient_spinlock.hpp>
#include <lockyard/world/debugging.hpp>
#include <lockyard/world/native.hpp>
#include <lockyard/world/tracing.hpp>

namespace lockyard::inline v0::detail {

template asymmetric_fence process_instance<asymmetric_fence>;
template calibration process_instance<calibration>;
template slot_registry process_instance<slot_registry>;
template queue_nodes<native> process_instance<queue_nodes<native>>;
template queue_nodes<native, std::uint32_t, 8>
    process_instance<queue_nodes<native, std::uint32_t, 8>>;
template held_locks<native> process_instance<held_locks<native>>;
template limits_of_type<resilience{}> process_instance<limits_of_type<resilience{}>>;
template parking_lot<native>::table process_instance<parking_lot<native>::table>;
template queue_nodes<tracing_waits> process_instance<queue_nodes<tracing_waits>>;
template queue_nodes<tracing_waits, std::uint32_t, 8>
    process_instance<queue_nodes<tracing_waits, std::uint32_t, 8>>;
template held_locks<tracing_waits> process_instance<held_locks<tracing_waits>>;
template parking_lot<tracing_waits>::table process_instance<parking_lot<tracing_waits>::table>;
template trace::detail::current_trace process_instance<trace::detail::current_trace>;
template debug::detail::lock_watch process_instance<debug::detail::lock_watch>;

}  // namespace lockyard::inline v0::detail
