"""A search of the lattice as a value."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.hierarchy.lattice_search import Lattice, LatticeSearch, NodeState, blank_states

LATTICE = Lattice((1, 2))


def found() -> LatticeSearch:
    states = blank_states(LATTICE)
    states[LATTICE.number((0, 0))] = NodeState.FAILS
    states[LATTICE.number((1, 0))] = NodeState.SATISFIES
    states[LATTICE.number((1, 1))] = NodeState.INFERRED_SATISFIES
    return LatticeSearch(
        LATTICE,
        ("sex", "zip"),
        states,
        chosen=(1, 0),
        minimal=((1, 0),),
        path=((0, 0), (1, 0)),
        evaluated=2,
        losses={LATTICE.number((1, 0)): 0.5},
        loss_name="normalized NCP",
    )


def test_states_are_asked_for_by_levels_and_counted():
    search = found()
    assert search.state((1, 1)) is NodeState.INFERRED_SATISFIES
    assert search.state((0, 2)) is NodeState.UNKNOWN
    assert search.count(NodeState.SATISFIES, NodeState.INFERRED_SATISFIES) == 2
    assert list(search.satisfying()) == [(1, 0), (1, 1)]
    assert search.loss == 0.5


def test_it_prints_as_a_short_table():
    text = str(found())
    assert text.splitlines()[0] == "lattice of 6 nodes over sex, zip"
    assert "chosen: sex 1, zip 0 (normalized NCP 0.5000)" in text
    assert "not known" in text


def test_the_frame_has_a_row_for_each_known_node():
    frame = found().to_frame()
    assert frame.columns == [
        "level of sex", "level of zip", "height", "state", "loss", "minimal", "on_path", "chosen"
    ]  # fmt: skip
    assert frame.rows() == [
        (0, 0, 0, "fails", None, False, True, False),
        (1, 0, 1, "satisfies", 0.5, True, True, True),
        (1, 1, 2, "satisfies (inferred)", None, False, False, False),
    ]


def test_json_has_what_matters_first():
    whole = found().to_dict()
    assert whole["attributes"] == [{"name": "sex", "height": 1}, {"name": "zip", "height": 2}]
    assert (whole["nodes"], whole["chosen"], whole["loss"], whole["left_out"]) == (6, [1, 0], 0.5, 0)
    assert whole["counts"] == {
        "unknown": 3, "satisfies": 1, "fails": 1, "inferred-satisfies": 1, "inferred-fails": 0, "not-better": 0
    }  # fmt: skip
    assert [(node["levels"], node["state"]) for node in whole["known"]] == [
        ([0, 0], "fails"),
        ([1, 0], "satisfies"),
        ([1, 1], "inferred-satisfies"),
    ]
    # The chosen node and those of the path are not left out for others.
    short = found().to_dict(most=2)
    assert [node["levels"] for node in short["known"]] == [[0, 0], [1, 0]]
    assert short["left_out"] == 1


def test_a_lattice_too_large_for_an_array_keeps_the_nodes_that_were_visited():
    lattice = Lattice((9,) * 30)
    states = blank_states(lattice)
    assert states == {}
    states[lattice.number(lattice.top)] = NodeState.SATISFIES
    search = LatticeSearch(lattice, tuple("abcdefghijklmnopqrstuvwxyzABCD"), states, chosen=lattice.top)
    assert search.state(lattice.top) is NodeState.SATISFIES
    assert search.state(lattice.bottom) is NodeState.UNKNOWN
    assert search.count(NodeState.UNKNOWN) == 10**30 - 1
    assert search.to_frame().height == 1
    assert "1,000,000,000,000,000,000,000,000,000,000 nodes" in str(search)


def test_a_search_without_a_result_says_so():
    search = LatticeSearch(LATTICE, ("sex", "zip"), blank_states(LATTICE), chosen=None)
    assert search.loss is None
    assert str(search).endswith("chosen: none")
    assert search.to_frame().height == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"attributes": ("sex",)},
        {"states": np.zeros(5, dtype=np.int8)},
        {"chosen": (2, 0)},
        {"minimal": ((0,),)},
        {"path": ((0, -1),)},
    ],
)
def test_what_does_not_fit_the_lattice_is_refused(wrong):
    given = {"lattice": LATTICE, "attributes": ("sex", "zip"), "states": blank_states(LATTICE), "chosen": None}
    with pytest.raises(ValueError, match="search"):
        LatticeSearch(**{**given, **wrong})
