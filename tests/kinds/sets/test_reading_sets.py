"""Sets in long and wide form, with hierarchies and columns beside them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import HierarchyError, InputError, SfumatoError
from sfumato.hierarchy import HierarchyTable

LONG = "who,what,age\n2,beer,30\n1,ale,40\n2,ale,30\n1,ale,40\n3,,50\n"
TREE = HierarchyTable((("ale", "drink", "*"), ("beer", "drink", "*"), ("rye", "bread", "*")))


def held(sets: sf.Sets) -> list[list[str]]:
    bounds = sets.starts.tolist()
    return [[sets.names[item] for item in sets.items[low:high]] for low, high in pairwise(bounds)]


def test_the_long_form_has_a_row_for_each_item(tmp_path: Path):
    path = tmp_path / "bought.csv"
    path.write_text(LONG)
    sets = sf.read_sets(path)
    assert held(sets) == [["ale", "beer"], ["ale"], []]
    assert repr(sets) == "Sets(3 records, 2 items, 3 in all sets)"
    assert held(sf.read_sets(path, person="age", item="what")) == [["ale", "beer"], ["ale"], []]


def test_the_wide_form_has_a_column_of_whole_sets(tmp_path: Path):
    path = tmp_path / "bought.csv"
    path.write_text('age,what\n30,"beer| ale ||beer"\n40,\n50,ale\n')
    sets = sf.read_sets(path, form="wide", item_separator="|", schema=sf.Schema(quasi_identifying=["age"]))
    assert held(sets) == [["ale", "beer"], [], ["ale"]]
    assert sets.beside is not None
    assert sets.beside.frame["age"].to_list() == [30, 40, 50]
    assert held(sf.read_sets(path, form="wide", item="what", item_separator="|")) == held(sets)


def test_items_are_numbered_as_the_hierarchy_has_them():
    frame = pl.DataFrame({"who": [1, 1], "what": ["rye", "ale"]})
    sets = sf.read_sets(frame, hierarchy=TREE)
    assert sets.names == ("ale", "beer", "rye")
    assert held(sets) == [["ale", "rye"]]
    assert sets.hierarchy is not None
    assert sets.holders.tolist() == [1, 0, 1]


def test_numbers_are_items_too():
    assert sf.read_sets(pl.DataFrame({"who": [1, 1, 1], "what": [10, 9, 9]})).names == ("9", "10")


def test_columns_beside_are_those_of_the_person():
    sets = sf.read_sets(pl.read_csv(LONG.encode()), schema=sf.Schema(quasi_identifying=["age"]))
    assert sets.beside is not None
    assert sets.beside.frame["age"].to_list() == [30, 40, 50]


@pytest.mark.parametrize(
    ("table", "settings", "error", "said"),
    [
        ({"who": [1]}, {}, InputError, "needs a column for people and one for items"),
        ({"who": [1], "what": ["a"]}, {"item": "film"}, InputError, "item: there is no column 'film'"),
        ({"who": [1], "what": ["a"]}, {"item": "who"}, InputError, "one column is used twice"),
        ({"who": [1, None], "what": ["a", "b"]}, {}, InputError, "1 row without a person, first row 2"),
        ({"who": [1], "what": ["wine"]}, {"hierarchy": TREE}, HierarchyError, "1 of 1 distinct value"),
        ({"who": [1], "what": ["a"]}, {"form": "flat"}, InputError, "form must be one of long, wide"),
        ({"who": [1], "what": ["a"]}, {"form": "wide", "person": "who"}, InputError, "takes no person"),
        ({"who": [1], "what": ["a"]}, {"item_separator": ""}, InputError, "item_separator"),
        ({"who": [], "what": []}, {}, SfumatoError, "there are no records"),
        (
            {"who": [1, 1], "what": ["a", "b"], "age": [3, 4]},
            {"schema": sf.Schema(quasi_identifying=["age"])},
            InputError,
            "column 'age' says different things about one person in 1 row, first row 2",
        ),
        (
            {"who": [1, 1], "what": ["a", "b"], "age": [3, None]},
            {"schema": sf.Schema(quasi_identifying=["age"])},
            InputError,
            "column 'age' says different things",
        ),
        (
            {"who": [1], "what": ["a"], "age": [3]},
            {"schema": sf.Schema(quasi_identifying=["age"], sensitive=["what"])},
            InputError,
            "only quasi-identifying columns can stand beside sets",
        ),
        (
            {"who": [1], "what": ["a"]},
            {"schema": sf.Schema(quasi_identifying=["age"])},
            SfumatoError,
            "no column of the schema is in the table",
        ),
    ],
)
def test_what_is_wrong_is_said_without_a_value(table, settings, error, said):
    with pytest.raises(error, match=said) as caught:
        sf.read_sets(pl.DataFrame(table), **settings)
    assert "wine" not in str(caught.value)


def test_wrong_settings_are_told_together():
    with pytest.raises(InputError) as caught:
        sf.read_sets(pl.DataFrame({"a": [1]}), form="wide", person="a", item_separator="", schema=3)  # type: ignore
    assert len(caught.value.problems) == 3


def test_people_whose_keys_a_float_cannot_tell_apart_stay_two(tmp_path: Path):
    path = tmp_path / "bought.csv"
    path.write_text("who,what\n9007199254740993.0,a\n9007199254740992.0,b\n1.5,a\n")
    assert held(sf.read_sets(path)) == [["a"], ["b"], ["a"]]


@pytest.mark.parametrize("name", ["who", "what"])
def test_people_and_items_cannot_stand_beside_the_sets(tmp_path: Path, name: str):
    path = tmp_path / "bought.csv"
    path.write_text(LONG)
    with pytest.raises(InputError, match=f"column '{name}' holds people or items, and cannot stand beside"):
        sf.read_sets(path, schema=sf.Schema(quasi_identifying=[name]))
