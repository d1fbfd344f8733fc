"""Compiling beside the work lets everything else go first, also where Linux shares the processor among sessions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SHOW = """
import os, pathlib
from sfumato.kernels.beside import take_lowest_priority
take_lowest_priority()
group = pathlib.Path("/proc/self/autogroup")
print(os.nice(0), os.sched_getscheduler(0) == os.SCHED_IDLE, group.read_text().split()[-1] if group.exists() else 19)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sessions are scheduled as groups on Linux alone")
def test_a_session_of_its_own_is_last_as_well() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", _SHOW], start_new_session=True, capture_output=True, text=True, check=True
    ).stdout.split()
    assert shown[:2] == ["19", "True"]
    group = Path("/proc/self/autogroup")
    if group.exists() and os.access(group, os.W_OK):
        assert shown[2] == "19"
