"""Look at a release beside its original, one person before and after, who pays, and what attacks find."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import InputError
from sfumato.evaluation.preview import ClassSizes
from sfumato.hierarchy.tree import text_of
from sfumato.numbers import counted, percent
from sfumato.progress import silent
from sfumato.published import PublishedTable
from sfumato.release.verify import OpenedRelease
from sfumato.studio.desk import Desk, TablePage
from sfumato.studio.jobs import Job
from sfumato.studio.pages import desk_of, figures, fragment, notes_of, open_findings, page, reading, whole
from sfumato.studio.words import say
from sfumato.table.schema import Kind, Schema

# One person of the original, before and after: who looks like them, and what that says of their sensitive values.


SHOWN_VALUES, SHOWN_ROWS = 8, 50


@dataclass(frozen=True)
class Believed:
    """How sure somebody is of a sensitive attribute who has found the records that fit."""

    name: str
    # `before`, `after`: the most frequent values among the records that fit, in the original and in the release
    before: list[tuple[str, int, float]]
    after: list[tuple[str, int, float]]
    others_before: int
    others_after: int


@dataclass(frozen=True)
class Found:
    """What an attacker finds who looks for one person."""

    known: list[tuple[str, str | None]]  # what the attacker knows
    # `before`, `after`: records that fit, in the original and in the release
    before: int
    after: int
    beliefs: list[Believed]
    rows: dict[str, Any]  # the first published records that fit, as the grid has them


def found(desk: Desk, row: int, opened: OpenedRelease, schema: Schema) -> Found:
    """Look for the person of a row of the original. Cost O(n · q), twice."""
    # Here: it loads all attacks, and no page needs them before.
    from sfumato.evaluation.attacks.linking_attack import fits

    assert isinstance(opened.published, PublishedTable)
    names = list(schema.quasi_identifying)
    typed = {name: desk.table.typed(name, schema.quasi_identifying[name])[0] for name in names}
    record = pl.DataFrame([series.slice(row - 1, 1) for series in typed.values()])
    alike = pl.Series([True] * desk.table.height)
    for series in typed.values():
        alike &= series.eq_missing(series.slice(row - 1, 1))
    fitting = fits(opened.published, record, schema, recoding=opened.policy.recoding())
    sensitive = [name for name in schema.sensitive if name in fitting.columns]
    shown = TablePage.of_frame(fitting)
    return Found(
        [(name, _texts(series.slice(row - 1, 1))[0]) for name, series in typed.items()],
        int(alike.sum()),
        fitting.height,
        [_believed(name, desk.table.texts(name).filter(alike), fitting[name]) for name in sensitive],
        shown.page(0, SHOWN_ROWS),
    )


def _believed(name: str, before: pl.Series, after: pl.Series) -> Believed:
    first, last = _shares(before), _shares(after)
    return Believed(name, first[0], last[0], first[1], last[1])


def _shares(values: pl.Series) -> tuple[list[tuple[str, int, float]], int]:
    counts = Counter(_texts(values))
    first = counts.most_common(SHOWN_VALUES)
    top = [("(missing)" if value is None else value, many, many / len(values)) for value, many in first]
    return top, len(values) - sum(many for _, many in first)


def _texts(column: pl.Series) -> list[str | None]:
    return text_of(column).to_list()


GROUPS_SHOWN, SMALLEST_GROUP = 8, 10
"""Groups that are listed, and records that one must have."""


def look(request: Request) -> Response:
    """Show a release beside the original."""
    desk = desk_of(request)
    releases = desk.releases()
    if not releases:
        return page(request, "nothing.html", "/look", title="Look", what="There is no release to look at yet.")
    number = request.path_params.get("number")
    job, opened = desk.release(releases[0].number if number is None else int(number))
    result: Mapping[str, Any] = job.result if isinstance(job.result, Mapping) else {}
    described = [name for name in _described(opened) if name in desk.table.names]
    return page(
        request,
        "look.html",
        "/look",
        job=job,
        releases=releases,
        heights={name: frame.height for name, frame in opened.published.tables.items()},
        stale=desk.staleness(job),
        figures=figures(job),
        checks=(result.get("verification") or {}).get("checks", []),
        findings=open_findings(job),
        notes=notes_of(job),
        paid=_paid(result),
        described=described,
        can_find=isinstance(opened.published, PublishedTable),
        numbers=[name for name in described if desk.profile(name).kind in (Kind.NUMERIC, Kind.DATE)],
        by="class" if request.query_params.get("by") == "class" else "",
        kind=opened.published.kind.replace("-", " "),
        limits=opened.published.limits,
        any_row=1 + secrets.randbelow(desk.table.height),
    )


def _described(opened: OpenedRelease) -> list[str]:
    """Name the published columns that can be held against the original."""
    published = opened.published
    return [*getattr(published, "quasi_identifying", ()), *getattr(published, "sensitive", ())]


def _paid(result: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Return which columns carry the loss: name, share of information lost, width of the bar."""
    losses = (result.get("losses") or {}).get("attribute_ncp") or {}
    return [(name, share, max(1.0, 160 * share)) for name, share in sorted(losses.items(), key=lambda each: -each[1])]


