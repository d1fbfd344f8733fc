"""A series at a glance, for its steward: what each release added and lost, and who waits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from sfumato.numbers import counted, percent
from sfumato.release.opening import open_folder
from sfumato.series.description import SeriesFolder
from sfumato.series.ledger import ledger_kept
from sfumato.series.ways import APPEND, GROW, WAYS, WITHDRAWAL

if TYPE_CHECKING:
    from sfumato.series.series import Series


@dataclass(frozen=True)
class ReleaseLine:
    """What is known of one release.

    Attributes
    ----------
    number, records : int
        Its number, and all of its records.
    way : str or None
    newcomers, classes : int or None
        Who came with it, and their classes; who left with it, and 0, where people withdrew; None without the ledger.
    loss : float or None
        Normalized NCP of the newcomers' records; of everybody's where classes grow.
    loss_of_all : float or None
        The mean over all records so far; None once people have left.
    """

    number: int
    records: int
    way: str | None = None
    newcomers: int | None = None
    classes: int | None = None
    loss: float | None = None
    loss_of_all: float | None = None

    def __str__(self) -> str:
        """Write it as one line."""
        line = f"release {self.number}: {counted(self.records, 'record')}"
        if self.way == WITHDRAWAL:
            return f"{line}; {counted(self.newcomers or 0, 'person')} left ({self.way})"
        if self.newcomers is None or self.classes is None or self.loss is None:
            return line
        of_all = "" if self.loss_of_all is None else f", of all {percent(self.loss_of_all, 3)}"
        who = "person" if self.way in WAYS and WAYS[self.way].everybody else "newcomer"
        came = counted(self.newcomers, who)
        if self.way == GROW and self.loss_of_all is not None:
            there = f"{came}, {counted(self.classes, 'class')} of everybody ({self.way})"
            return f"{line}; {there}, NCP of all {percent(self.loss_of_all, 3)}"
        came = f"{came} in {counted(self.classes, 'class')} ({self.way})"
        return f"{line}; {came}, NCP {percent(self.loss, 3)}{of_all}"


@dataclass(frozen=True)
class Overview:
    """A series at a glance.

    Attributes
    ----------
    id : str
    releases : tuple of ReleaseLine
    waiting : int or None
        People who wait for the next release; None without the ledger.
    """

    id: str
    releases: tuple[ReleaseLine, ...]
    waiting: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"series": self.id, "releases": [asdict(each) for each in self.releases], "waiting": self.waiting}

    def __str__(self) -> str:
        """Return a line for each release, and who waits."""
        waiting = [] if self.waiting is None else [f"waiting: {counted(self.waiting, 'person')}"]
        lines = [f"Series {self.id}: {counted(len(self.releases), 'release')}", *map(str, self.releases), *waiting]
        return "\n".join(lines)


def overview_of(series: Series) -> Overview:
    """Look at a series without recounting it; what the ledger says is left out where there is none.

    Raises
    ------
    SfumatoError
        When the folder is no series, or the ledger is damaged or that of another one.
    """
    folder = SeriesFolder.open(series.folder)
    records = [open_folder(path).files["data"].rows for path in folder.releases]
    if not series.ledger.exists():
        alone = (ReleaseLine(number, rows) for number, rows in zip(folder.numbers, records, strict=True))
        return Overview(folder.description.id, tuple(alone), None)
    state = ledger_kept(series).state
    lines, lost, before = [], 0.0, 0
    for number, (rows, entry) in enumerate(zip(records, state.entries, strict=False), 1):
        came, before = rows - before, rows
        if entry.way == WITHDRAWAL:
            lines.append(ReleaseLine(number, rows, entry.way, entry.newcomers, 0))
            lost = nan
            continue
        # What append adds is counted by itself, all else as a whole; counterfeits lose nothing.
        lost = lost + entry.loss * came if entry.way == APPEND else entry.loss * rows
        lines.append(
            ReleaseLine(
                number,
                rows,
                entry.way,
                entry.newcomers,
                entry.classes,
                entry.loss,
                None if isnan(lost) else lost / rows,
            )
        )
    return Overview(folder.description.id, tuple(lines), 0 if state.waiting is None else state.waiting.people)
