"""Why entropy l-diversity has no correction for small samples: what Grassberger's estimate says of small classes."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf


def corrected(*counts: int) -> float:
    """Return l by P. Grassberger, "Entropy estimates from insufficient samplings", 2003."""

    def term(count: int) -> float:
        return -np.euler_gamma - math.log(2) + sum(2 / (2 * place - 1) for place in range(1, count // 2 + 1))

    records = sum(counts)
    return math.exp(math.log(records) - sum(count * term(count) for count in counts) / records)


def plain(values: str) -> float:
    frame = pl.DataFrame({"place": ["x"] * len(values), "ill": list(values)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["place"], sensitive=["ill"]))
    (found,) = sf.verify(sf.anonymize(table, sf.EntropyLDiversity(1.0))).checks[0].achieved
    return float(found.value)


def test_the_page_says_what_the_correction_makes_of_small_classes():
    assert corrected(1) == pytest.approx(3.56, abs=0.005)
    assert corrected(1, 1) == pytest.approx(7.12, abs=0.005)
    # Two of these classes together.
    assert corrected(2, 2) == pytest.approx(1.93, abs=0.005)
    assert plain("a") == pytest.approx(1)
    assert plain("ab") == pytest.approx(plain("aabb")) == pytest.approx(2)
