"""Each quarter of the matrices has every anonymizer, every publisher and every model at least once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import matrices
from conftest import COLLECTED, NAMES_OF_QUARTERS
from guarantees.combinations import PARAMETERS
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS

HERE = Path(__file__).parent


def test_each_has_every_anonymizer_and_every_model(request: pytest.FixtureRequest) -> None:
    if not set(HERE.glob("test_*.py")) <= request.config.stash[COLLECTED]:
        # Run alone, it has seen no matrices.
        words = ["-n", "0", "-p", "no:randomly", "-k", "each_has_every_anonymizer_and_every_model", str(HERE)]
        done = subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return
    for quarter in range(matrices.QUARTERS):
        assert {*ANONYMIZERS, *PUBLISHERS, *PARAMETERS} <= request.config.stash[NAMES_OF_QUARTERS][quarter], quarter
