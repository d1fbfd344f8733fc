from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from naive.linkage import candidates

NAMES = ("age", "sex", "zip")
ZIPS = ["1234", "1235", "1290", "5555"]
TREE = {code: [code, f"{code[:2]}**", "*"] for code in ZIPS}


def people(seed: int) -> pl.DataFrame:
    draw = random.Random(seed)
    rows = [(draw.randrange(20, 60), draw.choice("fm"), draw.choice(ZIPS), draw.choice("abc")) for _ in range(60)]
    return pl.DataFrame(rows, schema=[*NAMES, "sick"], orient="row")


SCHEMA = sf.Schema(quasi_identifying={"age": None, "sex": None, "zip": sf.prefixes(2)}, sensitive=["sick"])


@pytest.mark.parametrize("seed", range(4))
def test_the_records_that_fit_are_those_of_trying_each(seed, tmp_path):
    original = people(seed)
    release = sf.anonymize(sf.read_table(original, SCHEMA), sf.KAnonymity(4), seed=seed)
    release.save(tmp_path / "release")
    shown = release.data.select(NAMES).cast(pl.String)
    trees = [None, None, TREE]
    for row in original.head(12).iter_rows(named=True):
        person = [row[name] for name in NAMES]
        expected = release.data[candidates(shown.rows(), person, trees)]
        found = sf.fits(release, row, SCHEMA)
        assert found.equals(expected)
        assert found.height >= 4
        assert sf.fits(tmp_path / "release", row, SCHEMA).height == found.height
    known = {"age": int(original["age"][0])}
    assert sf.fits(release, known).height == len(candidates(shown.select("age").rows(), [known["age"]], [None]))


def test_what_is_no_record_is_refused(tmp_path):
    original = people(1)
    release = sf.anonymize(sf.read_table(original, SCHEMA), sf.KAnonymity(4))
    with pytest.raises(sf.InputError, match="shares a quasi-identifying column"):
        sf.fits(release, {"height": 180})
    with pytest.raises(sf.InputError, match="one row"):
        sf.fits(release, original.head(2))
    with pytest.raises(sf.InputError, match="one plain value") as caught:
        sf.fits(release, {"age": object()})
    assert "object" not in str(caught.value)
    noisy = sf.anonymize(sf.read_table(original, SCHEMA), anonymizer=sf.Noise())
    with pytest.raises(sf.InputError, match="randomized"):
        sf.fits(noisy, {"age": 30})
