// SPDX-License-Identifier: Apache-2.0
#include "registry.hpp"

#include "bmq.hpp"
#include "cfs.hpp"
#include "eevdf.hpp"
#include "muqss.hpp"
#include "real_time.hpp"
#include "windows.hpp"

#include <array>

namespace lockyard::simulation {

namespace {

ps length_of(const parameter_values& values, std::string_view name) {
  return static_cast<ps>(values.find(name)->second * ms);
}
bool is_set(const parameter_values& values, std::string_view name) {
  return values.find(name)->second != 0;
}

constexpr std::string_view autogroup_meaning =
    "each terminal's threads share the weight of one thread (1), or each thread has its own (0)";
constexpr std::array cfs_parameters{
    parameter_declaration{"latency_ms", 6, "the period in which each ready thread runs"},
    parameter_declaration{"granularity_ms", 0.75, "the least slice"},
    parameter_declaration{"wakeup_ms", 1,
                          "by how much a woken thread must be behind to preempt another one"},
    parameter_declaration{"scales", 1,
                          "multiply the former by 1 + log2 of the processors, at most 8 (1), as "
                          "the kernel does, or not (0)"},
    parameter_declaration{"autogroup", 1, autogroup_meaning},
};
constexpr std::array eevdf_parameters{
    parameter_declaration{"slice_ms", 0.7,
                          "the slice, multiplied by 1 + log2 of the processors, at most 8"},
    parameter_declaration{
        "forfeits", 1,
        "a yield gives up the rest of the slice (1: Linux 6.19, 6.18.2, 6.12.63), "
        "or postpones the deadline (0: Linux 6.6)"},
    parameter_declaration{"autogroup", 1, autogroup_meaning},
};
constexpr std::array rr_parameters{
    parameter_declaration{"quantum_ms", 100, "the time slice"},
};

constexpr std::array muqss_parameters{
    parameter_declaration{"interval_ms", 6, "the slice, and the distance of a deadline"},
    parameter_declaration{"yield_type", 1,
                          "0: a yield does nothing, 1: it gives way to an earlier deadline, 2: it "
                          "renews its deadline"},
    parameter_declaration{"iso_cpu", 0,
                          "the measured program is isochronous (SCHED_ISO) up to this percentage "
                          "of all processors' time, in the kernel 70; 0: it is ordinary"},
};
constexpr std::array bmq_parameters{
    parameter_declaration{"slice_ms", 4, "the slice"},
    parameter_declaration{"yield_type", 1,
                          "0: a yield does nothing, 1: the thread goes to the lowest level and the "
                          "tail, 2: it is skipped once"},
};
constexpr std::array windows_parameters{
    parameter_declaration{"quantum_ms", 31.25, "two ticks of 15.6 ms, for a background program"},
    parameter_declaration{"foreground", 3, "so many times as long for the measured program"},
};

std::unique_ptr<scheduler> make_cfs(const parameter_values& values, int processors) {
  return std::make_unique<cfs>(cfs::tunables{.latency = length_of(values, "latency_ms"),
                                             .granularity = length_of(values, "granularity_ms"),
                                             .wakeup = length_of(values, "wakeup_ms"),
                                             .autogroup = is_set(values, "autogroup"),
                                             .scales = is_set(values, "scales")},
                               processors);
}
std::unique_ptr<scheduler> make_eevdf(const parameter_values& values, int processors) {
  return std::make_unique<eevdf>(eevdf::tunables{.slice = length_of(values, "slice_ms"),
                                                 .forfeits = is_set(values, "forfeits"),
                                                 .autogroup = is_set(values, "autogroup")},
                                 processors);
}
std::unique_ptr<scheduler> make_fifo(const parameter_values& /*values*/, int /*processors*/) {
  return std::make_unique<real_time>(0);
}
std::unique_ptr<scheduler> make_rr(const parameter_values& values, int /*processors*/) {
  return std::make_unique<real_time>(length_of(values, "quantum_ms"));
}

/// Yield types above the last one mean the last one.
template <class Yields>
Yields yields_of(const parameter_values& values) {
  return static_cast<Yields>(std::min(2.0, values.find("yield_type")->second));
}
std::unique_ptr<scheduler> make_muqss(const parameter_values& values, int /*processors*/) {
  return std::make_unique<muqss>(length_of(values, "interval_ms"), yields_of<muqss::yields>(values),
                                 values.find("iso_cpu")->second / 100);
}
template <bool ByDeadline>
std::unique_ptr<scheduler> make_bmq(const parameter_values& values, int /*processors*/) {
  return std::make_unique<bmq>(bmq::tunables{.slice = length_of(values, "slice_ms"),
                                             .how = yields_of<bmq::yields>(values),
                                             .by_deadline = ByDeadline});
}
std::unique_ptr<scheduler> make_windows(const parameter_values& values, int /*processors*/) {
  return std::make_unique<windows>(length_of(values, "quantum_ms"),
                                   values.find("foreground")->second);
}

constexpr std::array declarations{
    scheduler_declaration{"cfs", "Linux up to 6.5, SCHED_OTHER", "kernel/sched/fair.c of Linux 5.4",
                          cfs_parameters, make_cfs},
    scheduler_declaration{"eevdf", "Linux from 6.6, SCHED_OTHER",
                          "kernel/sched/fair.c of Linux 6.12 and 6.19", eevdf_parameters,
                          make_eevdf},
    scheduler_declaration{"fifo", "Linux SCHED_FIFO, one priority", "sched(7)", {}, make_fifo},
    scheduler_declaration{"rr", "Linux SCHED_RR, one priority", "sched(7)", rr_parameters, make_rr},
    scheduler_declaration{"muqss", "MuQSS for Linux up to 5.12",
                          "kernel/sched/MuQSS.c of 5.2-ck, run queues shared by cache",
                          muqss_parameters, make_muqss},
    scheduler_declaration{"bmq", "BMQ of Linux-prjc", "kernel/sched/alt_core.c and bmq.h of 5.7",
                          bmq_parameters, make_bmq<false>},
    scheduler_declaration{"pds", "PDS of Linux-prjc", "kernel/sched/alt_core.c and pds.h of 5.14",
                          bmq_parameters, make_bmq<true>},
    scheduler_declaration{"windows", "Windows 10, a foreground program",
                          "Russinovich and others, Windows Internals, 7th edition",
                          windows_parameters, make_windows},
};

}  // namespace

std::span<const scheduler_declaration> scheduler_declarations() noexcept {
  return declarations;
}

}  // namespace lockyard::simulation
