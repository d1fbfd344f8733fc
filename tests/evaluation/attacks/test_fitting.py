from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.linkage import candidates
from sfumato.errors import InputError
from sfumato.evaluation.attacks.fitting import fitting_records
from sfumato.hierarchy import prefixes
from sfumato.table.schema import Attribute, Schema

ZIP_TREE = {code: (code, code[:1] + "*", "*") for code in ("11", "12", "20")}
SCHEMA = Schema(
    quasi_identifying={"age": Attribute(kind="numeric"), "zip": Attribute(hierarchy=prefixes(1, 0))},  # type: ignore[arg-type]
    sensitive=["disease"],
)
records = st.tuples(
    st.sampled_from(["3", "4", "[3..4]", "[5..9]", "*", None]),
    st.sampled_from([*{label for labels in ZIP_TREE.values() for label in labels}, None]),
)
people = st.tuples(st.one_of(st.none(), st.integers(2, 6)), st.one_of(st.none(), st.sampled_from(list(ZIP_TREE))))


@examples(60)
@given(st.lists(records, min_size=1, max_size=80), people)
def test_the_same_as_looking_at_every_record(
    rows: list[tuple[str | None, str | None]], person: tuple[object, ...]
) -> None:
    published = pl.DataFrame(rows, schema={"age": pl.String, "zip": pl.String}, orient="row").with_row_index("row")
    wanted = pl.DataFrame([person], schema={"age": pl.Int64, "zip": pl.String}, orient="row")
    assert fitting_records(published, wanted, SCHEMA)["row"].to_list() == candidates(rows, person, (None, ZIP_TREE))


def test_a_register_that_tells_nothing_fits_everything() -> None:
    published = pl.DataFrame({"age": ["3", "*"], "disease": ["a", "b"]})
    assert fitting_records(published, pl.DataFrame({"age": pl.Series([None], dtype=pl.Int64)}), SCHEMA).height == 2


@pytest.mark.parametrize("person", [pl.DataFrame({"age": [1, 2]}), pl.DataFrame({"age": []}), pl.DataFrame({"x": [1]})])
def test_one_row_with_something_shared(person: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="one row"):
        fitting_records(pl.DataFrame({"age": ["3"], "disease": ["a"]}), person, SCHEMA)
