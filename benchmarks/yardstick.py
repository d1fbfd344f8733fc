"""Anonymeter's attacks beside ours, on values drawn from releases; ``python -m benchmarks.yardstick [TABLE ...]``.

Needs ``pip install anonymeter==1.1.0 'numpy>=2'``, and the tables in the folder that ``SFUMATO_DATA`` names. Of each
table half of the records are published (k = 5, one value drawn from each cell), and the others are the control group.
Printed is how much more often each attack is right than on the control group, in points, as a mean over draws of
records and values: anonymeter's, ours, and ours on the release that values were drawn from. Its linkability has no twin
here: nearest linkage looks for the record of a person, and nobody outside has one.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "figures"))
from which_method import SOURCES, Source

RECORDS, ATTACKS, K, DRAWS = 1_000, 400, 5, 6
TABLES = {
    **{name: source for name, source in SOURCES.items() if source.sensitive},
    "Nursery": Source(
        "nursery/nursery.csv", ("Parents", "Has_nurs", "Form", "Children", "Housing", "Finance"), "Decision"
    ),
    "Households": Source(
        "sdcmicro_testdata/testdata.csv", ("urbrur", "roof", "walls", "water", "relat", "sex", "age"), "electcon"
    ),
}
OURS = {"singling out": "singling-out", "inference": "attribute-inference"}
PLAYED = ("singling out", "linkability", "inference")


def theirs(source: Source, frames: tuple[Any, Any, Any], seed: int) -> dict[str, float]:
    """Return the excess of anonymeter's attacks over the control group, where they can be played."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    people, drawn, others = frames
    attacks = min(ATTACKS, len(people), len(others))
    quasi = list(source.quasi)
    halves = quasi[::2], quasi[1::2]
    played: dict[str, Callable[[], Any]] = {
        "singling out": lambda: SinglingOutEvaluator(
            people, drawn, ATTACKS, control=others, max_attempts=20_000, seed=seed
        ).evaluate("multivariate"),
        "linkability": lambda: LinkabilityEvaluator(people, drawn, halves, attacks, control=others).evaluate(n_jobs=1),
        "inference": lambda: InferenceEvaluator(
            people, drawn, quasi, str(source.sensitive), n_attacks=attacks, control=others
        ).evaluate(n_jobs=1),
    }
    found = {}
    for name, play in played.items():
        with suppress(RuntimeError, ValueError):
            told = play().results()
            found[name] = 100 * (told.attack_rate.value - told.control_rate.value)
    return found


def ours(release: sf.Release, table: sf.Table, control: sf.Table, seed: int) -> dict[str, float]:
    """Return the same of ours: of everybody."""
    found = {}
    for name, attack in OURS.items():
        with suppress(sf.SfumatoError):
            played = sf.attack(release, table, control=control, attacks=attack, seed=seed)
            for one in played.results:
                if one.unplayed is None and one.control is not None:
                    found[name] = 100 * (one.success.share - one.control.share)
    return found


def read(source: Source) -> pl.DataFrame:
    """Read the complete records of a table."""
    columns = [*source.quasi, str(source.sensitive)]
    frame = pl.read_csv(
        Path(os.environ["SFUMATO_DATA"]) / source.file,
        separator=source.separator,
        infer_schema_length=None,
        null_values=["NA"],
        has_header=not source.names,
        new_columns=list(source.names) or None,
    )
    frame = frame.select(columns).drop_nulls().with_columns(pl.col(columns[-1]).cast(pl.String))
    return frame.with_columns(pl.col(pl.String).str.strip_chars())


def excesses(source: Source, whole: pl.DataFrame, seed: int) -> tuple[dict[str, float], ...]:
    """Publish a draw of records, and return what anonymeter's attacks and ours find in it."""
    frame = whole.sample(min(2 * RECORDS, whole.height), seed=seed, shuffle=True)
    schema = sf.Schema(
        quasi_identifying=list(source.quasi), sensitive={str(source.sensitive): sf.Attribute(kind="categorical")}
    )
    half = frame.height // 2
    parts = frame[:half], frame[half : 2 * half]
    table, control = (sf.read_table(part, schema) for part in parts)
    release = sf.anonymize(table, sf.KAnonymity(K), anonymizer=sf.Mondrian(), seed=seed)
    drawn = release.draw(seed=seed)
    values = drawn.data.with_columns(pl.col(each).cast(frame.schema[each], strict=False) for each in frame.columns)
    frames = tuple(each.select(frame.columns).to_pandas() for each in (parts[0], values, parts[1]))
    return theirs(source, frames, seed), *(ours(each, table, control, seed) for each in (drawn, release))  # type: ignore[arg-type]


def main(names: list[str]) -> None:
    """Print a row of a table for each table and attack."""
    warnings.simplefilter("ignore")
    for name in names or list(TABLES):
        whole = read(TABLES[name])
        told = [excesses(TABLES[name], whole, seed) for seed in range(1, DRAWS + 1)]
        for attack in PLAYED:
            found = [[each[attack] for each in one if attack in each] for one in zip(*told, strict=True)]
            cells = [f"{sum(each) / len(each):.1f}" if each else "–" for each in found]
            print(f"| {name} | {attack} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
