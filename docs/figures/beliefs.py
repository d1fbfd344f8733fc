"""Measures how often attackers are right about those of whom they are surest, on default releases of Adult.

``python docs/figures/beliefs.py`` prints a table: for each kind of release, sensitive attribute and l, of the surest
tenth of the people the share whose value was named, by deFinetti and by attribute inference; what the same attacker
names of people who are not in the data; and what somebody names who knows only these people, with their sensitive
values, of those of whom they are surest and of the attacker's. The ratio is to the larger of the promise and the former
of the two. Each is a median and range over seeds. A fifth of the people is not in the data. ``--kinds``, ``--seeds``
and ``--records`` measure less. Adult is looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl

import sfumato as sf
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.table.table import Table

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary",
)  # fmt: skip
USED = ("age", "workclass", "education", "race", "sex", "hours-per-week", "occupation", "marital-status")
ATTACKS = ("definetti", "attribute-inference")
TENTH = 0.1


def adult(sensitive: str, records: int, seed: int) -> tuple[Table, Table]:
    """Draw complete records: those to publish, and a fifth of them that is not in the data."""
    path = Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data"
    frame = pl.read_csv(path, has_header=False, new_columns=COLUMNS).with_columns(pl.col(pl.String).str.strip_chars())
    frame = frame.select(USED).filter(pl.all_horizontal(pl.col(pl.String) != "?"))
    frame = frame.with_columns(pl.col("hours-per-week").cast(pl.Int64))
    quasi = [name for name in USED if name != sensitive]
    drawn = frame.sample(min(records, frame.height), seed=seed, shuffle=True)
    table = sf.read_table(drawn, sf.Schema(quasi_identifying=quasi, sensitive=[sensitive]))
    inside, outside = sf.hold_out(table, 0.2, seed=seed)
    return inside, outside


def kinds() -> Mapping[str, object]:
    """Return the anonymizers with their defaults, and overlapping slicing as it was before decision 10."""
    return {
        "bucketization": sf.Bucketization(),
        "slicing": sf.Slicing(),
        "overlapping-slicing": sf.OverlappingSlicing(),
        "overlapping-before": sf.OverlappingSlicing(threshold=0.2, bucket_size="smallest"),
    }


@dataclass(frozen=True)
class Measured:
    """Of one attack: the promise, the average, and of the surest tenth what `Look` says.

    `population` are the surest of somebody who knows only others, `same` are the attacker's.
    """

    attack: str
    bound: float
    average: float
    right: float
    others: float
    population: float
    same: float
    verdict: str

    @property
    def ratio(self) -> float:
        """Right ÷ the larger of the promise and what somebody names who only knows others."""
        return self.right / max(self.bound, self.population)


def measured(anonymizer: object, sensitive: str, size: int, records: int, seed: int) -> Iterator[Measured]:
    """Publish once, and play both attacks."""
    inside, outside = adult(sensitive, records, seed)
    release = sf.anonymize(inside, sf.ProbabilisticLDiversity(size), anonymizer=anonymizer, seed=seed)
    for result in sf.attack(release, inside, control=outside, attacks=ATTACKS, seed=seed).results:
        yield _of(result, 1 / size)


def _of(result: AttackResult, bound: float) -> Measured:
    assert result.curve is not None
    look = next(look for look in result.curve.looks if look.share == TENTH)
    assert look.control is not None
    assert look.population is not None
    assert look.same is not None
    verdict = f"{result.verdict}{', within' if result.is_allowed else ''}"
    shares = (one.share for one in (result.success, look.inside, look.control, look.population, look.same))
    return Measured(result.attack, bound, *shares, verdict)


def row(found: Sequence[Measured]) -> str:
    """Write medians and ranges of several seeds."""
    cells = [
        _range([100 * getattr(one, name) for one in found], 1)
        for name in ("average", "right", "others", "population", "same")
    ]
    cells.append(_range([one.ratio for one in found], 2))
    verdicts = sorted({one.verdict for one in found})
    return " | ".join([*cells, "; ".join(verdicts)])


def _range(values: Sequence[float], digits: int) -> str:
    middle, low, high = (f"{value:.{digits}f}" for value in (median(values), min(values), max(values)))
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def main() -> None:
    """Print the table, a line as soon as it is measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", default=",".join(kinds()))
    parser.add_argument("--sensitive", default="occupation,marital-status")
    parser.add_argument("--l", default="2,4,6")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--records", type=int, default=30_000)
    asked = parser.parse_args()
    heads = "release | sensitive | l | attack | average % | surest tenth % | of others % | knowing only others % | "
    print(f"| {heads}of the same people % | ratio | verdict |\n|{11 * '---|'}")
    for kind in asked.kinds.split(","):
        for sensitive in asked.sensitive.split(","):
            for size in map(int, asked.l.split(",")):
                print_rows(kind, sensitive, size, asked.records, range(1, 1 + asked.seeds))


def print_rows(kind: str, sensitive: str, size: int, records: int, seeds: Sequence[int]) -> None:
    """Print a line for each attack, or why there is no release."""
    found: dict[str, list[Measured]] = {}
    try:
        for seed in seeds:
            for one in measured(kinds()[kind], sensitive, size, records, seed):
                found.setdefault(one.attack, []).append(one)
    except sf.UnsatisfiableError:
        print(f"| {kind} | {sensitive} | {size} | no release keeps it |", flush=True)
    for attack, all_of_it in found.items():
        print(f"| {kind} | {sensitive} | {size} | {attack} | {row(all_of_it)} |", flush=True)


if __name__ == "__main__":
    main()
