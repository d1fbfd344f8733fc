"""The ways of series held against each other on the same arrivals: loss of each month, who waits, what attacks find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import InputError, PolicyError, SfumatoError, UnsatisfiableError, raise_all
from sfumato.evaluation.losses import measure
from sfumato.numbers import counted, percent
from sfumato.policy.parts import policy_columns
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, silent
from sfumato.series.acceptable import key_of_series
from sfumato.series.attacks import SeriesAttacks, attack_releases, attack_with_keys
from sfumato.series.description import WAYS, ways_of_series
from sfumato.series.reading import ReadRelease
from sfumato.series.series import Series
from sfumato.series.step import Step
from sfumato.table.large.memory import scratch_folder
from sfumato.table.person_keys import key_columns
from sfumato.table.reading import label_of, read_table
from sfumato.table.schema import Schema
from sfumato.table.sources import open_source

_FEWEST_MONTHS = 2
_KEPT_OF_SOURCE = ("missing", "strip", "decimal", "thousands", "dates")


@dataclass(frozen=True)
class _MonthOfWay:
    """What a way made of one month."""

    arrived: int  # people in the table of the month
    number: int | None  # of the release; None where nothing was published
    rows: int  # of the last release, counterfeits among them
    waiting: int  # people of this month and those before who are in no release
    counterfeits: int
    # normalized NCP over everybody who came so far, the waiting counted as suppressed; None without a release
    ncp: float | None
    reason: str | None = None  # why nothing was published

    def __str__(self) -> str:
        """Write it as one line."""
        if self.number is None:
            return f"nothing published, {counted(self.waiting, 'person')} wait: {self.reason}"
        loss = "" if self.ncp is None else f"NCP {percent(self.ncp, 3)}"
        others = [f"{counted(self.waiting, 'person')} wait"] if self.waiting else []
        others += [f"{counted(self.counterfeits, 'counterfeit')}"] if self.counterfeits else []
        return ", ".join([loss, *others])


@dataclass(frozen=True)
class WayCompared:
    """What came of one way."""

    way: str
    months: tuple[_MonthOfWay, ...]  # empty where the way was refused
    attacks: SeriesAttacks | None = None
    refused: str | None = None  # why the way, or the attacks, could not be played

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "way": self.way,
            "months": [asdict(each) for each in self.months],
            "attacks": None if self.attacks is None else self.attacks.to_dict(),
            "refused": self.refused,
        }


@dataclass(frozen=True)
class WaysCompared:
    """The ways of series on the same arrivals."""

    people: int
    months: int
    ways: tuple[WayCompared, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"people": self.people, "months": self.months, "ways": [each.to_dict() for each in self.ways]}

    def __str__(self) -> str:
        """Return a part for each way."""
        lines = [f"{counted(self.people, 'person')} in {counted(self.months, 'month')}"]
        for each in self.ways:
            lines.append(each.way if each.months else f"{each.way}: not made, because {each.refused}")
            lines += [f"  month {number}: {month}" for number, month in enumerate(each.months, 1)]
            if each.attacks is not None:
                lines += [f"  {line}" for line in str(each.attacks).splitlines()]
            elif each.months:
                lines.append(f"  attacks: not played, because {each.refused}")
        return "\n".join(lines)


def compare_ways(
    tables: Sequence[object],
    policy: Policy,
    *,
    key: str | Sequence[str] | None = None,
    m: int | None = None,
    ways: Sequence[str] = (),
    most_counterfeits: float = 0.05,
    seed: int | None = None,
    progress: Progress = silent,
) -> WaysCompared:
    """Publish the same arrivals in every way of series, measure each month, and attack what came of it.

    * `tables`: the newcomers of each month, the first month first; two or more. Nobody leaves.
    * `policy`: of the series. A way that cannot have it is listed with the reason.
    * `key`: the identifying column that says who a record is about; None: the only one.
    * `m`: for m-invariance: different sensitive values of each class, in the place of the policy's models; None: these.
    * `ways`: which; empty: all.
    * `most_counterfeits`: for m-invariance: invented rows that are allowed.
    * `seed`, `progress`: as of :meth:`sfumato.Series.append`.

    Raises ``PolicyError`` when a way is unknown. Raises ``InputError`` when a table cannot be read, or there are fewer
    than two. The series are made in a folder that is taken away. Attackers know who came with which release, as the
    attacks on series have it. Losses of a month are those of its release on everybody who came so far. Cost of all
    releases.
    """
    chosen = tuple(ways) or tuple(ways_of_series())
    raise_all(PolicyError, [f"ways: {way!r} is none; known are {', '.join(ways_of_series())}" for way in chosen
                            if way not in ways_of_series()])  # fmt: skip
    if len(tables) < _FEWEST_MONTHS:
        raise InputError("compare: give the tables of two months or more, the first month first")
    column = key_of_series(policy, key)
    # Releases and ledgers of real people, which the next run takes away where this one is killed.
    with scratch_folder() as place:
        arrivals = _Arrivals.of(tables, policy, column, place)
        found = []
        for number, way in enumerate(chosen):
            progress(f"publishing: {way}", number, len(chosen))
            asked = arrivals.policy if m is None or not WAYS[way].everybody else _with_m(arrivals.policy, m)
            found.append(_compared(way, arrivals, asked, place / way, most_counterfeits, seed))
        return WaysCompared(arrivals.so_far[-1].height, len(tables), tuple(found))


def _with_m(policy: Policy, m: int) -> Policy:
    models = [
        {"name": "k-anonymity", "k": m},
        {"name": "distinct-l-diversity", "l": m},
        {"name": "probabilistic-l-diversity", "l": m},
    ]
    return Policy.from_mapping({**policy.to_mapping(), "models": models})


@dataclass(frozen=True, eq=False, repr=False)
class _Arrivals:
    """The newcomers of each month, as they were written, in files that one policy reads."""

    frames: list[pl.DataFrame]
    so_far: list[pl.DataFrame]  # everybody up to each month
    text: bool  # whether cells are text as of a CSV file
    folder: Path
    policy: Policy
    key: str | tuple[str, ...]

    @classmethod
    def of(cls, tables: Sequence[object], policy: Policy, key: str | tuple[str, ...], folder: Path) -> _Arrivals:
        schema, layout = policy.to_schema(), policy.source.layout()
        wished = [name for name in (schema.wished_k, schema.wished_l) if name is not None]
        names = [*key_columns(key), *schema.quasi_identifying, *schema.sensitive, *schema.insensitive, *wished]
        frames, text = [], list[bool]()
        for table in tables:
            opened = open_source(table, layout, policy.source.place())
            missing = [name for name in names if name not in opened.names]
            label = label_of(table, policy.source.table)
            raise_all(InputError, [f"{label}: has no column {name!r}" for name in missing])
            frame = pl.DataFrame(opened.read(tuple(names)))
            # Dictionaries of texts differ from table to table.
            frames.append(frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)))
            text.append(opened.is_text)
        if len(set(text)) > 1:
            raise InputError("compare: tables of text and tables with types together; give one sort of files")
        mapping = policy.to_mapping()
        settings = {name: setting for name, setting in mapping.get("source", {}).items() if name in _KEPT_OF_SOURCE}
        identifying = [name for name in key_columns(key) if name not in schema.key_columns]
        columns = {**mapping["columns"], "identifying": identifying, "others": "drop"}
        others = {**mapping, "source": settings, "columns": columns}
        so_far = [pl.concat(frames[: number + 1], how="vertical_relaxed") for number in range(len(frames))]
        return cls(frames, so_far, text[0], folder, Policy.from_mapping(others), key)

    def written(self, frame: pl.DataFrame, name: str) -> Path:
        """Write a table so that the policy reads it as it read the original one."""
        path = self.folder / f"{name}.{'csv' if self.text else 'parquet'}"
        if self.text:
            frame.write_csv(path)
        else:
            frame.write_parquet(path)
        return path

    def losses_on(self, frame: pl.DataFrame, release: Path) -> float:
        """Return the normalized NCP of a release over some people; who is not in it counts as suppressed."""
        schema = self.policy.to_schema()
        columns = policy_columns(Schema(quasi_identifying=schema.quasi_identifying, others="drop"))
        table = read_table(self.written(frame, "measured"), self.policy.model_copy(update={"columns": columns}))
        return float(measure(table, release).normalized_ncp)


def _compared(
    way: str, arrivals: _Arrivals, policy: Policy, folder: Path, most_counterfeits: float, seed: int | None
) -> WayCompared:
    try:
        made = _made_present if WAYS[way].everybody else _made_of_newcomers
        months, attack = made(way, arrivals, policy, folder, most_counterfeits, seed)
    except SfumatoError as error:
        return WayCompared(way, (), refused=" ".join(error.problems))
    if sum(month.number is not None for month in months) < _FEWEST_MONTHS:
        return WayCompared(way, months, refused="fewer than two releases came of it")
    try:
        return WayCompared(way, months, attack())
    except SfumatoError as error:
        return WayCompared(way, months, refused=" ".join(error.problems))


_Made = tuple[tuple[_MonthOfWay, ...], Callable[[], SeriesAttacks]]


def _made_of_newcomers(
    way: str, arrivals: _Arrivals, policy: Policy, folder: Path, _: float, seed: int | None
) -> _Made:
    """Publish newcomers month by month; who waits comes with the next release, all together."""
    series = Series.start(folder, policy, way=way, key=arrivals.key)
    months, came, waiting = list[_MonthOfWay](), list[Path](), list[pl.DataFrame]()
    for number, frame in enumerate(arrivals.frames):
        waiting.append(frame)
        step = getattr(series, way)(arrivals.written(frame, "month"), seed=seed, progress=silent)
        if step.number is None:
            months.append(_MonthOfWay(frame.height, None, _rows(series), step.waiting, 0, None, step.reason))
            continue
        came.append(arrivals.written(pl.concat(waiting, how="vertical_relaxed"), f"{way}-{number}"))
        waiting = []
        ncp = arrivals.losses_on(arrivals.so_far[number], series.releases[-1])
        months.append(_MonthOfWay(frame.height, step.number, _rows(series), step.waiting, 0, ncp))
    return tuple(months), lambda: attack_releases(series.releases, came, arrivals.policy)


def _made_present(
    way: str, arrivals: _Arrivals, policy: Policy, folder: Path, most_counterfeits: float, seed: int | None
) -> _Made:
    """Publish everybody so far month by month; a month that cannot be published is left out."""
    from sfumato.series.next_release import Running
    from sfumato.series.series import started

    series = Series(folder, folder.with_name(f"{folder.name}.ledger"))
    months, there, published = list[_MonthOfWay](), list[Path](), 0
    for number, everybody in enumerate(arrivals.so_far):
        table, arrived = arrivals.written(everybody, f"{way}-{number}"), arrivals.frames[number].height
        try:
            if there:
                step: Step | None = series.republish(
                    table, most_counterfeits=most_counterfeits, seed=seed, progress=silent
                )
            else:
                how = Running(seed, None, silent, most_counterfeits)
                step = started(series, policy, key=arrivals.key, table=table, way=way, how=how)
        except UnsatisfiableError as error:
            waiting = everybody.height - published
            reason = " ".join(error.problems)
            months.append(_MonthOfWay(arrived, None, _rows(series) if there else 0, waiting, 0, None, reason))
            continue
        assert step is not None
        assert step.report is not None
        there.append(table)
        published = everybody.height
        rows, losses = _rows(series), step.report.losses
        months.append(_MonthOfWay(arrived, step.number, rows, 0, rows - published, losses.normalized_ncp))
    return tuple(months), lambda: attack_with_keys(series.releases, there, arrivals.key, arrivals.policy)


def _rows(series: Series) -> int:
    return ReadRelease.of(series.releases[-1]).published.data.height if series.releases else 0
