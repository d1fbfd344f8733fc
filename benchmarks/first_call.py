"""One release of Adult, as the first call of a program makes it; run in a process of its own.

python -m benchmarks.first_call adult.data
"""

from __future__ import annotations

import sys
from pathlib import Path

import sfumato as sf
from benchmarks.adult import QUASI_IDENTIFYING, read_adult

if __name__ == "__main__":
    frame = read_adult(Path(sys.argv[1])).select(QUASI_IDENTIFYING)
    sf.anonymize(sf.read_table(frame, sf.Schema(quasi_identifying=list(QUASI_IDENTIFYING))), sf.KAnonymity(10))
