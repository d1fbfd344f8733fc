"""Interpreted and compiled kernels publish the same bytes, without a warning; and what commands load."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.kernels import jit

RECORDS = 150

WAYS = {
    "mondrian": (lambda: sf.Mondrian(), [sf.KAnonymity(3), sf.EntropyLDiversity(2)]),
    "k-member": (lambda: sf.KMember(), [sf.KAnonymity(3)]),
    "mdav": (lambda: sf.MDAV(), [sf.KAnonymity(3)]),
    "datafly": (lambda: sf.Datafly(), [sf.KAnonymity(3)]),
    "slicing": (lambda: sf.Slicing(), [sf.ProbabilisticLDiversity(2)]),
    "bucketization": (lambda: sf.Bucketization(), [sf.DistinctLDiversity(2)]),
}


@pytest.fixture(scope="module")
def table():
    numbers = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": numbers.integers(18, 90, RECORDS),
            "zip": [f"47{number:02}" for number in numbers.integers(0, 30, RECORDS)],
            "sex": numbers.choice(["female", "male"], RECORDS),
            "illness": numbers.choice(["flu", "ulcer", "gastritis", "hepatitis"], RECORDS),
        }
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "zip", "sex"], sensitive=["illness"]))


@pytest.fixture(scope="module")
def stays(table):
    """The same records, of a third as many people: kernels then count sets of values."""
    draw = np.random.default_rng(6)
    tree = sf.groups({"stomach": ["ulcer", "gastritis"], "else": ["flu", "hepatitis"]})
    frame = table.frame.with_columns(who=pl.Series(draw.integers(0, RECORDS // 3, RECORDS)))
    roles = sf.Schema(person="who", quasi_identifying=["age", "zip", "sex"], sensitive={"illness": tree})
    return sf.read_table(frame, roles)


PEOPLES = [
    [sf.KAnonymity(3), sf.EntropyLDiversity(1.5), sf.RecursiveLDiversity(3, 2)],
    [sf.AlphaKAnonymity(0.9, 2), sf.TCloseness(0.6, "hierarchical"), sf.BasicBetaLikeness(3)],
    [sf.KAnonymity(3, shares=False), sf.DeltaDisclosure(3), sf.TCloseness(0.6, "equal")],
    [sf.TCloseness(0.5)],
]


@pytest.mark.slow
@pytest.mark.parametrize("models", PEOPLES, ids=repr)
@pytest.mark.parametrize("name", ["mondrian", "k-member", "mdav"])
def test_both_ways_publish_the_same_of_people(stays, name, models):
    frames = []
    for way in ("interpreted", "compiled"):
        with jit.always(way):
            frames.append(sf.anonymize(stays, models, anonymizer=WAYS[name][0](), seed=3).data)
    assert frames[0].equals(frames[1])


@pytest.mark.parametrize("name", ["optimal", "datafly"])
def test_both_ways_judge_rows_apart_alike(stays, name):
    """Compiled in every run: a kernel that does not compile is found here, not by a user with a large table."""
    roles = {each: sf.Attribute(hierarchy=sf.flat()) for each in ("zip", "sex")}
    schema = sf.Schema(person="who", quasi_identifying=roles, sensitive=["illness"], others="drop")
    anonymizer = {"optimal": sf.Optimal(), "datafly": sf.Datafly()}[name]
    frames = []
    for way in ("interpreted", "compiled"):
        with jit.always(way):
            frames.append(
                sf.anonymize(
                    sf.read_table(stays.frame.with_columns(who=pl.Series(range(RECORDS)) // 3), schema),
                    [sf.KAnonymity(3), sf.DistinctLDiversity(2)],
                    anonymizer=anonymizer, people=sf.People(rows="apart"), suppression_limit=0.2, seed=3,
                ).data
            )  # fmt: skip
    assert frames[0].equals(frames[1])


@pytest.mark.slow
def test_both_ways_cut_rows_apart_alike(stays):
    schema = sf.Schema(person="who", quasi_identifying=["age", "zip", "sex"], sensitive=["illness"])
    table = sf.read_table(stays.frame.with_columns(who=pl.Series(range(RECORDS)) // 3), schema)
    frames = []
    for way in ("interpreted", "compiled"):
        with jit.always(way):
            models = [sf.KAnonymity(3), sf.EntropyLDiversity(1.5)]
            frames.append(sf.anonymize(table, models, people=sf.People(rows="apart"), seed=3).data)
    assert frames[0].equals(frames[1])


def published(table, name, way):
    make, models = WAYS[name]
    with jit.always(way):
        release = sf.anonymize(table, models, anonymizer=make(), seed=3)
    return repr(release.report), [
        value for value in vars(release.published).values() if isinstance(value, pl.DataFrame)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_both_ways_publish_the_same(table, name):
    report, frames = published(table, name, "interpreted")
    again, others = published(table, name, "compiled")
    assert frames
    assert report == again
    assert [frame.write_csv() for frame in frames] == [frame.write_csv() for frame in others]


@pytest.mark.slow
def test_both_ways_find_the_same_risk(table):
    found = []
    for way in ("interpreted", "compiled"):
        with jit.always(way):
            found.append(str(sf.risk(table)))
    assert found[0] == found[1]


HEAVY = ("numba", "kmedoids", "sklearn", "scipy", "pandas", "matplotlib", "jinja2", "polars.testing")


def loaded_by(*words):
    script = (
        "import sys\nfrom sfumato.cli import main\n"
        f"sys.argv = {['sfumato', *map(str, words)]!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SFUMATO_")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=ours)
    return done.stdout.rpartition("LOADED ")[2].strip()


def test_commands_load_what_they_use(table, tmp_path):
    with jit.always("interpreted"):
        sf.anonymize(table, sf.KAnonymity(3), seed=1).save(tmp_path / "release")
    assert loaded_by("--help") == "[]"
    assert loaded_by("verify", tmp_path / "release") == "[]"
