"""Draws how many people of the generated city are alone by a few known points, before and after they are published.

``python docs/figures/crowd.py`` writes the SVG file of the tutorial.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import sfumato as sf

FIGURES = Path(__file__).parent
PEOPLE = {"person": "person", "place": ("latitude", "longitude"), "time": "time", "zone": "Europe/Ljubljana"}
if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(FIGURES.parent / "make_city.py")], cwd=folder, check=True)
        traces = sf.traces.read_traces(f"{folder}/city.csv", **PEOPLE)
    release = sf.traces.anonymize_traces(traces, sf.traces.TracePrivacy(5, 2), seed=1)
    sf.traces.attack_traces(traces, release, known=6, seed=1).plot().save(FIGURES / "crowd.svg").chmod(0o644)
