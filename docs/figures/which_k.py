"""From a risk that nobody may exceed to k. ``python docs/figures/which_k.py`` prints the table of choose-k.md.

The losses are those of the invented patients of docs/make_patients.py: default Mondrian on age, sex and zip, masked
digit by digit. They show how loss grows with k, and nothing about another table.
"""

from __future__ import annotations

import contextlib
import math
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory

import sfumato as sf
from sfumato.evaluation.risk.adversaries import TOLERANCE, as_thresholds

ASKED = ("five", 0.1, "cms", "ema", 0.05, 0.01)
USED = {
    "five": "a rule of at least five, common in health statistics",
    "cms": "Centers for Medicare & Medicaid Services: cells of 11 or more",
    "ema": "European Medicines Agency and Health Canada, for clinical reports that everybody may read",
}
ZIP = sf.Attribute(kind="categorical", hierarchy=sf.prefixes(3, 2, 1))
SCHEMA = sf.Schema(
    quasi_identifying={"age": None, "sex": None, "zip": ZIP},
    sensitive=["disease"],
    others="drop",
)


def least_k(threshold: float) -> int:
    """Return the smallest k of which the prosecutor's risk 1 / k is not above a threshold."""
    return math.ceil(1 / threshold - TOLERANCE)


def patients() -> sf.Table:
    """Make and read the patients of the docs."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        runpy.run_path(str(Path(__file__).parents[1] / "make_patients.py"))
        return sf.read_table("patients.csv", SCHEMA)


def page_table() -> str:
    """Return the table of the page."""
    table = patients()
    lines = ["| highest risk | who asks for it | k | information loss | average class |", "|---|---|---|---|---|"]
    for threshold in reversed(as_thresholds(ASKED)):
        k = least_k(threshold.value)
        report = sf.anonymize(table, sf.KAnonymity(k), anonymizer=sf.Mondrian(), seed=1).report
        average = report.published / report.classes
        loss = f"{100 * report.losses.normalized_ncp:.1f} %"
        lines.append(f"| {threshold} | {USED.get(threshold.name, '')} | {k} | {loss} | {average:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page_table())
