# SPDX-License-Identifier: Apache-2.0
"""The lines of a record file, and the job that the harness answers with one of them.
schema/record.schema.json and schema/job.schema.json are generated from these types; the plan, a
file's second line, is `lockyard.measure.session.Plan`. A reader tolerates unknown keys."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lockyard.documents import AtLeastOne, Count
from lockyard.machine.conditions import Deadline, Pinning

SCHEMA: Final = 2
# The value of a parameter: a number, or the name of a choice.
Value = int | float | str

Hash = Annotated[str, Meta(pattern="^[0-9a-f]*$")]
Status = Literal["ok", "unavailable", "overrun", "crashed"]
ClockSource = Literal["tsc", "monotonic_raw"]
Length = Annotated[float, Meta(gt=0)]
Nice = Annotated[int, Meta(ge=-20, le=19)]
NotNegative = Annotated[float, Meta(ge=0)]
Time = Count | NotNegative


class Conditions(Struct, kw_only=True):
    """The conditions of a run as requested; if the kernel granted anything else, the run has the
    status unavailable. Where a key is null, the kernel's default holds."""

    threads: AtLeastOne
    pinning: Pinning
    policy: Literal["other", "batch", "idle", "fifo", "rr", "deadline"]
    priority: Annotated[int, Meta(ge=0, le=99)]
    nice: Nice
    slice_ns: int | None
    deadline: Deadline | None
    load: Count
    load_nice: Nice
    timer_slack_ns: AtLeastOne | None
    autogroup: Annotated[
        bool | None, Meta(description="Null if the kernel does not group processes.")
    ]
    quota_cpus: Annotated[float, Meta(ge=1)] | None
    rest_s: NotNegative
    arrival: Annotated[
        Literal["closed", "poisson"],
        Meta(
            description="closed: a thread calls when its last operation is done; poisson: at "
            "scheduled times."
        ),
    ]
    hold_ns: Annotated[Time, Meta(description="Mean time with the lock.")]
    gap_ns: Annotated[Time, Meta(description="Mean time before each call.")]
    lengths: Annotated[
        Literal["constant", "exponential", "bimodal", "recorded"],
        Meta(description="The distribution of hold and gap times."),
    ]
    parameters: Annotated[
        dict[str, Value],
        Meta(description="The study's parameters; empty if it has none. Units are in the names."),
    ]
    bound: Literal["time", "loops"]
    loops: AtLeastOne | None
    duration_s: Length
    as_published: bool
    seed: int
    load_kind: Annotated[
        Literal["build"] | None,
        Meta(
            description="build: compilers that run meanwhile, as many as load says; null: threads "
            "that count."
        ),
    ] = None
    machine: Annotated[
        dict[str, str],
        Meta(description="Settings of the whole machine, by name; empty: as found."),
    ] = {}
    recording: Annotated[
        str | None,
        Meta(description="Name and digest of the file with the recorded times, if there is one."),
    ] = None


class Clock(Struct, kw_only=True):
    """The clock of a job."""

    source: ClockSource
    ns_per_tick: float | None


class RunClock(Clock, kw_only=True):
    """The clock of a run, with the cost of reading it."""

    read_ns: float | None = None
    early_read_ns: float | None = None


class Job(Struct, kw_only=True):
    """A line on the harness's standard input: one run to do."""

    schema: Literal[2] = SCHEMA
    study: str
    lock: str | None
    conditions: Conditions
    rehearse: Annotated[
        bool, Meta(description="Tries the conditions only; the record has no figures.")
    ] = False
    block: Count
    run: Count
    clock: Clock
    cgroup: Annotated[str | None, Meta(description="The folder of the group to join.")] = None
    recorded: Annotated[
        list[tuple[float, float]] | None,
        Meta(description="Gap and hold of each turn, where lengths is recorded."),
    ] = None
    environment: Hash
    trace: Annotated[str | None, Meta(description="The file to write a trace to.")] = None


class Histogram(Struct, kw_only=True):
    """Log-linear. The middle of a bucket times scale is in the unit. Index below
    2 ** (sub_bucket_bits + 1): the value itself; above: shift = (index >> bits) - 1,
    lowest = (index - (shift << bits)) << shift, width = 1 << shift."""

    unit: Literal["ns"]
    scale: Length
    sub_bucket_bits: AtLeastOne
    counts: list[tuple[Count, AtLeastOne]]


