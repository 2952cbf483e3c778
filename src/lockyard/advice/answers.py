# SPDX-License-Identifier: Apache-2.0
"""The answers of a report as data: what to use when, what to avoid and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard.advice.claims import IDLE, PAIR, RATE, TAIL, Claim, Decision
from lockyard.advice.questions import REFERENCE, Question, questions
from lockyard.report.units import duration, ratio_and_interval
from lockyard.report.verdict.failures import failures
from lockyard.report.verdict.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lockyard.catalog import Catalog, Lock
    from lockyard.report.summary import CellSummary

WANTED = {"rate": "rate", "longest wait": "tail", "cost": "cost"}
# At most this many locks are advised against, the worst first.
AVOIDED = 4
WAITERS = {
    "spin": "its waiters only spin",
    "yield": "its waiters never sleep",
    "park": "a sleeper must be woken",
}
STRICT = "grants in strict order"


@dataclass(frozen=True)
class Answer:
    when: str  # what is wanted, and under which conditions
    use: str
    figure: str
    against: str  # the ratio to the reference, with its interval
    confidence: str
    claim: Claim | None

    @property
    def is_decided(self) -> bool:
        return self.claim is not None and self.claim.is_settled


@dataclass(frozen=True)
class Avoided:
    lock: str
    threads: int
    figure: str
    against: str
    why: str
    also: Sequence[str]
    claim: Claim


@dataclass(frozen=True)
class Advice:
    answers: Sequence[Answer]
    avoided: Sequence[Avoided]
    broken: Sequence[str]  # sentences about locks that failed, crashed or hung
    sections: str  # what short and long mean
    reference: str
    left_out: int = 0  # questions that the records answer besides
    claims: Sequence[Claim] = field(default=(), repr=False)  # all that the answers state

    @property
    def decided(self) -> int:
        return sum(claim.is_settled for claim in self.claims)


def advice(cells: Sequence[CellSummary], catalog: Catalog, processors: int | None) -> Advice:
    setting = Setting.of(cells, catalog, processors)
    asked = questions(cells, setting.is_sound)
    shown = list(_shown([each for each in asked if each.aim is not IDLE], processors))
    holds = sorted({each.hold_ns for each in shown if each.aim is not PAIR})
    answers = [_answer(each, _when(each, holds)) for each in shown]
    avoided = list(_avoided(asked, {lock.name: lock for lock in catalog.locks}))
    stated = [each.claim for each in answers if each.claim is not None]
    stated += [each.claim for each in avoided]
    reference = next((q.reference.lock for q in asked if q.reference is not None), REFERENCE)
    return Advice(
        answers,
        avoided,
        [sentence.text for sentence in failures(cells, setting)],
        _sections(shown, holds),
        reference,
        left_out=sum(each.aim is not IDLE for each in asked) - len(shown),
        claims=stated,
    )


def _shown(asked: Sequence[Question], processors: int | None) -> Iterator[Question]:
    """Yields, of each aim, the shortest and the longest sections with the most threads that have a
    processor each, and with the most threads."""
    for aim in (RATE, TAIL):
        of_aim = [each for each in asked if each.aim is aim]
        waits = [each for each in of_aim if each.group[0].study == "wait"] or of_aim
        holds = sorted({each.hold_ns for each in waits})
        counts = sorted({each.threads for each in waits})
        few = [count for count in counts if count <= (processors or count)]
        many = [count for count in counts if count not in few]
        for threads in (*few[-1:], *many[-1:]):
            for hold_ns in dict.fromkeys((*holds[:1], *holds[-1:])):
                alike = [
                    each for each in waits if (each.threads, each.hold_ns) == (threads, hold_ns)
                ]
                yield from alike[:1]
    yield from [each for each in asked if each.aim is PAIR][:1]


def _when(of: Question, holds: Sequence[float]) -> str:
    wanted = WANTED[of.aim.name]
    if of.aim is PAIR:
        return f"{wanted}, rarely contended"
    return f"{wanted}, {_section(of.hold_ns, holds)}, {of.threads} threads"


def _section(hold_ns: float, holds: Sequence[float]) -> str:
    if len(holds) == 2:
        return "short" if hold_ns == holds[0] else "long"
    return duration(hold_ns) if hold_ns else "empty"


def _sections(shown: Iterable[Question], holds: Sequence[float]) -> str:
    if len(holds) != 2:
        return ""
    gaps = {each.hold_ns: each.gap_ns for each in shown if each.aim is not PAIR}
    each = (
        f"{word} = held for {duration(hold_ns)}, {duration(gaps[hold_ns])} apart"
        for word, hold_ns in zip(("short", "long"), holds, strict=True)
    )
    return "; ".join(each)


def _answer(of: Question, when: str) -> Answer:
    if of.best is None or of.reference is None:
        only = of.reference or of.group[0]
        reason = "nothing to compare with" if len(of.group) == 1 else "too few blocks"
        return Answer(when, only.lock, _figure(of, only), "", reason, None)
    claim, reference = of.best, of.reference
    names = {
        Decision.BETTER: claim.cell.lock,
        Decision.WORSE: reference.lock,
        Decision.ALIKE: f"{reference.lock}, {claim.cell.lock}",
        Decision.OPEN: f"{reference.lock}, {claim.cell.lock}?",
    }
    advised = reference if claim.decision is Decision.WORSE else claim.cell
    next_best = "next " if claim.decision is Decision.WORSE else ""
    against = ratio_and_interval(claim.ratio) if claim.ratio else "too few blocks"
    return Answer(
        when,
        names[claim.decision],
        _figure(of, advised),
        f"{next_best}{against}",
        confidence(claim),
        claim,
    )


def confidence(claim: Claim) -> str:
    if claim.decision is Decision.OPEN:
        return f"open ({claim.blocks})"
    return f"{'yes' if claim.is_settled else 'few'} ({claim.blocks})"


def _figure(of: Question, cell: CellSummary) -> str:
    values = sorted(of.aim.compared.of(cell).values())
    return of.aim.shown(values[len(values) // 2] if values else None)


def _avoided(asked: Iterable[Question], locks: dict[str, Lock]) -> Iterator[Avoided]:
    found = [(each, each.worst) for each in asked if each.worst is not None and each.worst.holds]
    found.sort(key=lambda each: _badness(each[1]), reverse=True)
    named: set[str] = set()
    for of, claim in found:
        lock = claim.cell.lock
        if lock in named or claim.ratio is None:
            continue
        named.add(lock)
        what = f"{of.aim.name} {_figure(of, claim.cell)}"
        yield Avoided(
            lock,
            of.threads,
            what,
            ratio_and_interval(claim.ratio),
            _why(locks.get(lock), of),
            of.as_bad,
            claim,
        )
        if len(named) == AVOIDED:
            return


def _badness(claim: Claim) -> float:
    median = claim.ratio.median if claim.ratio else 1.0
    return 1 / median if claim.aim.compared.more_is_better and median else median


def _why(lock: Lock | None, of: Question) -> str:
    if lock is None or of.aim is PAIR:
        return ""
    return STRICT if lock.fairness == "fifo" else WAITERS.get(lock.waiting, "")
