"""Which kind of recoding a table shows: the thesis's tables, and the plain twin."""

from __future__ import annotations

import pytest
from hypothesis import given

from examples import examples
from naive import recoding as naive
from recoding.small_tables import ZONES, SmallTable, attributes_of, small_tables
from sfumato.recoding import RecodingKind, recoding_kind

TWIN_NAMES = {
    "full-domain": RecodingKind.FULL_DOMAIN,
    "single-dim": RecodingKind.SINGLE_DIMENSIONAL,
    "multi-dim": RecodingKind.MULTIDIMENSIONAL,
    "local": RecodingKind.LOCAL,
}
KEPT = [
    ("A", "X", 1),
    ("A", "Y", 11),
    ("B", "X", 7),
    ("B", "Y", 4),
    ("B", "Z", 5),
    ("C", "X", 20),
    ("C", "Y", 35),
    ("D", "Y", 21),
]


@given(small_tables(names=("zone", "word", "age")))
@examples(80)
def test_it_equals_the_plain_twin(small: SmallTable) -> None:
    kept = [index for records in small.classes for index in records]
    forms = {"zone": "ancestor", "word": "set", "age": "interval"}
    original = {name: [column[index] for index in kept] for name, column in small.columns.items()}
    texts = {
        name: naive.published_column(column, small.classes, forms[name], ZONES)
        for name, column in small.columns.items()
    }
    published = {name: [cells[index] for index in kept] for name, cells in texts.items()}

    expected = TWIN_NAMES[naive.recoding_kind(original, published)]

    kind = recoding_kind(small.recoded())
    # The twin tells full-domain only where every attribute has a tree; it is a special case of single-dimensional.
    assert kind == expected or (kind, expected) == (RecodingKind.FULL_DOMAIN, RecodingKind.SINGLE_DIMENSIONAL)


@given(small_tables(names=("zone",), missing=False))
@examples(80)
def test_full_domain_recodings_equal_the_plain_twin(small: SmallTable) -> None:
    kept = [index for records in small.classes for index in records]
    published = naive.published_column(small.columns["zone"], small.classes, "ancestor", ZONES)
    original = {"zone": [small.columns["zone"][index] for index in kept]}

    expected = naive.recoding_kind(original, {"zone": [published[index] for index in kept]}, {"zone": ZONES})

    assert recoding_kind(small.recoded()) == TWIN_NAMES[expected]


def thesis_table(classes: list[list[tuple[str, str, int]]]) -> SmallTable:
    """Records of the thesis's section 2.4, class by class: (first value, second value, how many)."""
    words = {"A": "a", "B": "1", "C": "", "D": "Ärger"}
    columns: dict[str, list[str]] = {"word": [], "zone": []}
    owners = []
    for number, members in enumerate(classes):
        for first, second, count in members:
            columns["word"] += [words[first]] * count
            columns["zone"] += [second] * count
            owners += [number] * count
    tree = {leaf: (leaf, "XY" if leaf in "XY" else "Z'", "*") for leaf in "XYZ"}
    return SmallTable(columns, owners, attributes_of(["word", "zone"], tree), tree)


GLOBAL = [[KEPT[0], KEPT[1]], [KEPT[2], KEPT[3]], [KEPT[4]], [KEPT[5], KEPT[6]], [KEPT[7]]]
MULTI = [[KEPT[0], KEPT[1]], [KEPT[2], KEPT[3]], [KEPT[4]], [KEPT[5]], [KEPT[6]], [KEPT[7]]]
LOCAL = [
    [("A", "X", 1), ("A", "Y", 4)],
    [("A", "Y", 7)],
    [("B", "X", 6)],
    [("B", "X", 1), ("B", "Y", 4)],
    [KEPT[4]],
    [KEPT[5]],
    [KEPT[6]],
    [KEPT[7]],
]


@pytest.mark.parametrize(
    ("classes", "kind"),
    [(MULTI, RecodingKind.MULTIDIMENSIONAL), (LOCAL, RecodingKind.LOCAL), (GLOBAL[:2], RecodingKind.FULL_DOMAIN)],
)
def test_the_tables_of_the_thesis(classes: list[list[tuple[str, str, int]]], kind: RecodingKind) -> None:
    assert recoding_kind(thesis_table(classes).recoded()) == kind


def test_one_value_for_everything_is_full_domain_without_a_hierarchy() -> None:
    columns = {"age": [1, 2, 3, 4]}
    attributes = attributes_of(["age"], ZONES)
    assert recoding_kind(SmallTable(columns, [0, 0, 0, 0], attributes, ZONES).recoded()) == "full-domain"
    assert recoding_kind(SmallTable(columns, [0, 1, 2, -1], attributes, ZONES).recoded()) == "full-domain"
    assert recoding_kind(SmallTable(columns, [0, 0, 1, 1], attributes, ZONES).recoded()) == "single-dimensional"