class Stall(Struct, kw_only=True):
    thread: Count
    end_ns: float
    length_ns: Length


class LockSource(Struct, kw_only=True):
    """The source of a user lock, and how it was compiled."""

    header: str
    sha256: str
    compiler: str
    flags: str


class Run(Struct, kw_only=True):
    """One run of one cell."""

    schema: Literal[2]
    study: str
    lock: Annotated[
        str | None,
        Meta(
            description="A worker pool or a way to wait in a study of these; null in a study of "
            "the machine."
        ),
    ]
    conditions: Conditions
    block: Count
    run: Count
    status: Status
    reason: Annotated[str | None, Meta(description="Null if the status is ok.")]
    clock: RunClock
    values: Annotated[
        dict[str, Any],
        Meta(description="The study's figures; operations and complete if the status is ok."),
    ]
    histograms: dict[str, Histogram]
    stalls: list[Stall]
    checks: Annotated[
        dict[str, bool | None], Meta(description="Null where a check does not apply.")
    ]
    environment: Hash
    cell: Annotated[Count, Meta(description="Its place in the plan.")]
    spent_s: Annotated[
        float,
        Meta(
            ge=0,
            description="The part of its cell's time that the run used, including its start and "
            "end, without the rest before.",
        ),
    ]
    between_s: Annotated[
        float | UnsetType,
        Meta(
            description="The time from the end of the run before, or from when the plan was "
            "ready, to this run, without the rest."
        ),
    ] = UNSET
    processors: Annotated[
        dict[str, Any] | UnsetType, Meta(description="Idle states and frequencies meanwhile.")
    ] = UNSET
    lock_source: LockSource | UnsetType = UNSET


class ClockFacts(Clock, kw_only=True):
    """The clocks of the machine."""

    tsc_invariant: bool
    tsc_hz: float
    tsc_read_ns: float
    monotonic_raw_read_ns: float
    skew_ns: Annotated[
        float,
        Meta(
            description="The counters' offset between the two cores whose stamps may differ most, "
            "or between the cores that are shown to be apart."
        ),
    ]
    skew_uncertainty_ns: NotNegative
    skew_pairs: Count
    skew_pairs_apart: Count
    skew_pairs_wanted: Count
    tsc_refused: Annotated[
        Literal["not_invariant", "not_compared", "apart", "too_wide"] | UnsetType | None,
        Meta(description="Why the time-stamp counter is not the source; null if it is."),
    ] = UNSET
    skew_pairs_wide: Annotated[
        int | UnsetType,
        Meta(description="Pairs of cores whose offset is known less well than skew_limit_ns."),
    ] = UNSET
    skew_attempts: Annotated[
        int | UnsetType, Meta(description="The attempts of the pair that needed most.")
    ] = UNSET
    skew_limit_ns: Annotated[
        float | UnsetType,
        Meta(
            description="The largest sum of offset and uncertainty at which the time-stamp "
            "counter is used."
        ),
    ] = UNSET


class HarnessFacts(Struct, kw_only=True):
    """How the harness was built, and the processors as it sees them."""

    compiler: str
    compiler_flags: str
    topology: dict[str, Any]
    libraries: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="Versions of the other libraries whose locks can be measured."),
    ] = UNSET
    own_locks: Annotated[
        dict[str, LockSource] | UnsetType, Meta(description="The sources of user locks, by name.")
    ] = UNSET
    default_slice_ns: int | UnsetType | None = UNSET


class Environment(Struct, tag_field="record", tag="environment", kw_only=True):
    """The environment of the runs that name it. The first line of a file, and written again when a
    measurement was resumed. Values that cannot be read are null."""

    schema: Literal[2]
    environment: Annotated[Hash, Meta(description="A hash of what does not change quickly.")]
    started_unix_s: float
    clock: ClockFacts
    load_average: list[float]
    steal_ticks: int | None
    system: dict[str, Any]
    cpu: dict[str, Any]
    scheduler: dict[str, Any]
    limits: dict[str, Any]
    harness: HarnessFacts
