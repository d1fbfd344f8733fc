"""Counts the verdicts of attacks over forty splits of the documentation's table, as they were called before and now.

``python docs/figures/verdicts.py`` prints it. A fifth of the people is the control group; the seed draws who.
"""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import sfumato as sf
from sfumato.evaluation.attacks.protocol import AttackResult

SEEDS = range(40)
COLUMNS = {"quasi-identifying": ["age", "sex", "zip"], "sensitive": ["disease"], "others": "drop"}
MODELS = {
    "k = 5": [{"name": "k-anonymity", "k": 5}],
    "k = 10, l = 2": [{"name": "k-anonymity", "k": 10}, {"name": "probabilistic-l-diversity", "l": 2}],
}
ATTACKS = (
    "homogeneity",
    "background-knowledge",
    "skewness",
    "attribute-inference",
    "membership-inference",
    "singling-out",
    "downcoding",
)


def succeeded_before(result: AttackResult) -> bool:
    """Tell what was called success until now; all else was called no better."""
    low, control = result.success.interval[0], result.control
    return low > result.success.baseline and (control is None or low > control.interval[1])


def played(models: list[dict[str, object]]) -> Iterator[tuple[str, AttackResult]]:
    """Play the attacks on every split; those with several results are numbered."""
    policy = sf.Policy.from_mapping({"columns": COLUMNS, "models": models})
    for seed in SEEDS:
        results = sf.attack_policy("patients.csv", policy, hold_out=0.2, attacks=ATTACKS, seed=seed).results
        before: Counter[str] = Counter()
        for result in results:
            before[result.attack] += 1
            yield f"{result.attack} {before[result.attack]}", result


def counts(models: list[dict[str, object]]) -> Iterator[str]:
    """Write a line for each result: how often it was called what, and how many people would have decided."""
    verdicts: dict[str, Counter[str]] = {}
    needed: dict[str, list[int]] = {}
    for name, result in played(models):
        was = "succeeds" if succeeded_before(result) else "no better"
        verdicts.setdefault(name, Counter())[f"{was} → {result.verdict}"] += 1
        if result.people_needed is not None:
            needed.setdefault(name, []).append(result.people_needed)
    for name, found in verdicts.items():
        people = needed.get(name)
        more = "" if people is None else f"; needed {median(people):.0f} ({min(people)} to {max(people)})"
        yield f"{name}: " + ", ".join(f"{what} {often}" for what, often in sorted(found.items())) + more


def main() -> None:
    """Print both tables."""
    make = Path(__file__).parents[1] / "make_patients.py"
    with TemporaryDirectory() as folder, chdir(folder):
        runpy.run_path(str(make))
        for name, models in MODELS.items():
            print(name, *counts(models), sep="\n  ")


if __name__ == "__main__":
    main()
