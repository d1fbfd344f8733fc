"""Measures what published pseudonyms give away of hospital stays; ``python docs/figures/fingerprints.py`` prints it.

Every figure is the median over the samples of 4,000 people that ``people.py`` draws, and its range; published by
default Mondrian for k = 5 people. The table is looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from people import PEOPLE, SEEDS, STAYS, K, told

import sfumato as sf

FILE, PERSON, DIAGNOSIS, GROUP = "diabetes130/diabetic_data.csv.gz", "patient_nbr", "diag_1", "diagnosis_group"
KNOWN = (1, 2)
SENSITIVE = {
    DIAGNOSIS: "first diagnosis, as a code",
    GROUP: "first diagnosis, in nine groups",
    "readmitted": "readmitted: no, soon, later",
}
GROUPS = {
    "circulatory": [(390, 459), (785, 785)],
    "respiratory": [(460, 519), (786, 786)],
    "digestive": [(520, 579), (787, 787)],
    "diabetes": [(250, 250)],
    "injury": [(800, 999)],
    "musculoskeletal": [(710, 739)],
    "genitourinary": [(580, 629), (788, 788)],
    "neoplasms": [(140, 239)],
}
"""Of codes of ICD-9, as B. Strack and others group them, BioMed Research International 2014; all else is one more."""


def samples(data: Path) -> Iterator[pl.DataFrame]:
    """Draw some people, with all of their stays."""
    frame = pl.read_csv(data / FILE, infer_schema_length=0, columns=[PERSON, *STAYS, DIAGNOSIS, "readmitted"])
    number = pl.col(DIAGNOSIS).cast(pl.Float64, strict=False).floor()
    group = pl.lit("other")
    for name, ranges in GROUPS.items():
        inside = pl.any_horizontal(number.is_between(low, high) for low, high in ranges).fill_null(False)
        group = pl.when(inside).then(pl.lit(name)).otherwise(group)
    frame = frame.with_columns(pl.col("time_in_hospital").cast(pl.Int64), group.alias(GROUP))
    people = frame[PERSON].unique().sort()
    for seed in SEEDS:
        yield frame.filter(pl.col(PERSON).is_in(people.sample(PEOPLE, seed=seed).implode()))


def figures(frame: pl.DataFrame, sensitive: str, known: int) -> tuple[float, ...]:
    """Return what somebody finds who knows so many values, and what a limit of two people costs."""
    kind = {sensitive: sf.Attribute(kind="categorical")}
    schema = sf.Schema(quasi_identifying=STAYS, sensitive=kind, person=PERSON, others="drop")
    table = sf.read_table(frame, schema)

    def report(least: int | None, limit: float) -> dict[str, dict[str, float]]:
        asked = sf.People(pseudonyms="published", known_values=known, fingerprint_k=least)
        settings = {"anonymizer": sf.Mondrian(), "people": asked, "suppression_limit": limit}
        return sf.anonymize(table, sf.KAnonymity(K), **settings).report.to_dict()

    (told,) = report(None, 0.0)["fingerprints"]
    try:
        records = report(2, 1.0)["records"]
        gone = records["suppressed"] / records["original"]
    except sf.UnsatisfiableError:
        gone = 1.0
    return told["alone"] / told["people"], told["chance"], told["guess"], gone


def main() -> None:
    """Print the table of the decision."""
    drawn = list(samples(Path(os.environ["SFUMATO_DATA"])))
    print("| sensitive | values known | alone in the class with some | right pick | by the class alone | suppressed |")
    print("|---|---|---|---|---|---|")
    for sensitive, words in SENSITIVE.items():
        for known in KNOWN:
            rows = [figures(frame, sensitive, known) for frame in drawn]
            print(f"| {words} | {known} | " + " | ".join(map(told, zip(*rows, strict=True))) + " |", flush=True)


if __name__ == "__main__":
    main()
