"""The table of eight records of the slicing paper."""

from __future__ import annotations

import polars as pl

import sfumato as sf

AGE = [22, 22, 33, 52, 54, 60, 60, 64]
SEX = ["M", "F", "F", "F", "M", "M", "M", "F"]
ZIP = [47906, 47906, 47905, 47905, 47302, 47302, 47304, 47304]
DISEASE = ["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"]


def eight_records() -> sf.Table:
    frame = pl.DataFrame({"age": AGE, "sex": SEX, "zip": ZIP, "disease": DISEASE})
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex", "zip"], sensitive=["disease"]))
