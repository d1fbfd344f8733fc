"""All worlds of small series: whoever knows everybody, when they came and how releases are made, is left with enough.

The attacker knows the quasi-identifying values of all people and with which release each came, sees every release, and
knows that old rows stay. A world gives every person a row of the last release; all that fit what is published are
counted. Nothing of the library is used but the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from series.tables import HEADER, SCHEMA, Person, covers, new_rows, people

Row = tuple[str, ...]


def worlds(batch: Sequence[Person], rows: Sequence[Row]) -> Iterator[tuple[int, ...]]:
    """Yield every way to give the people of a batch the rows that came with it; rows are named by their places."""
    for places in permutations(range(len(rows))):
        if all(
            covers(rows[place][0], age) and covers(rows[place][1], city)
            for place, (_, age, city, _) in zip(places, batch, strict=True)
        ):
            yield places


@examples(50)
@given(data=st.data())
def test_everybody_has_k_rows_and_l_values_left(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = tmp_path_factory.mktemp("worlds")
    k, l = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 2))  # noqa: E741
    models = [sf.KAnonymity(k), sf.DistinctLDiversity(l)] if l > 1 else [sf.KAnonymity(k)]
    series, batches = sf.Series.start(folder / "s", SCHEMA, models), list[list[Person]]()
    waiting: list[Person] = []
    for month in range(3):
        count = data.draw(st.integers(1, 6 - len(waiting)))
        waiting += people(count, first=100 * month, seed=data.draw(st.integers(0, 10**6)))
        step = series.append(pl.DataFrame(waiting[-count:], schema=list(HEADER), orient="row"))
        if step.number is not None:
            batches.append(waiting)
        if step.number is not None or len(waiting) == 6:
            # More than six of a batch have too many worlds to count; those who wait end such a series.
            if step.number is None:
                break
            waiting = []
    for number, batch in enumerate(batches, 1):
        rows = list(new_rows(series.folder, number).elements())
        found = list(worlds(batch, rows))
        assert found
        for place in range(len(batch)):
            left = {world[place] for world in found}
            assert len(left) >= k
            assert len({rows[row][2] for row in left}) >= l
