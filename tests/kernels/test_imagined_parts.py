"""Parts whose sensitive values are imagined from the range: against plain words, and against every part there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.anonymizers.space import space_of
from sfumato.kernels.mondrian.cuts import Options, count_whole, imagine, new_workspace
from sfumato.kernels.predicates import holds
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import encode

DIVERSE = [
    sf.DistinctLDiversity(2),
    sf.DistinctLDiversity(3),
    sf.ProbabilisticLDiversity(2),
    sf.EntropyLDiversity(1.8),
    sf.RecursiveLDiversity(1.5, 2),
    sf.AlphaKAnonymity(0.6, 2),
]

histograms = st.lists(st.integers(1, 5), min_size=1, max_size=4)


class Range:
    """A range of records with given sensitive counts, as kernels see it."""

    def __init__(self, counts: Sequence[int], model: PrivacyModel, margin: float) -> None:
        values = [f"v{place}" for place, count in enumerate(counts) for _ in range(count)]
        frame = pl.DataFrame({"age": range(len(values)), "disease": values})
        table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"])))
        compiled = compile_rules([model], table)
        options = Options(1, True, False, True, True, False, False, False, margin)
        self.rules = compiled.arrays
        self.size = len(values)
        self.work = new_workspace(space_of(table.attributes), self.rules, options)
        codes = np.concatenate([table.codes.astype(np.uint32), compiled.codes.astype(np.uint32)], axis=1)
        count_whole(codes, np.ones(self.size, np.int32), 0, self.size, self.rules, self.work)
        self.whole: list[int] = self.work.whole.tolist()

    def imagined(self, part: int) -> list[int]:
        counts = np.full(len(self.whole), 99, dtype=np.int64)
        imagine(part, self.size, self.rules, self.work, counts)
        return list(counts.tolist())

    def satisfied(self, counts: Sequence[int]) -> bool:
        return bool(holds(sum(counts), np.array(counts, dtype=np.int64), self.rules, self.work.scratch))


def plainly(whole: Sequence[int], part: int, margin: float) -> list[int]:
    size, room, counts = sum(whole), part, [0] * len(whole)
    for value in sorted(range(len(whole)), key=lambda value: -whole[value]):
        expected = part * whole[value] / size
        variance = expected * (1 - whole[value] / size) * (size - part) / max(1, size - 1)
        counts[value] = min(room, whole[value], math.ceil(expected + margin * math.sqrt(variance) - 1e-9))
        room -= counts[value]
    return counts


@given(histograms, st.integers(1, 20), st.sampled_from([0.0, 0.5, 1.0, 2.5, 20.0]))
@examples(80)
def test_as_in_plain_words(counts: list[int], part: int, margin: float) -> None:
    assume(part < sum(counts))
    given_range = Range(counts, DIVERSE[0], margin)
    found = given_range.imagined(part)
    assert found == plainly(given_range.whole, part, margin)
    assert sum(found) == part


@pytest.mark.parametrize("model", DIVERSE, ids=repr)
@given(counts=histograms, part=st.integers(1, 20))
@examples(40)
def test_with_a_huge_margin_no_part_breaks_what_the_imagined_one_satisfies(
    model: PrivacyModel, counts: list[int], part: int
) -> None:
    assume(part < sum(counts))
    given_range = Range(counts, model, 1e9)
    parts = [each for each in product(*(range(count + 1) for count in given_range.whole)) if sum(each) == part]
    imagined = given_range.imagined(part)
    assert tuple(imagined) in parts
    assert given_range.satisfied(imagined) == all(given_range.satisfied(each) for each in parts)


def test_two_sensitive_attributes_are_imagined_each_by_itself() -> None:
    frame = pl.DataFrame({"age": range(6), "one": list("aaaabc"), "two": list("xyxyxy")})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["one", "two"])))
    compiled = compile_rules([sf.DistinctLDiversity(2)], table)
    options = Options(1, True, False, True, True, False, False, False, 1e9)
    work = new_workspace(space_of(table.attributes), compiled.arrays, options)
    codes = np.concatenate([table.codes.astype(np.uint32), compiled.codes.astype(np.uint32)], axis=1)
    count_whole(codes, np.ones(6, np.int32), 0, 6, compiled.arrays, work)
    counts = np.zeros(5, dtype=np.int64)
    imagine(5, 6, compiled.arrays, work, counts)
    assert sorted(counts[:3].tolist()) == [0, 1, 4]
    assert sorted(counts[3:].tolist()) == [2, 3]
