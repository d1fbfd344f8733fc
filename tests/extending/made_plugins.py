"""A package with plug-ins, as others would install it: written into a folder that stands on the path."""

from __future__ import annotations

from pathlib import Path

CODE = '''
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.classes.partition import Partition
from sfumato.kernels.predicates import K_ANONYMITY
from sfumato.models.protocol import Achieved, Rule


@dataclass(frozen=True)
class EvenClasses:
    """Every class has an even number of records, and at least `least`."""

    least: int = 2
    name: ClassVar[str] = "even-classes"
    speaks_of: ClassVar = frozenset({"classes"})

    def holds(self, statistics):
        return (statistics.sizes >= self.least) & (statistics.sizes % 2 == 0)

    def achieved(self, statistics):
        return [Achieved("least", float(statistics.sizes.min()))]

    def rules(self, attributes):
        return [Rule(K_ANONYMITY, None, self.least)]

    def explain(self, statistics):
        return None

    def parameters(self):
        return {"least": self.least}


@dataclass(frozen=True)
class OneClass:
    """All records in one class."""

    name: ClassVar[str] = "one-class"

    @property
    def decides_regions(self):
        return False

    def solve(self, problem):
        return Partition(np.zeros(problem.table.height, dtype=np.int32), 1)


def widest(release, table):
    return release.report.largest_class
'''

POINTS = """
[sfumato.models]
even-classes = made_plugins_code:EvenClasses
wrong-name = made_plugins_code:EvenClasses
broken = made_plugins_nowhere:Nothing

[sfumato.anonymizers]
one-class = made_plugins_code:OneClass

[sfumato.metrics]
widest = made_plugins_code:widest
"""


def install(folder: Path) -> Path:
    """Write the package and what says that it is installed."""
    (folder / "made_plugins_code.py").write_text(CODE)
    facts = folder / "made_plugins-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: made-plugins\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(POINTS)
    return folder
