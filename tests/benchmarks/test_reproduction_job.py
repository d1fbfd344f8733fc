from __future__ import annotations

import os

import pytest
from benchmarks.settings import Settings

from benchmarks import reproduction_job


@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA names no folder with the Adult data")
def test_the_command_is_timed():
    figure = reproduction_job.timed(Settings().adult_file().parent, "--quick")
    assert figure.bar == 1.0
    assert figure.value > 0