def person(request: Request) -> Response:
    """Find one person of the original in a release."""
    desk = desk_of(request)
    job, opened = desk.release(int(request.path_params["number"]))
    row = whole(request.query_params.get("row", "1"), "row")
    if not 1 <= row <= desk.table.height:
        raise InputError(f"row: must be from 1 to {desk.table.height:,}")
    if not isinstance(opened.published, PublishedTable):
        raise InputError(f"a {opened.published.kind} has no records whose values cover those of a person")
    view = found(desk, row, opened, desk.schema(desk.policy_of(job)))
    return fragment("person.html", row=row, found=view, is_blank=desk.is_blank)


def look_groups(request: Request) -> Response:
    """Average what is lost over subgroups."""
    # Here: it loads attacks, and no page needs them before.
    from sfumato.evidence.subgroups import subgroup_losses

    desk = desk_of(request)
    job, opened = desk.release(int(request.path_params["number"]))
    if not isinstance(opened.published, PublishedTable):
        raise InputError(f"a {opened.published.kind} has no classes whose losses could be averaged")
    original = desk.table.with_schema(desk.policy_of(job).to_schema())
    losses = subgroup_losses(opened.published, original, opened.policy.recoding(), SMALLEST_GROUP)
    return fragment("groups.html", losses=losses[:GROUPS_SHOWN], is_blank=desk.is_blank)


CLASS_BANDS = ((1, 1), (2, 4), (5, 9), (10, 19), (20, 49), (50, None))
RISKS = ((2, "above 1 in 2"), (5, "above 1 in 5"), (10, "above 1 in 10"), (20, "above 1 in 20"))
WIDTHS = ((0.0, "exact"), (0.05, "to 5 %"), (0.1, "to 10 %"), (0.25, "to 25 %"), (0.5, "to 50 %"), (1.0, "wider"))
"""Shares of a column's range by which the widths of its published cells are counted."""
MOST_CELLS = 24


@dataclass(frozen=True)
class Bar:
    """One line of a chart of before and after: counts, and their lengths in a drawing of 200."""

    name: str | None
    before: float
    after: float
    lengths: tuple[float, float]


def bars(rows: Sequence[tuple[str | None, float, float]]) -> list[Bar]:
    """Draw lines on one scale; whoever is there is seen."""
    top = max((max(before, after) for _, before, after in rows), default=0) or 1
    return [Bar(name, before, after, (_length(before, top), _length(after, top))) for name, before, after in rows]


def _length(many: float, top: float) -> float:
    return round(max(1.5, 200 * many / top), 1) if many > 0 else 0.0


@dataclass(frozen=True)
class CellWidths:
    """How wide the published cells of a column of numbers or dates are, as shares of its range."""

    name: str
    median: float
    ninth: float  # nine in ten records have no wider cell
    bars: list[Bar]


def classes(request: Request) -> Response:
    """Show class sizes, risks and widths of cells before and after."""
    desk = desk_of(request)
    job, published, before, after = _class_sizes(request)
    bands = [(_band(*band), before.between(*band), after.between(*band)) for band in CLASS_BANDS]
    return fragment(
        "classes.html",
        before=before,
        after=after,
        sizes=bars(bands),
        risks=bars([(say(name), before.below(size), after.below(size)) for size, name in RISKS]),
        widths=list(_widths(desk, job, published)),
    )


def _class_sizes(request: Request) -> tuple[Job, PublishedTable, ClassSizes, ClassSizes]:
    """Count the classes of the release that a request names, before and after."""
    desk = desk_of(request)
    job, opened = desk.release(int(request.path_params["number"]))
    if not isinstance(opened.published, PublishedTable):
        raise InputError(f"a {opened.published.kind} has no classes of records")
    quasi = desk.policy_of(job).to_schema().quasi_identifying
    with desk.lock:
        before = desk.preview.sizes(dict(quasi), {})
    sizes = opened.published.data.group_by(list(opened.published.quasi_identifying)).len()["len"]
    many = sizes.value_counts().sort("len")
    after = ClassSizes(many["len"].cast(pl.Int64).to_numpy(), many["count"].cast(pl.Int64).to_numpy())
    return job, opened.published, before, after


