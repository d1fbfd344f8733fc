"""Nothing depends on what columns are called, least of all on names that a library takes for patterns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import SfumatoError

ROWS = 60
PLAIN = ("one", "two", "ill", "more")
PATTERNS = [(*PLAIN[:place], "*", *PLAIN[place + 1 :]) for place in range(4)]
MODELS: list[list[Any]] = [[sf.KAnonymity(3)], [sf.ProbabilisticLDiversity(2)], []]
METHODS = {**ANONYMIZERS, **PUBLISHERS}


def table(names: tuple[str, ...]) -> sf.Table:
    one, two, ill, more = names
    frame = pl.DataFrame(
        {
            one: [20 + (i * 7) % 11 for i in range(ROWS)],
            two: ["f", "m", "m", "x", "f"] * (ROWS // 5),
            ill: ["flu", "cold", "gout", "burn"] * (ROWS // 4),
            more: [f"v{i % 9}" for i in range(ROWS)],
        }
    )
    schema = sf.Schema(quasi_identifying=[one, two], sensitive=[ill], insensitive=[more])
    return sf.read_table(frame, schema)


def made(method: str, names: tuple[str, ...], models: list[Any]) -> sf.Release | list[str]:
    """Make a release, or return why there is none."""
    options = {"columns": ((names[0], names[2]),)} if method == "marginals" else {}
    try:
        return sf.anonymize(table(names), models, anonymizer=METHODS[method](**options), seed=1)
    except (sf.PolicyError, sf.UnsatisfiableError) as error:
        return [type(error).__name__]


def contents(release: sf.Release) -> list[list[Any]]:
    return [frame.cast(pl.String).rows() for frame in release.tables.values()]


@pytest.mark.parametrize("names", PATTERNS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_publishes_the_same_under_other_names(method, names, tmp_path):
    some = False
    for number, models in enumerate(MODELS):
        plain, other = made(method, PLAIN, models), made(method, names, models)
        if isinstance(plain, list) or isinstance(other, list):
            assert plain == other
            continue
        some = True
        assert contents(other) == contents(plain)
        for format in ("csv", "parquet"):
            verification = sf.verify(other.save(tmp_path / f"{number}.{format}", format=format))
            assert verification.ok is bool(models), str(verification)
    assert some


def numbers_in(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?", text)]


def told(method: str, names: tuple[str, ...]) -> list[str]:
    """Everything that is measured on a release."""
    release = next(found for models in MODELS if isinstance(found := made(method, names, models), sf.Release))
    original = table(names)
    measures = [
        lambda: sf.risk(release).to_dict(),
        lambda: sf.measure_utility(release, original, seed=3, classifiers=()).to_dict(),
        lambda: sf.attack(release, original, seed=3).to_dict(),
        lambda: sf.measure(original, release),
    ]
    found = []
    for measure in measures:
        try:
            found.append(json.dumps(measure(), default=str, sort_keys=True))
        except SfumatoError as error:
            found.append(type(error).__name__)
    return found


MEASURED = ("mondrian", "slicing", "overlapping-slicing", "marginals", "swapping")


@pytest.mark.parametrize("method", ["bucketization", *(pytest.param(one, marks=pytest.mark.slow) for one in MEASURED)])
def test_every_measure_says_the_same_under_other_names(method):
    plain = told(method, PLAIN)
    assert sum("{" in text for text in plain) > 1
    for names in PATTERNS:
        for one, other in zip(told(method, names), plain, strict=True):
            assert numbers_in(one) == pytest.approx(numbers_in(other)), names


def test_a_file_and_a_frame_with_such_names(tmp_path: Path):
    names = PATTERNS[2]
    for format in ("csv", "parquet"):
        path = tmp_path / f"table.{format}"
        frame = pl.DataFrame([column.cast(pl.String) for column in table(names).frame])
        frame.write_csv(path) if format == "csv" else frame.write_parquet(path)
        assert sf.read_table(path, table(names).schema).frame.cast(pl.String).equals(frame.cast(pl.String))
