"""Draws what ``.plot()`` of a release, a risk, an attack, a utility and a comparison shows of the invented patients.

``python docs/figures/plots.py`` writes the SVG files of the how-to pages.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sfumato as sf

FIGURES = Path(__file__).parent
SCHEMA = sf.Schema(identifying=["name"], quasi_identifying=["age", "sex", "zip"], sensitive=["disease"], others="drop")


def people() -> sf.Table:
    """Read the table that the pages use."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(FIGURES.parent / "make_patients.py")], cwd=folder, check=True)
        return sf.read_table(str(Path(folder) / "patients.csv"), SCHEMA)


def plots(table: sf.Table) -> dict[str, Callable[[], Any]]:
    """Return what is drawn, by file name without ending."""
    release = sf.anonymize(table, [sf.KAnonymity(5), sf.DistinctLDiversity(2)], anonymizer=sf.Mondrian(), seed=1)
    methods = ["mondrian", "mdav", "k-means", "k-member"]
    bounded = sf.Figures(queries=0, bound=True)
    return {
        "plot-release": release.plot,
        "plot-risk": lambda: sf.risk(table).plot(),
        "plot-attack": lambda: sf.attack(release, table, seed=1).plot(),
        "plot-utility": lambda: sf.measure_utility(release, table).plot(),
        "plot-comparison": lambda: sf.compare(
            table, anonymizers=methods, vary={"k": (2, 5, 10, 20)}, figures=bounded, seed=1, threads=1
        ).plot("highest_risk"),
    }


if __name__ == "__main__":
    for name, plot in plots(people()).items():
        plot().save(FIGURES / f"{name}.svg").chmod(0o644)
