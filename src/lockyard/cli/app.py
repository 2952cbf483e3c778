# SPDX-License-Identifier: Apache-2.0
"""The command line. Only main prints errors and sets the exit status.

Each command imports what it needs when it runs, so that --help and completion stay quick.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lockyard.checks import arguments as checking  # noqa: TC001 - as above
from lockyard.cli import arguments  # noqa: TC001 - Typer reads the annotations
from lockyard.cli.parameter_options import ParameterCommand
from lockyard.compare import arguments as compared  # noqa: TC001 - as above
from lockyard.errors import ExitStatus, LockyardError, OutputClosedError, UsageError
from lockyard.explain import arguments as explained  # noqa: TC001 - as above
from lockyard.field_kit import arguments as looked  # noqa: TC001 - as above
from lockyard.page import arguments as pages  # noqa: TC001 - as above
from lockyard.simulate import arguments as simulated  # noqa: TC001 - as above
from lockyard.user_locks import arguments as own  # noqa: TC001 - as above

if TYPE_CHECKING:
    from lockyard.field_kit.trial import Wanted

app = typer.Typer(
    name="lockyard",
    help="Measure locks on this machine, and check them.",
    epilog="Exit status: 0 done; 2 bad usage or input; 3 a capability is missing; 4 a check "
    "failed; 5 inconclusive; 130 interrupted; 141 standard output was closed.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"lockyard {version('lockyard')}")
        raise typer.Exit


@app.callback()
def _lockyard(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


@app.command(
    "list",
    epilog="Examples:  lockyard list  ·  lockyard list --peers  ·  "
    "lockyard list --json | jq -r '.locks[].name'",
)
def list_(peers: arguments.ListPeers = False, as_json: arguments.Json = False) -> None:
    """List locks and studies."""
    from lockyard.commands import list as command

    command.run(peers, as_json)


@app.command(
    cls=ParameterCommand,
    epilog="Examples:  lockyard measure wait  ·  lockyard measure costs  ·  lockyard measure wait "
    "idle --locks seeds --threads 1,16 --for 2s  ·  lockyard measure uncontended --locks ours "
    "--runs 30 --against std::mutex  ·  lockyard measure uncontended --locks all --peers  ·  "
    "lockyard measure wait idle --as-published --threads 16  ·  "
    "lockyard measure throughput wait --threads 2,16 --hold 0,200ns,2us --gap 1x,10x --against "
    "best-sleeping-peer  ·  lockyard measure wakeup --ways futex,event_count --gap 20us,10ms "
    "--against futex  ·  lockyard measure wait --policy other,fifo --threads 4  ·  "
    "lockyard measure idle --slice 100us,10ms --load 2  ·  "
    "lockyard measure workers --burst 1,32 --peers  ·  lockyard measure readers --threads 9 "
    "--writers 1 --hold 2us --against std::shared_mutex  ·  "
    "lockyard measure torture scale --threads 1,2,4,8 --against queued_spinlock  ·  "
    "lockyard measure recovery --workload cycle,stuck64  ·  "
    "lockyard measure --scenario sweep.toml --dry-run  ·  "
    "lockyard measure contention --threads 2,4 --share-percent 10,50,90  ·  "
    "lockyard measure priority --policy fifo,other  ·  "
    "lockyard measure throughput wait --lock my/lock.hpp:my::lock --against std::mutex  ·  "
    "lockyard measure --resume records.jsonl",
)
def measure(  # noqa: PLR0913 - one parameter for each option
    context: typer.Context,
    studies: arguments.Studies = None,
    locks: arguments.Locks = "",
    lock: own.Lock = None,
    include: own.Include = None,
    flags: own.Flags = "",
    pools: arguments.Pools = "all",
    peers: arguments.Peers = False,
    threads: arguments.Threads = "",
    for_: arguments.For = "",
    runs: arguments.Runs = None,
    loops: arguments.Loops = None,
    pin: arguments.Pin = "none",
    as_published: arguments.AsPublished = False,
    against: arguments.Against = "",
    policy: arguments.Policy = "",
    priority: arguments.Priority = None,
    nice: arguments.Nice = None,
    slice_: arguments.Slice = "",
    deadline: arguments.Deadline = "",
    load: arguments.Load = "",
    load_nice: arguments.LoadNice = None,
    timer_slack: arguments.TimerSlack = "",
    autogroup: arguments.Autogroup = "",
    quota: arguments.Quota = None,
    rest: arguments.Rest = "",
    machine: arguments.Machine = None,
    hold: arguments.Hold = "",
    gap: arguments.Gap = "",
    lengths: arguments.Lengths = "constant",
    ways: arguments.Ways = "",
    set_: arguments.Set = None,
    seed: arguments.Seed = None,
    out: arguments.Out = None,
    resume: arguments.Resume = None,
    scenario: arguments.Scenario = None,
    dry_run: arguments.DryRun = False,
    yes: arguments.Yes = False,
    page: pages.PageFile = None,
    simulated_files: pages.Simulated = None,
    charts: pages.Charts = None,
    as_json: arguments.Json = False,
) -> None:
    """Measure chosen studies of chosen locks."""
    from lockyard import options
    from lockyard.commands import measure as command
    from lockyard.measure import asked
    from lockyard.measure import scenario as scenarios
    from lockyard.page.wanted import WantedPage

    given = context.params
    on_page = ("page", "simulated_files", "charts")
    shows = sys.stdout.isatty() if charts is None else charts
    wanted_page = WantedPage(page, tuple(simulated_files or ()), shows and not as_json)
    if resume is not None:
        options.alone("--resume", "resume", context, allowed=("as_json", *on_page))
        raise typer.Exit(command.resume(resume, as_json, wanted_page))
    if scenario is not None:
        beside = (*scenarios.WHOLE, *on_page, "as_json", "dry_run", "yes")
        options.alone("--scenario", "scenario", context, allowed=beside)
        whole = {key: given[key] for key in scenarios.WHOLE if given[key] not in (None, "")}
        wanted = scenarios.measuring(scenario, context.command, whole)
    else:
        wanted = asked.measuring_of(given)
    raise typer.Exit(command.run(wanted, dry_run, yes, as_json, wanted_page))


@app.command(
    epilog="Examples:  lockyard report  ·  lockyard report --quick  ·  "
    "lockyard report --from records.jsonl --page report.html",
)
def report(  # noqa: PLR0913 - one parameter for each option
    quick: arguments.Quick = False,
    source: arguments.From = None,
    seed: arguments.Seed = None,
    out: arguments.Out = None,
    page: pages.PageFile = None,
    simulated_files: pages.Simulated = None,
    charts: pages.Charts = None,
    as_json: arguments.Json = False,
) -> None:
    """Measure this machine: the seed locks, ours and the peers, with 1, n-cpu and 16 threads."""
    from lockyard import options
    from lockyard.commands import report as command
    from lockyard.page.wanted import WantedPage

    shows = False if charts is None else charts
    wanted_page = WantedPage(page, tuple(simulated_files or ()), shows and not as_json)
    if source is not None:
        from lockyard.field_kit import profile_files

        if profile_files.is_profile(source):
            from lockyard.commands import profile as profiling

            raise typer.Exit(
                profiling.show_file(source, profiling.Files(page=wanted_page), as_json)
            )
        raise typer.Exit(command.show(source, wanted_page))
    raise typer.Exit(command.run(quick, options.seed(seed), out, as_json, wanted_page))


@app.command(
    epilog="Examples:  lockyard compare before.jsonl after.jsonl  ·  lockyard compare before.jsonl "
    "after.jsonl --fail-if 'wait.p99 > +5%' --fail-if 'throughput.rate < -5%'  ·  "
    "lockyard compare before/ after/  ·  lockyard compare in.jsonl --locks std::mutex,mutex  ·  "
    "lockyard compare a.jsonl b.jsonl --json | jq '.compared[] | select(.corrected_p <= 0.05)'",
)
def compare(  # noqa: PLR0913 - one parameter for each option
    a: compared.A,
    b: compared.B = None,
    fail_if: compared.FailIf = None,
    study: compared.Studies = "",
    locks: compared.Locks = "",
    page: pages.PageFile = None,
    as_json: arguments.Json = False,
) -> None:
    """Show what differs between A and B, and fail if a figure has provably changed too much."""
    from lockyard.commands import compare as command
    from lockyard.compare.pairing import chosen
    from lockyard.page.wanted import WantedPage

    choice = chosen(study, locks, alone=b is None)
    raise typer.Exit(command.run(a, b or a, choice, fail_if or (), as_json, WantedPage(page)))


@app.command(
    epilog="Examples:  lockyard doctor  ·  lockyard doctor --json | jq '.findings[].remedy'  ·  "
    "lockyard doctor --fix governor idle_states  ·  lockyard doctor --fix --all  ·  "
    "lockyard doctor --fix huge_pages=never  ·  lockyard doctor --undo"
)
def doctor(
    names: arguments.Problems = None,
    fix: arguments.Fix = False,
    every: arguments.AllProblems = False,
    undo: arguments.Undo = False,
    as_json: arguments.Json = False,
) -> None:
    """Show what would distort measurements here, what is not permitted, and how to fix it."""
    from lockyard.commands import doctor as command

    command.check_words(names or (), fix, every, undo)
    if undo:
        raise typer.Exit(command.undo(as_json))
    if fix:
        raise typer.Exit(command.fix(names or (), every, as_json))
    raise typer.Exit(command.run(as_json))


@app.command(
    epilog="Examples:  lockyard check futex_mutex  ·  lockyard check --all  ·  lockyard check "
    "ticket_spinlock --threads 4 --bound 3  ·  lockyard check futex_mutex --threads 3 "
    "--acquisitions 2 --search pct --seconds 60  ·  lockyard check --all --mutants",
)
def check(  # noqa: PLR0913 - one parameter for each option
    locks: checking.Checked = None,
    every: checking.All = False,
    litmus: checking.Litmus = False,
    mutants: checking.Mutants = False,
    bench: checking.Bench = False,
    replay: checking.Replay = "",
    threads: checking.CheckThreads = None,
    acquisitions: checking.Acquisitions = None,
    bound: checking.Bound = None,
    seconds: checking.Seconds = None,
    search: checking.Search = "exhaustive",
    memory: checking.Memory = "2G",
    workers: checking.Workers = None,
    no_cache: checking.NoCache = False,
    own_locks: checking.Lock = None,
    client: checking.Client = "",
    include: own.Include = None,
    flags: own.Flags = "",
    page: pages.PageFile = None,
    as_json: arguments.Json = False,
) -> None:
    """Check locks in every execution that weak memory allows."""
    from lockyard.checks import choice
    from lockyard.commands import check as command
    from lockyard.page.wanted import WantedPage

    shape = choice.shape(threads, acquisitions)
    wanted = choice.own(own_locks or (), client, include or (), flags)
    chosen = choice.Choice(tuple(locks or ()), every, litmus, mutants, bench, replay, shape, wanted)
    settings = choice.settings(search, bound, seconds, memory, workers, no_cache)
    raise typer.Exit(command.run(chosen, settings, as_json, WantedPage(page)))


@app.command(
    epilog="Examples:  lockyard simulate throughput --machine ryzen1700 "
    "--locks mutex,mcs_spinlock --threads 16,17,32 --hold 200ns --gap 2us  ·  "
    "lockyard simulate scale --machine xeon8468 --locks queued_spinlock --threads 1,48,56,192 "
    "--pin --workload lock1  ·  "
    "lockyard simulate wait --scheduler cfs,eevdf --set slice_ms=3 --sensitivity  ·  "
    "lockyard simulate --against-published --json  ·  "
    "lockyard simulate --like records.jsonl --machine vm2",
)
def simulate(  # noqa: PLR0913 - one parameter for each option
    study: simulated.SimulatedStudy = "",
    machine: simulated.MachineName = "ryzen1700",
    scheduler: simulated.Scheduler = "eevdf",
    threads: simulated.SimulatedThreads = "",
    locks: simulated.SimulatedLocks = "mutex,fair_mutex,mcs_spinlock,queued_spinlock",
    lock: own.Lock = None,
    include: own.Include = None,
    flags: own.Flags = "",
    hold: simulated.SimulatedHold = "",
    gap: simulated.SimulatedGap = "",
    lengths: simulated.SimulatedLengths = "constant",
    for_: simulated.SimulatedFor = "20ms",
    loops: simulated.SimulatedLoops = None,
    runs: simulated.SimulatedRuns = 1,
    workload: simulated.Workload = "lock1",
    pin: simulated.PinThreads = False,
    background: simulated.Background = "",
    set_: simulated.SetCosts = None,
    seed: simulated.SimulatedSeed = 1,
    sensitivity: simulated.Sensitivity = False,
    explain: simulated.ExplainTime = False,
    against_published: simulated.AgainstPublished = False,
    like: simulated.Like = None,
    as_json: arguments.Json = False,
) -> None:
    """Run locks on a simulated machine, with up to 256 threads, under any of several schedulers."""
    from lockyard import options
    from lockyard.commands import simulate as command
    from lockyard.simulate.request import work_of
    from lockyard.user_locks import given as lock_spec

    if (against_published or like is not None) and (study or (against_published and like)):
        raise UsageError(
            "--against-published and --like simulate the cells of their tables, so no study can be "
            "named with them, nor both; drop one"
        )
    if against_published:
        raise typer.Exit(command.run_published(as_json))
    if like is not None:
        raise typer.Exit(command.run_like(like, machine, as_json))
    asked = command.Asked(
        study,
        locks,
        machine,
        scheduler,
        options.threads(threads) if threads else None,
        background,
        set_ or (),
        work_of(hold, gap, lengths, for_, loops, runs, workload, pin),
        seed,
        lock_spec.given(lock or (), include or (), flags),
    )
    raise typer.Exit(command.run(asked, sensitivity, explain, as_json))


@app.command(
    epilog="Examples:  lockyard machines  ·  lockyard machines ryzen1700  ·  "
    "lockyard machines my-server.toml --json  ·  lockyard machines measure --out here.toml",
)
def machines(
    name: simulated.MachineShown = "",
    out: simulated.DefinitionOut = None,
    from_: simulated.MachineRecords = None,
    as_json: arguments.Json = False,
) -> None:
    """List the machines and schedulers that can be simulated, show a machine's costs and their
    sources, or measure this machine."""
    from lockyard.commands import machines as command

    if name == command.MEASURE:
        raise typer.Exit(command.run_measure(from_, out))
    if out is not None or from_ is not None:
        raise UsageError("--out and --from apply only to 'lockyard machines measure'; drop them")
    command.run(name, as_json)


@app.command(
    epilog="Examples:  lockyard explain records.jsonl  ·  lockyard explain records.jsonl --lock "
    "ticket_spinlock --top 5  ·  lockyard explain --pid 4711 --longer-than 1ms  ·  "
    "lockyard explain --file /dev/shm/my.trace --json | jq '.stalls[].cause'  ·  "
    "lockyard explain --truth injected/  ·  lockyard explain records.jsonl --page stalls.html "
    "--perfetto stalls.json",
)
def explain(  # noqa: PLR0913 - one parameter for each option
    result: explained.Explained = None,
    file: explained.TraceFile = None,
    pid: explained.TracedPid = None,
    lock: explained.ExplainedLock = "",
    top: explained.Top = 3,
    longer_than: explained.LongerThan = "10us",
    truth: explained.Truth = False,
    page: pages.PageFile = None,
    perfetto: explained.PerfettoFile = None,
    as_json: arguments.Json = False,
) -> None:
    """Show where each thread was during the longest stalls, and what caused each lock's idle
    time."""
    from lockyard import options
    from lockyard.commands import explain as command
    from lockyard.explain import source
    from lockyard.explain.session import Wanted
    from lockyard.page.wanted import WantedPage

    files = command.Files(WantedPage(page), perfetto)
    longer_than_ns = options.duration_s("--longer-than", longer_than) * 1e9
    if truth:
        if pid is not None or lock:
            raise UsageError(
                "--truth judges every cause that was injected into the traces, so it cannot be "
                "limited to one process or lock; drop --pid and --lock"
            )
        if page or perfetto:
            raise UsageError("--truth draws nothing; drop --page and --perfetto")
        raise typer.Exit(command.run_truth(result, file, longer_than_ns, as_json))
    from lockyard.field_kit import profile_files

    if result is not None and profile_files.is_profile(result):
        from lockyard.field_kit.long_waits import Chosen

        chosen = Chosen((lock,) if lock else (), top, longer_than_ns)
        raise typer.Exit(command.run_profile(result, chosen, as_json, files))
    locks = tuple(options.names("--lock", lock, known="names of locks")) if lock else ()
    wanted = Wanted(locks, top, longer_than_ns)
    raise typer.Exit(command.run(source.found(result, file, pid), wanted, as_json, files))


@app.command(
    epilog="Examples:  lockyard hang 4711  ·  lockyard hang $(pgrep -n server)  ·  lockyard hang "
    "4711 --watch 10s --stacks  ·  lockyard hang --core core.4711  ·  lockyard hang 4711 --json | "
    "jq '.deadlocks'"
)
def hang(
    pid: looked.Pid = None,
    core: looked.Core = None,
    watch: looked.Watch = "",
    stacks: looked.Stacks = False,
    as_json: arguments.Json = False,
) -> None:
    """Show which threads of a running process wait for which locks, who holds these, and deadlocks;
    nothing is stopped, and the program needs no preparation."""
    from lockyard import options
    from lockyard.commands import hang as command

    watch_s = options.duration_s("--watch", watch) if watch else None
    raise typer.Exit(command.run(pid, core, watch_s, stacks, as_json))


@app.command(
    "run",
    context_settings={"allow_interspersed_args": False},
    epilog="Examples:  lockyard run --mutex mutex -- server --port 8080  ·  lockyard run --mutex "
    "fair_mutex -q -- db_bench --benchmarks=readrandom  ·  lockyard run --only LRUCacheShard -- "
    "db_bench  ·  Exit status: the program's; 126 if it "
    "cannot be executed; 127 if it was not found",
)
def run_(
    program: looked.Program = None,
    mutex: looked.Mutex = "mutex",
    condition: looked.Condition = "",
    only: looked.Only = "",
    quiet: looked.Quiet = False,
) -> None:
    """Run a program with a lock of the catalogue in place of its mutexes, or of one of them."""
    from lockyard.commands import run as command

    raise typer.Exit(command.run(program or (), mutex, condition, only, quiet))


@app.command(
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    epilog="Examples:  lockyard profile -- ./server --threads 8  ·  lockyard profile -o "
    "profile.jsonl --perfetto waits.pftrace -- make check  ·  lockyard profile --from 4711  ·  "
    "lockyard profile --from profile.jsonl --pprof waits.pb.gz  ·  lockyard profile --lengths "
    "lengths.csv -- prog; lockyard measure throughput --lengths recorded:lengths.csv",
)
def profile(  # noqa: PLR0913 - one parameter for each option
    command: looked.Command = None,
    source: looked.ProfileFrom = "",
    out: looked.ProfileOut = None,
    perfetto: looked.Perfetto = None,
    pprof: looked.Pprof = None,
    folded: looked.Folded = None,
    lengths: looked.ProfileLengths = None,
    page: pages.PageFile = None,
) -> None:
    """Run an unmodified program and show which of its locks make threads wait, behind which other
    threads, and why. Needs no symbols and no root; the report goes to standard error."""
    from lockyard.commands import profile as profiling
    from lockyard.page.wanted import WantedPage

    files = profiling.Files(out, perfetto, pprof, folded, lengths, WantedPage(page))
    raise typer.Exit(profiling.run(command or [], source, files))


@app.command(
    "try",
    context_settings={"allow_interspersed_args": False},
    epilog="Examples:  lockyard try -- make check  ·  lockyard try --mutex mutex,fair_mutex "
    "--higher '([0-9.]+) ops/sec' --lower 'P99: ([0-9.]+)' -- db_bench "
    "--benchmarks=readrandom  ·  lockyard try --rounds 15 --json -- prog | jq .metrics",
)
def try_(  # noqa: PLR0913 - one parameter for each option
    program: looked.Program = None,
    mutex: looked.TriedLocks = "mutex,fair_mutex",
    higher: looked.Higher = None,
    lower: looked.Lower = None,
    rounds: looked.Rounds = 7,
    seed: arguments.Seed = None,
    as_json: arguments.Json = False,
) -> None:
    """Run a program alone and with other locks in turn, and say what each lock gains or loses."""
    from lockyard import options
    from lockyard.commands import try_locks as command

    wanted = _tried(program, mutex, higher, lower, rounds, options.seed(seed))
    raise typer.Exit(command.run(wanted, as_json))


def _tried(  # noqa: PLR0913 - one parameter for each option
    program: list[str] | None,
    mutex: str,
    higher: list[str] | None,
    lower: list[str] | None,
    rounds: int,
    seed: int,
) -> Wanted:
    from lockyard import options
    from lockyard.field_kit import trial

    metrics = [trial.metric_of(text, is_lower_better=False) for text in higher or ()]
    metrics += [trial.metric_of(text, is_lower_better=True) for text in lower or ()]
    locks = tuple(options.names("--mutex", mutex, known="names of locks"))
    return trial.Wanted(tuple(program or ()), locks, tuple(metrics), rounds, seed)


@app.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Examples:  lockyard predict --higher '([0-9.]+) ops/sec' --verify -- db_bench "
    "--benchmarks=readrandom  ·  lockyard predict --from profile.jsonl --mutex mutex  ·  lockyard "
    "predict --json -- prog | jq .locks",
)
def predict(  # noqa: PLR0913 - one parameter for each option
    program: looked.Program = None,
    mutex: looked.TriedLocks = "mutex,fair_mutex",
    source: looked.PredictFrom = None,
    verify: looked.Verify = False,
    higher: looked.Higher = None,
    lower: looked.Lower = None,
    rounds: looked.Rounds = 7,
    most: looked.MostLocks = 3,
    seed: arguments.Seed = None,
    as_json: arguments.Json = False,
) -> None:
    """Say what another lock would give a program: its locks' holds and gaps are recorded, and other
    locks measured with them on this machine. With --verify, also run it with these locks."""
    from lockyard import options
    from lockyard.commands import predict as command

    wanted = command.Wanted(
        _tried(program, mutex, higher, lower, rounds, options.seed(seed)), source, verify, most
    )
    raise typer.Exit(command.run(wanted, as_json))


@app.command(
    epilog="Examples:  lockyard advise --hold 300ns --gap 5us --threads 12  ·  "
    "lockyard advise --hold 20us --threads 4 --tail --locks ours  ·  "
    "lockyard advise --hold 1us --gap 10us --threads 8 --from results/  ·  "
    "lockyard advise --from-profile profile.jsonl",
)
def advise(  # noqa: PLR0913 - one parameter for each option
    hold: arguments.AdviseHold = "",
    gap: arguments.AdviseGap = "",
    threads: arguments.AdviseThreads = None,
    tail: arguments.Tail = False,
    from_profile: arguments.FromProfile = None,
    from_: arguments.AdviseFrom = None,
    locks: arguments.AdviseLocks = "ours,std::mutex",
    for_: arguments.AdviseFor = "20s",
    no_measure: arguments.NoMeasure = False,
    seed: arguments.Seed = None,
    as_json: arguments.Json = False,
) -> None:
    """Say which lock to use for a use of it on this machine, with the runner-up and the price: from
    records, or measured now."""
    from lockyard import options
    from lockyard.commands import advise as command

    budget_s = options.duration_s("--for", for_)
    wanted = command.Wanted(
        hold, gap, threads, tail, from_profile, from_ or (), locks, budget_s, not no_measure, seed
    )
    raise typer.Exit(command.run(wanted, as_json))


@app.command(
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    epilog="Examples:  lockyard guard -- ./server  ·  lockyard guard --on-deadlock abort -- make "
    "check  ·  lockyard guard --long-hold 50ms -o findings.jsonl -- ./server",
)
def guard(
    command: looked.Command = None,
    on_deadlock: looked.OnDeadlock = "report",
    long_hold: looked.LongHold = "1s",
    out: looked.GuardOut = None,
    quiet: looked.Quiet = False,
) -> None:
    """Run an unmodified program and report deadlocks before their last thread sleeps, orders of
    locks that could deadlock, long holds, and mutexes unlocked or destroyed wrongly."""
    from lockyard import options
    from lockyard.commands import guard as guarding

    long_hold_s = options.duration_s("--long-hold", long_hold)
    raise typer.Exit(guarding.run(command or [], on_deadlock, long_hold_s, out, quiet))


def main() -> None:
    try:
        app()
    except OutputClosedError as error:
        sys.exit(error.status)
    except LockyardError as error:
        print(f"lockyard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.status)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitStatus.OUTPUT_CLOSED)
    except KeyboardInterrupt:
        sys.exit(ExitStatus.INTERRUPTED)
