"""Every anonymizer and publisher on both tables: what is run, and what of it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import polars as pl

import sfumato as sf
from golden.made_tables import TOWN, WARD, town, ward
from guarantees.combinations import PUBLISHER_SETTINGS, SETTINGS
from sfumato.anonymizers.protocol import Publisher
from sfumato.models.protocol import PrivacyModel

SEED = 7
BLOCKS = {
    repr(setting): setting
    for setting in (
        sf.KMember(ranks=0.25, block_size=150),
        sf.KMeans(block_size=150),
        sf.MDAV(block_size=150),
        sf.VMDAV(block_size=150),
        sf.OKA(block_size=150),
        sf.CAAT(block_size=150),
        sf.KACA(block_size=150),
        sf.UtilityRecoding(block_size=150),
        sf.SBC(block_size=150),
    )
}
"""Clusterings that take a table in several blocks."""

KEPT = {
    name: way for name, way in SETTINGS.items() if not isinstance(way, sf.Best) or way.objective == sf.Best.objective
}
"""What runs all others is run once, not under every objective."""
ANONYMIZED = {**KEPT, **BLOCKS}
TABLES = {"town": (town(), TOWN), "ward": (ward(), WARD)}


@dataclass(frozen=True)
class Run:
    """One anonymizer on one table, with what else it is told.

    Attributes
    ----------
    setting : str
        Key of :data:`ANONYMIZED` or of the publishers' settings.
    table : str
        Key of :data:`TABLES`.
    told : dict
        Further arguments of :func:`sfumato.anonymize`.
    """

    setting: str
    table: str
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        words = "".join(f", {name}={value!r}" for name, value in self.told.items())
        return f"{self.table}{words}: {self.setting}"

    def release(self, frame: pl.DataFrame | None = None, threads: int = 1) -> sf.Release:
        """Make the release, of the rows of the table in another order where `frame` is given."""
        own, schema = TABLES[self.table]
        way = {**ANONYMIZED, **PUBLISHER_SETTINGS}[self.setting]
        table = sf.read_table(own if frame is None else frame, schema)
        return sf.anonymize(table, _models(way, self.table), anonymizer=way, seed=SEED, threads=threads, **self.told)


def _models(way: Any, table: str) -> list[PrivacyModel]:
    if isinstance(way, Publisher):
        return [sf.ProbabilisticLDiversity(1.5)] if way.promises else []
    balanced = not isinstance(way, (sf.Optimal, sf.Samarati)) and getattr(way, "mode", "strict") == "strict"
    if table == "ward" and balanced:
        # More than half have one disease, so that some must be left out; relaxed and optimal searches do not do
        # that, nor does Samarati's.
        return [sf.KAnonymity(4), sf.ProbabilisticLDiversity(2)]
    return [sf.KAnonymity(4), sf.DistinctLDiversity(2)]


OF_MASKING = ("il1", "il1s", "eigenvalue_loss", "interval_risk", "mahalanobis_risk")
"""Figures that rest on linear algebra, whose last digits differ between processors, and those beside them."""

RUNS = [
    *(Run(setting, "town") for setting in [*ANONYMIZED, *PUBLISHER_SETTINGS]),
    *(Run(setting, "ward", {"suppression_limit": 0.3}) for setting in ANONYMIZED),
    *(Run(setting, "ward") for setting in PUBLISHER_SETTINGS),
    Run(repr(sf.Mondrian()), "town", {"refine": 20}),
]


def rows_of(release: sf.Release) -> dict[str, list[str]]:
    """Return the published rows of every table as text, in order."""
    return {
        name: ["|".join([*frame.columns]), *("|".join(map(_text, row)) for row in frame.rows())]
        for name, frame in sorted(release.tables.items())
    }


def _text(value: Any) -> str:
    if value is None:
        return "\\N"
    return value.isoformat() if isinstance(value, date) else str(value)


def losses_of(release: sf.Release) -> dict[str, str]:
    """Return the losses of the report as printed."""
    told = release.report.to_dict()
    return _flat(told.get("losses") or {name: each for name, each in told["figures"].items() if name not in OF_MASKING})


def _flat(losses: Mapping[str, Any], before: str = "") -> dict[str, str]:
    found = {}
    for name, value in losses.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[before + name] = f"{value:.6g}" if isinstance(value, float) else str(value)
    return found


def outcome(run: Run, threads: int) -> dict[str, Any]:
    """Return what is kept of a run: hash of the tables, and losses; or which error refused it."""
    try:
        return kept_of(run.release(threads=threads))
    except sf.SfumatoError as error:
        return {"refused": type(error).__name__}


def kept_of(release: sf.Release) -> dict[str, Any]:
    """Return the hash of a release's tables, and its losses."""
    text = "\n".join(f"{name}\n" + "\n".join(rows) for name, rows in rows_of(release).items())
    return {"published": hashlib.sha256(text.encode()).hexdigest(), "losses": losses_of(release)}
