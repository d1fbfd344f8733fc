"""Anonymeter's attacks beside ours, on values drawn from releases; ``python -m benchmarks.yardstick [TABLE ...]``.

Needs ``pip install anonymeter==1.1.0``, and the tables in the folder that ``SFUMATO_DATA`` names. Of each table half of
the records are published (k = 5, one value drawn from each cell), and the others are the control group. Printed is how
much more often each attack is right than on the control group, in points: anonymeter's, ours, and ours on the release
that values were drawn from.
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

RECORDS, ATTACKS, K = 1_000, 400, 5
TABLES = {
    **{name: source for name, source in SOURCES.items() if source.sensitive},
    "Nursery": Source(
        "nursery/nursery.csv", ("Parents", "Has_nurs", "Form", "Children", "Housing", "Finance"), "Decision"
    ),
    "Households": Source(
        "sdcmicro_testdata/testdata.csv", ("urbrur", "roof", "walls", "water", "relat", "sex", "age"), "electcon"
    ),
}
OURS = {"singling out": "singling-out", "linkability": "nearest-linkage", "inference": "attribute-inference"}


def theirs(source: Source, frames: tuple[Any, Any, Any]) -> dict[str, float]:
    """Return the excess of anonymeter's attacks over the control group, where they can be played."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    people, drawn, others = frames
    quasi = list(source.quasi)
    halves = quasi[::2], quasi[1::2]
    played: dict[str, Callable[[], Any]] = {
        "singling out": lambda: SinglingOutEvaluator(
            people, drawn, ATTACKS, control=others, max_attempts=20_000, seed=1
        ).evaluate("multivariate"),
        "linkability": lambda: LinkabilityEvaluator(people, drawn, halves, ATTACKS, control=others).evaluate(n_jobs=1),
        "inference": lambda: InferenceEvaluator(
            people, drawn, quasi, str(source.sensitive), n_attacks=ATTACKS, control=others
        ).evaluate(n_jobs=1),
    }
    found = {}
    for name, play in played.items():
        with suppress(RuntimeError, ValueError):
            told = play().results()
            found[name] = 100 * (told.attack_rate.value - told.control_rate.value)
    return found


def ours(release: sf.Release, table: sf.Table, control: sf.Table) -> dict[str, float]:
    """Return the same of ours: of everybody."""
    found = {}
    for name, attack in OURS.items():
        with suppress(sf.SfumatoError):
            played = sf.attack(release, table, control=control, attacks=attack, seed=1)
            for one in played.results:
                if one.unplayed is None and one.control is not None:
                    found[name] = 100 * (one.success.share - one.control.share)
    return found


def main(names: list[str]) -> None:
    """Print a row of a table for each table and attack."""
    warnings.simplefilter("ignore")
    for name in names or list(TABLES):
        source = TABLES[name]
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
        frame = frame.with_columns(pl.col(pl.String).str.strip_chars())
        frame = frame.sample(min(2 * RECORDS, frame.height), seed=1, shuffle=True)
        schema = sf.Schema(
            quasi_identifying=list(source.quasi), sensitive={columns[-1]: sf.Attribute(kind="categorical")}
        )
        half = frame.height // 2
        table, control = (sf.read_table(part, schema) for part in (frame[:half], frame[half : 2 * half]))
        release = sf.anonymize(table, sf.KAnonymity(K), anonymizer=sf.Mondrian(), seed=1)
        drawn = release.draw(seed=1)
        values = drawn.data.with_columns(pl.col(each).cast(frame.schema[each], strict=False) for each in columns)
        frames = tuple(each.select(columns).to_pandas() for each in (frame[:half], values, frame[half : 2 * half]))
        told = theirs(source, frames), ours(drawn, table, control), ours(release, table, control)  # type: ignore[arg-type]
        for attack in OURS:
            cells = [f"{each[attack]:.1f}" if attack in each else "–" for each in told]
            print(f"| {name} | {attack} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
