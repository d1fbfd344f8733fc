"""One convention of calls: whatever takes a table takes a file or frame with its schema, and does the same with it."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf

PEOPLE = pl.DataFrame(
    {
        "age": [20 + place * 7 % 40 for place in range(90)],
        "sex": ["f", "m", "m"] * 30,
        "disease": ["flu", "cold", "ulcer", "flu", "cold"] * 18,
    }
)
SCHEMA = sf.Schema(quasi_identifying={"age": sf.intervals(10, 20), "sex": None}, sensitive=["disease"])
TABLE = sf.read_table(PEOPLE, SCHEMA)
RELEASE = sf.anonymize(TABLE, sf.KAnonymity(3), seed=1)


def _without_times(frame: pl.DataFrame) -> list[Any]:
    return frame.drop("seconds", "cpu_seconds").rows()


CALLS: dict[str, Callable[..., Any]] = {
    "anonymize": lambda table, **more: sf.anonymize(table, sf.KAnonymity(3), seed=1, **more).to_polars().rows(),
    "attack": lambda table, **more: sf.attack(RELEASE, table, attacks="linkage", seed=1, **more).to_dict(),
    "check": lambda table, **more: sf.check(table, **more).to_dict(),
    "compare": lambda table, **more: _without_times(
        sf.compare(table, anonymizers=["mondrian"], vary={"k": [3]}, seed=1, **more).frame
    ),
    "correlation": lambda table, **more: sf.correlation(table, **more).values.tolist(),
    "describe": lambda table, **more: sf.describe(RELEASE, table, seed=1, **more).to_dict(),
    "hold_out": lambda table, **more: [part.frame.rows() for part in sf.hold_out(table, seed=1, **more)],
    "lower_bound": lambda table, **more: sf.lower_bound(table, 3, **more),
    "measure": lambda table, **more: str(sf.measure(table, RELEASE, **more)),
    "measure_utility": lambda table, **more: sf.measure_utility(RELEASE, table, seed=1, **more).to_dict(),
    "report": lambda table, **more: sf.report(RELEASE, table, attacks=False, seed=1, **more).to_dict(),
    "risk": lambda table, **more: sf.risk(table, **more).to_dict(),
    "search_lattice": lambda table, **more: sf.search_lattice(table, sf.KAnonymity(3), **more).to_dict(),
}
ANOTHER_WAY = {"attack_policy": "the policy has the roles", "review": "it proposes them", "Preview": "of an open table"}


def test_every_verb_that_takes_a_table_is_here() -> None:
    verbs = {
        name
        for name in sf.__all__
        if callable(getattr(sf, name)) and {"table", "original"} & {*inspect.signature(getattr(sf, name)).parameters}
    }
    own = {name for name in verbs if not name[0].isupper() or name == "Preview"}
    assert own - {*ANOTHER_WAY} <= {*CALLS}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_frame_with_its_schema_is_the_table(name: str) -> None:
    assert CALLS[name](PEOPLE, schema=SCHEMA) == CALLS[name](TABLE)


# To `attack` people who were held out may come as a file, so that roles beside a table are none too many.
@pytest.mark.parametrize("name", sorted({*CALLS} - {"attack"}))
def test_roles_are_not_given_twice(name: str) -> None:
    with pytest.raises(sf.SfumatoError, match="schema"):
        CALLS[name](TABLE, schema=SCHEMA)


def test_a_file_is_read_once_for_the_call(tmp_path: Path) -> None:
    PEOPLE.write_csv(tmp_path / "people.csv")
    assert sf.check(tmp_path / "people.csv", schema=SCHEMA).to_dict() == sf.check(TABLE).to_dict()


def test_a_release_has_its_own_roles() -> None:
    with pytest.raises(sf.PolicyError, match="a release says itself"):
        sf.risk(RELEASE, schema=SCHEMA)


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("call", ["measure", "measure_utility", "describe", "attack", "report"])
def test_the_wrong_order_is_called_the_wrong_order(call: str, is_folder: bool, tmp_path: Path) -> None:
    """A release where the original belongs is refused by the order, whatever stands where the release belongs."""
    release: Any = RELEASE
    if is_folder:
        release = str(RELEASE.save(tmp_path / "release") or tmp_path / "release")
    given = (release, TABLE) if call == "measure" else (TABLE, release)
    order = "original, release" if call == "measure" else "release, original"
    with pytest.raises(sf.InputError) as refused:
        getattr(sf, call)(*given)
    assert str(refused.value) == f"the release stands where the original belongs; the call is {call}({order})"