FRACTIONS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
"""Shares of a population that the table may be, for which uniques are estimated."""
METHODS = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "slide negative binomial"}


def population(request: Request) -> Response:
    """Estimate how many people would be alone in the population that the table was drawn from."""
    from sfumato.classes.population_uniqueness import population_uniqueness

    _, _, before, after = _class_sizes(request)
    asked = request.query_params.get("people", "").replace(",", "").strip()
    people = whole(asked, "people in the population") if asked else 0
    if asked and people < before.records:
        raise InputError(f"people in the population: must be at least {before.records:,}, those of the table")
    fractions = [before.records / people] if people else list(FRACTIONS)
    found = [
        tuple(population_uniqueness(np.repeat(side.sizes, side.classes), fraction) for side in (before, after))
        for fraction in fractions
    ]
    # In the words of who knows the population: how many live there, not which share of them the table is.
    names = [f"{round(before.records / fraction):,}" for fraction in fractions]
    return fragment(
        "population.html",
        bars=bars([(name, old.share, new.share) for name, (old, new) in zip(names, found, strict=True)]),
        methods=[METHODS[old.chosen] for old, _ in found],
        detail=[(METHODS[key], getattr(found[0][0], key), getattr(found[0][1], key)) for key in METHODS],
        people=people,
    )


def regress(request: Request) -> Response:
    """Explain a column of numbers by others, on the original and on the release."""
    # Here: it loads what measures utility, and no page needs it before.
    from sfumato.evaluation.utility.describe import describe

    desk = desk_of(request)
    job, _ = desk.release(int(request.path_params["number"]))
    target = request.query_params.get("target", "")
    on = [name for name in request.query_params.getlist("on") if name != target]
    if not on:
        raise InputError("explained by: choose at least one other column")
    with desk.lock:
        original = desk.table.with_schema(desk.policy_of(job).to_schema())
    found = describe(
        desk.release_folder(job), original, columns=[], regressions={target: on}, seed=0, progress=silent
    ).regressions[0]
    return fragment(
        "regression.html",
        fit=found,
        rows=[(one, _scale([one.before, one.after])) for one in found.coefficients],
        is_blank=desk.is_blank,
    )


def _scale(sides: Sequence[Any]) -> tuple[float, float]:
    """Return where a drawing of intervals begins, and how much it spans; 0 is always in it."""
    ends = [0.0, *(end for side in sides if side is not None for end in (side.low, side.high))]
    return min(ends), (max(ends) - min(ends)) or 1.0


def _band(low: int, high: int | None) -> str:
    return say("{1} and more", low) if high is None else str(low) if low == high else say("{1} to {2}", low, high)


def _widths(desk: Desk, job: Job, published: PublishedTable) -> Iterator[CellWidths]:
    # Here: no other page computes with published cells.
    from sfumato.release.recipient import open_release

    cells = {} if published.counterfeits is not None else open_release(desk.release_folder(job)).columns
    with desk.lock:
        original = desk.table.with_schema(desk.policy_of(job).to_schema())
    for name in published.quasi_identifying:
        column = cells.get(name)
        if column is None or not column.is_number:
            continue
        values = original.frame[name].drop_nulls()
        if not (values.dtype.is_numeric() or values.dtype == pl.Date):
            continue
        span = float(np.ptp(values.to_physical().cast(pl.Float64).to_numpy())) if len(values) else 0.0
        share = np.clip((column.high - column.low)[column.label_of] / (span or 1.0), 0, 1)
        # A cell that says nothing is as wide as the column.
        share = np.where(np.isnan(share), 1.0, share)
        place = np.searchsorted([limit for limit, _ in WIDTHS], share - 1e-12)
        many = np.bincount(np.minimum(place, len(WIDTHS) - 1), minlength=len(WIDTHS)).tolist()
        lines = bars([(say(word), 0, count) for (_, word), count in zip(WIDTHS, many, strict=True)])
        yield CellWidths(name, float(np.median(share)), float(np.quantile(share, 0.9)), lines)


