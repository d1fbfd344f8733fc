"""The floor of a job on a CSV file: read it and write it, nothing else.

python -m benchmarks.floor IN.csv OUT.csv
"""

from __future__ import annotations

import sys

import polars as pl

if __name__ == "__main__":
    pl.read_csv(sys.argv[1]).write_csv(sys.argv[2])
