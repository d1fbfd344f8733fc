"""Counting the people whom published classes cover, against comparing everybody with every class."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.kernels.linking import covered_people

CODES = 5
labels = st.one_of(
    st.tuples(st.integers(0, CODES - 1), st.integers(0, CODES - 1)).map(lambda ends: [(min(ends), max(ends))]),
    st.sets(st.integers(0, CODES - 1)).map(lambda codes: [(code, code) for code in sorted(codes)] + [(0, -1)]),
)


@examples(30)
@given(st.data())
def test_covered_people(data):
    width, classes = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 140))
    told = [data.draw(st.lists(labels, min_size=1, max_size=4)) for _ in range(width)]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    chosen = np.column_stack([rng.integers(0, len(own), classes) for own in told])
    people = rng.integers(0, CODES, size=(data.draw(st.integers(0, 12)), width))
    weights = rng.integers(1, 4, len(people))
    every = [label for own in told for label in own]
    offsets = np.cumsum([0, *(len(own) for own in told)])[:-1]
    found = covered_people(
        people.astype(np.uint8),
        weights,
        chosen + offsets,
        np.cumsum([0, *(len(label) for label in every)]),
        np.array([low for label in every for low, _ in label], dtype=np.int32),
        np.array([high for label in every for _, high in label], dtype=np.int32),
        np.arange(width + 1) * CODES,
        data.draw(st.integers(1, 4)),
    )
    expected = [
        sum(
            weight
            for person, weight in zip(people.tolist(), weights.tolist(), strict=True)
            if all(
                any(low <= code <= high for low, high in told[place][label])
                for place, (code, label) in enumerate(zip(person, row, strict=True))
            )
        )
        for row in chosen.tolist()
    ]
    assert found.tolist() == expected