def seen(request: Request) -> Response:
    """Show a column before and after; or how often values of two columns occur together."""
    # Here: it loads what measures utility, and no page needs it before.
    from sfumato.evaluation.utility.describe import describe

    desk = desk_of(request)
    job, _ = desk.release(int(request.path_params["number"]))
    one, two = request.query_params.get("one", ""), request.query_params.get("two", "")
    with desk.lock:
        original = desk.table.with_schema(desk.policy_of(job).to_schema())
    pairs = [(one, two)] if two and two != one else []
    found = describe(desk.release_folder(job), original, columns=[one], contingency=pairs, progress=silent)
    column = found.columns[0]
    shares = [(share.value, share.before, share.after) for share in column.distribution]
    return fragment(
        "seen.html",
        column=column,
        bars=bars(shares),
        table=found.tables[0] if found.tables else None,
        most=MOST_CELLS,
        is_blank=desk.is_blank,
    )


VERDICTS = {
    "beyond": "more than is promised",
    "within": "within what is promised",
    "undecided": "undecided",
    "no better": "no better than guessing",
}
"""How a result is judged on the page: only what no promise allows is painted as bad."""


def attack(request: Request) -> Response:
    """Show what attacks found, the latest first."""
    desk = desk_of(request)
    number = request.path_params.get("number")
    about = None if number is None else int(number)
    jobs = desk.jobs.of_kind("attack")
    if about is not None:
        desk.release(about)
        jobs = [job for job in jobs if job.about == about]
    done = [job for job in jobs if job.state == "done"]
    return page(
        request,
        "attack.html",
        "/attack",
        about=about,
        problems=desk.hindrances(),
        releases=desk.releases(),
        current=[job for job in jobs if not job.has_ended],
        failed=jobs[0] if jobs and jobs[0].state == "failed" else None,
        done=[(job, _chip(job), _results(job), desk.staleness(job)) for job in done[:4]],
    )


@dataclass(frozen=True)
class Played:
    """A result of an attack as the page shows it: one judgement, and the figures on which it rests."""

    of: Mapping[str, Any]
    judged: str  # a key of `VERDICTS`
    words: str
    success: Mapping[str, Any] | None  # None where the attacker claims nothing of anybody
    surest: str = ""  # who decides where not everybody does, with their figures

    @classmethod
    def result(cls, one: Mapping[str, Any]) -> Played:
        """Read a result as an attack has printed it."""
        success, allowed, verdict = one["success"], one.get("allowed"), one["verdict"]
        is_within = one.get("within", allowed is not None and success["low"] <= allowed)
        judged = ("within" if is_within else "beyond") if verdict == "succeeds" else verdict
        shows = success["people"] and (verdict != "succeeds" or success["low"] > success["baseline"])
        words = VERDICTS[judged] if judged in ("beyond", "within") else one.get("headline", VERDICTS[judged])
        if judged == "beyond" and allowed is None:
            words = "succeeds, and no promise is about it"
        return cls(one, judged, words, success if success["people"] else None, "" if shows else _surest(one))


def _surest(one: Mapping[str, Any]) -> str:
    """Name those of whom the attacker is surest, where they show more than all people do."""
    if one["verdict"] != "succeeds":
        return ""
    looks = [look["inside"] for look in (one.get("curve") or {}).get("looks", ())]
    best = max(looks, key=lambda inside: inside["low"] - inside["baseline"], default=None)
    if best is None or best["low"] <= best["baseline"]:
        told = (one.get("certainty") or {}).get("told", 0)
        return f"certain of {counted(told, 'person')}, about whom one answer is left" if told else ""
    return (
        f"of the {best['people']:,} of whom the attacker is surest, {percent(best['share'], 3)} are right, "
        f"by guessing {percent(best['baseline'], 3)}"
    )


def _results(job: Job) -> list[Played]:
    results = job.result.get("results", []) if isinstance(job.result, Mapping) else []
    order = list(VERDICTS)
    shown = map(Played.result, results)
    return sorted(shown, key=lambda played: (bool(played.of.get("unplayed")), order.index(played.judged)))


def _chip(job: Job) -> Mapping[str, int]:
    result = job.result if isinstance(job.result, Mapping) else {}
    return {
        "succeed beyond what is promised": int(result.get("unlicensed", 0)),
        "succeed": int(result.get("succeeding", 0)),
        "are undecided": int(result.get("undecided", 0)),
    }


ROUTES = [
    Route("/look", reading(look)),
    Route("/look/{number:int}", reading(look)),
    Route("/look/{number:int}/person", reading(person)),
    Route("/look/{number:int}/groups", reading(look_groups)),
    Route("/look/{number:int}/classes", reading(classes)),
    Route("/look/{number:int}/seen", reading(seen)),
    Route("/look/{number:int}/population", reading(population)),
    Route("/look/{number:int}/regression", reading(regress)),
    Route("/attack", reading(attack)),
    Route("/attack/{number:int}", reading(attack)),
]
