"""Measures what counting people costs on two real tables; ``python docs/figures/people.py`` prints it.

Every figure is the median over samples of 4,000 people with fixed seeds, and its range. Losses are NCP of the published
records. The tables are looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl

import sfumato as sf

PEOPLE, SEEDS, K = 4_000, (1, 2, 3, 4, 5), 5


@dataclass(frozen=True)
class Source:
    """A real table in which people have several records."""

    file: str
    person: str
    quasi: Sequence[str]
    numeric: Sequence[str] = ()

    def samples(self, data: Path) -> Iterator[pl.DataFrame]:
        """Draw some people, with all of their records."""
        frame = pl.read_csv(data / self.file, infer_schema_length=0, columns=[self.person, *self.quasi])
        frame = frame.with_columns(pl.col(name).cast(pl.Int64) for name in self.numeric)
        people = frame[self.person].unique().sort()
        for seed in SEEDS:
            chosen = people.sample(PEOPLE, seed=seed)
            yield frame.filter(pl.col(self.person).is_in(chosen.implode()))


STAYS = (
    "race",
    "gender",
    "age",
    "admission_type_id",
    "discharge_disposition_id",
    "medical_specialty",
    "time_in_hospital",
)
SOURCES = {
    "hospital stays (diabetes130)": Source(
        "diabetes130/diabetic_data.csv.gz", "patient_nbr", STAYS, ("time_in_hospital",)
    ),
    "motor insurance, five years (pg17)": Source(
        "pg17_motor_panel/pg17_policies.csv.gz",
        "id_client",
        ("drv_age1", "drv_sex1", "drv_age_lic1", "vh_make", "pol_usage", "pol_coverage"),
        ("drv_age1", "drv_age_lic1"),
    ),
}


def figures(source: Source, frame: pl.DataFrame) -> tuple[float, ...]:
    """Return the records a person has, and the losses of five promises."""
    schema = sf.Schema(quasi_identifying=source.quasi, person=source.person, others="drop")
    table = sf.read_table(frame, schema)
    found = sf.compare(table, anonymizers=["mondrian"], vary={"k": [K]}, figures=sf.Figures(queries=0), people="both")
    return frame.height / PEOPLE, *found.frame["loss"]


def told(shares: Sequence[float]) -> str:
    """Write a median and a range, in percent."""
    return f"{100 * median(shares):.1f} % ({100 * min(shares):.1f} to {100 * max(shares):.1f})"


def main() -> None:
    """Print the table of the page."""
    data = Path(os.environ["SFUMATO_DATA"])
    heads = ("table", "records a person", "k records", "everybody's records together", "k people", "nobody above 1/k")
    print(f"| {' | '.join(heads)} | the same, rows apart |")
    print("|---|---|---|---|---|---|---|")
    for name, source in SOURCES.items():
        rows = [figures(source, frame) for frame in source.samples(data)]
        many, *losses = zip(*rows, strict=True)
        print(f"| {name} | {median(many):.1f} | " + " | ".join(map(told, losses)) + " |", flush=True)


if __name__ == "__main__":
    main()
