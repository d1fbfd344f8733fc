"""Linkage, exact and nearest, as played by sf.attack: the founding papers' examples, and where it cannot work."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.attacked_tables import SCHEMA, WITH_NAMES, bucketized, patients, people, sliced
from examples import examples
from naive.nearest import middle, nearest
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks import Linkage, NearestLinkage
from sfumato.evaluation.attacks.linkage import exact_links
from sfumato.evaluation.attacks.nearest_linkage import nearest_links
from sfumato.evaluation.attacks.people import OwnRecords, Victims
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.verdicts import Certainty
from sfumato.published import PublishedTable, RandomizedTable
from sfumato.recoding import Recoding

QUASI = ("age", "sex", "zip")
THESIS = sf.Schema(
    identifying=["name"],
    quasi_identifying={"age": None, "sex": None, "zip": sf.prefixes(3, 2, 0)},
    sensitive=["disease"],
)
# Thesis, table 1-1 and figure 1-2: Paul's record is known from the text, the others are chosen to fit the table.
PATIENTS = pl.DataFrame(
    {
        "name": ["Paul", "Tom", "Ann", "Eve"],
        "age": [25, 35, 40, 45],
        "sex": ["Male", "Male", "Female", "Female"],
        "zip": ["22370", "22405", "55410", "55433"],
        "disease": ["Gastritis", "HIV", "Cancer", "Fever"],
    }
)
VOTERS = pl.DataFrame(
    {
        "name": ["John", "Elena", "Paul", "Sara"],
        "age": [35, 40, 25, 35],
        "sex": ["Male", "Female", "Male", "Female"],
        "zip": ["79415", "75942", "22370", "65784"],
    }
)
TWO_ANONYMOUS = PublishedTable(
    pl.DataFrame(
        {
            "age": ["[25..35]", "[25..35]", "[40..45]", "[40..45]"],
            "sex": ["Male", "Male", "Female", "Female"],
            "zip": ["22***", "22***", "554**", "554**"],
            "disease": ["Gastritis", "HIV", "Cancer", "Fever"],
        }
    ),
    QUASI,
    ("disease",),
)


class TestThesis:
    """Sections 1.5 and 1.6: one record fits Paul before, two after."""

    def played(self, published: PublishedTable) -> tuple[float, float]:
        only, picked = sf.attack(published, PATIENTS, schema=THESIS, register=VOTERS, attacks="linkage").results
        assert only.success.people == picked.success.people == 1
        assert only.figures == {"register_not_in_the_data": 3, "of_them_fit": 0}
        return only.success.share, picked.success.share

    def test_with_only_the_names_removed_paul_is_found(self) -> None:
        assert self.played(PublishedTable(PATIENTS.drop("name"), QUASI, ("disease",))) == (1, 1)

    def test_two_anonymity_halves_it(self) -> None:
        assert self.played(TWO_ANONYMOUS) == (0, 0.5)


def test_soccer_figure_1() -> None:
    """Of the figure's players only the heights can be read in our copy: one record has 188 cm, two have 176."""
    heights = [176, 176, 183, 188, 170, 177]
    players = pl.DataFrame(
        {"name": [f"player {place}" for place in range(6)], "height": heights, "fitness": [*"abcdef"]}
    )
    schema = sf.Schema(identifying=["name"], quasi_identifying=["height"], sensitive=["fitness"])
    website = pl.DataFrame({"name": ["player 3", "player 0", "Carl", "Dean"], "height": [188, 176, 169, 180]})
    published = PublishedTable(players.drop("name"), ("height",), ("fitness",))
    only, picked = sf.attack(published, players, schema=schema, register=website, attacks="linkage").results
    assert (only.success.successes, only.success.people) == (1, 2)
    assert picked.success.successes == 1.5


class TestWhereItMustWorkAndWhereItCannot:
    def test_the_original_without_names(self) -> None:
        frame = people(400, 4)
        published = PublishedTable(frame.drop("name"), QUASI, ("disease",))
        for attack in ("linkage", "nearest-linkage"):
            only, picked = sf.attack(published, frame, schema=WITH_NAMES, attacks=attack).results
            assert only.succeeds
            assert picked.succeeds
            unique = frame.filter(pl.struct(QUASI).is_unique()).height
            assert only.success.successes == unique
            assert only.allowed is None

    def test_a_row_that_alone_fits_is_certain(self) -> None:
        """One of eight: significant by no means, but certain; nobody else is found."""
        frame = pl.DataFrame({"x": [1, 1, 1, 2, 2, 3, 3, 9], "s": list("abcdefgh")})
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["x"], sensitive=["s"]))
        only, picked = sf.attack(PublishedTable(frame, ("x",), ("s",)), table, attacks="linkage").results
        assert (only.success.successes, only.success.people) == (1, 8)
        assert only.success.interval[0] < only.success.baseline
        assert only.certainty == Certainty(1)
        assert only.succeeds
        assert picked.certainty is None
        others = frame.filter(pl.col("x") < 9)
        only, _ = sf.attack(PublishedTable(others, ("x",), ("s",)), table.take(np.arange(7)), attacks="linkage").results
        assert only.certainty == Certainty(0)
        assert only.verdict == "no better"

    def test_a_row_that_is_somebody_else_s_is_not_certain(self) -> None:
        """The record of c was left out, and another one fits."""
        frame = pl.DataFrame({"x": [1, 1, 2, 2], "s": ["a", "b", "c", "d"]})
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["x"], sensitive=["s"]))
        published = PublishedTable(frame.filter(pl.col("s") != "c"), ("x",), ("s",))
        only, _ = sf.attack(published, table, attacks="linkage").results
        assert only.certainty == Certainty(1, wrong=1)
        assert only.verdict == "undecided"

    def test_k_anonymity_allows_one_in_k(self) -> None:
        frame = people(400, 4)
        table = sf.read_table(frame.drop("name"), SCHEMA)
        release = sf.anonymize(table, sf.KAnonymity(5))
        only, picked = sf.attack(release, table, attacks="linkage").results
        assert (only.success.successes, only.allowed) == (0, 0)
        assert not only.succeeds
        assert picked.allowed == 0.2
        assert picked.is_allowed
        assert 0.1 < picked.success.share <= 0.2

    def test_a_table_of_stars(self) -> None:
        table = sf.read_table(people(200, 4).drop("name"), SCHEMA)
        stars = table.frame.with_columns(**{name: pl.lit("*") for name in QUASI})
        for attack in ("linkage", "nearest-linkage"):
            for result in sf.attack(PublishedTable(stars, QUASI, ("disease",)), table, attacks=attack).results:
                assert not result.succeeds
                assert result.success.share <= result.success.baseline + 1e-9

    def test_class_means_hide_from_exact_but_not_from_nearest_linkage(self) -> None:
        generator = np.random.default_rng(5)
        frame = pl.DataFrame({name: generator.normal(size=300).round(3) for name in ("x", "y")})
        table = sf.read_table(
            frame.with_columns(s=pl.int_range(300)), sf.Schema(quasi_identifying=["x", "y"], sensitive=["s"])
        )
        release = sf.anonymize(table, sf.KAnonymity(3), anonymizer=sf.MDAV(), recoding=Recoding(numeric="mean"))
        exact = sf.attack(release, table, attacks="linkage").results[1].success
        near = sf.attack(release, table, attacks="nearest-linkage").results[1]
        assert exact.share < 0.1
        assert near.succeeds
        assert near.success.share > 0.25
        assert near.is_allowed

    def test_swapped_values(self) -> None:
        """Shuffled ages and zip codes: nobody is found more often than by chance."""
        frame = people(400, 9)
        table = sf.read_table(frame.drop("name"), SCHEMA)
        mixed = table.frame.with_columns(*(pl.col(name).shuffle(seed=place) for place, name in enumerate(QUASI)))
        for attack in ("linkage", "nearest-linkage"):
            for result in sf.attack(RandomizedTable(mixed, QUASI, ("disease",)), table, attacks=attack).results:
                low, high = result.success.interval
                assert low <= result.success.baseline <= high
                assert result.notes

    def test_noise_does_not_hide_from_nearest_linkage(self) -> None:
        generator = np.random.default_rng(5)
        frame = pl.DataFrame({"x": generator.normal(size=300), "y": generator.normal(size=300), "s": np.arange(300)})
        noisy = frame.with_columns(x=pl.col("x") + generator.normal(0, 0.01, 300))
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["x", "y"], sensitive=["s"]))
        published = RandomizedTable(noisy, ("x", "y"), ("s",))
        only, _ = sf.attack(published, table, attacks="nearest-linkage").results
        assert only.success.share > 0.8
        assert only.success.baseline < 0.01
        exact, _ = sf.attack(published, table, attacks="linkage").results
        assert exact.success.successes == 0

    def test_buckets_show_whose_row_is_whose(self) -> None:
        for attack in ("linkage", "nearest-linkage"):
            only, _ = sf.attack(bucketized(), patients(), attacks=attack).results
            assert only.success.share == 1
            assert only.success.baseline == 1 / 8

    def test_a_release_without_other_values_cannot_be_judged(self) -> None:
        table = sf.read_table(patients().frame.drop("disease"), sf.Schema(quasi_identifying=SCHEMA.quasi_identifying))
        for result in sf.attack(PublishedTable(table.frame, QUASI, ()), table, attacks="nearest-linkage").results:
            assert not result.succeeds
            assert "nobody can tell" in result.notes[0]

    def test_somebody_suppressed_is_not_found(self) -> None:
        table = sf.read_table(PATIENTS.drop("name"), THESIS_TABLE)
        published = PublishedTable(PATIENTS.drop("name")[1:], QUASI, ("disease",))
        only, _ = sf.attack(published, table, attacks="linkage").results
        assert (only.success.successes, only.success.people) == (3, 4)

    def test_false_matches_of_a_control_group(self) -> None:
        frame = people(400, 4)
        published = PublishedTable(frame.drop("name"), QUASI, ("disease",))
        only, _ = sf.attack(published, frame, schema=WITH_NAMES, control=people(400, 5), attacks="linkage").results
        assert 0 < only.figures["control_who_fit_one_record"] < 1
        assert only.control is None


THESIS_TABLE = sf.Schema(quasi_identifying=THESIS.quasi_identifying, sensitive=["disease"])


class TestKnown:
    def test_fewer_attributes_find_fewer_people(self) -> None:
        frame = people(400, 4)
        published = PublishedTable(frame.drop("name"), QUASI, ("disease",))
        found = [
            sf.attack(published, frame, schema=WITH_NAMES, attacks=Linkage(known=known)).results[0].success.successes
            for known in (1, 2, 3, None)
        ]
        assert found[0] <= found[1] <= found[2] == found[3]

    def test_a_number_takes_those_that_tell_most(self) -> None:
        target = Target(PublishedTable(patients().frame, QUASI, ("disease",)), patients())
        (only, _), (named, _) = Linkage(known=1).play(target), Linkage(known=("age",)).play(target)
        assert only.success == named.success
        assert "the age of" in only.knows

    @pytest.mark.parametrize("known", [0, -1, True, (), ("age", "age"), "age", 2.5])
    @pytest.mark.parametrize("kind", [Linkage, NearestLinkage])
    def test_what_is_none(self, kind: type, known: object) -> None:
        with pytest.raises(PolicyError, match="linkage: known"):
            kind(known=known)

    def test_what_the_release_does_not_have(self) -> None:
        target = Target(bucketized(), patients())
        with pytest.raises(PolicyError, match="asks for 4 attributes, but there are 3"):
            Linkage(known=4).play(target)
        with pytest.raises(PolicyError, match="'disease' is not a quasi-identifying attribute"):
            Linkage(known=("disease",)).play(target)


class TestRegister:
    def test_without_names_in_the_original(self) -> None:
        with pytest.raises(InputError, match="shares no column of names"):
            Linkage().play(Target(bucketized(), patients(), register=VOTERS))

    def test_names_that_repeat(self) -> None:
        twice = pl.concat([VOTERS, VOTERS])
        with pytest.raises(InputError, match="register: 4 name"):
            sf.attack(TWO_ANONYMOUS, PATIENTS, schema=THESIS, register=twice, attacks="linkage")

    def test_nobody_in_it_is_in_the_data(self) -> None:
        with pytest.raises(InputError, match="nobody in it is in the data"):
            sf.attack(TWO_ANONYMOUS, PATIENTS, schema=THESIS, register=VOTERS[:2], attacks="linkage")

    def test_without_shared_columns(self) -> None:
        with pytest.raises(InputError, match="share no quasi-identifying column"):
            sf.attack(TWO_ANONYMOUS, PATIENTS, schema=THESIS, register=VOTERS.select("name"), attacks="linkage")

    def test_kinds_without_records(self) -> None:
        with pytest.raises(PolicyError, match="cannot be played on a sliced-table"):
            sf.attack(sliced(("age", "sex"), ("zip", "disease")), patients(), attacks="linkage")


NUMBERS = st.one_of(
    st.integers(0, 9).map(str),
    st.tuples(st.integers(0, 5), st.integers(6, 9)).map(lambda ends: f"[{ends[0]}..{ends[1]}]"),
    st.just("*"),
    st.none(),
)
SETS = st.sampled_from(["a", "b", "{a|b}", "{b|c|d}", "*", None, "z"])
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, SETS, st.sampled_from("uvw")), min_size=1, max_size=40)
PEOPLE = st.lists(
    st.tuples(
        st.integers(0, 9) | st.none(),
        st.integers(0, 9),
        st.sampled_from(["a", "b", "c", "d", None]),
        st.sampled_from("uvw"),
    ),
    min_size=2,
    max_size=12,
)


@given(ROWS, PEOPLE, st.sampled_from([("x", "y", "c"), ("c",), ("x",), ("y", "c")]), st.integers(1, 2))
@examples(80)
def test_nearest_is_what_a_look_at_every_record_finds(rows, asked, names, threads) -> None:
    published = pl.DataFrame(rows, schema=dict.fromkeys("xycs", pl.String), orient="row")
    types = {"x": pl.Int64, "y": pl.Int64, "c": pl.String, "s": pl.String}
    frame = pl.DataFrame(asked, schema=types, orient="row")
    schema = sf.Schema(
        quasi_identifying={"x": sf.Attribute(kind="numeric"), "y": sf.Attribute(kind="numeric"), "c": None}
    )
    each = np.arange(frame.height)
    victims = Victims(frame, schema, each, OwnRecords(frame, each, frame["s"].alias("key")))
    links = nearest_links(published, victims, names, published["s"], Recoding(), threads)
    domains = {name: frame[name].drop_nulls().unique().to_list() for name in names}
    widths = {}
    for name in set(names) - {"c"}:
        known = [middle(text, domains[name]) for text in published[name].drop_nulls() if text != "*" or domains[name]]
        widths[name] = (max(known, default=0) - min(known, default=0)) or 1
    for place, person in enumerate(frame.to_dicts()):
        if any(not domains[name] for name in names):
            continue
        _, found = nearest(published.to_dicts(), {name: person[name] for name in names}, widths, domains)
        assert links.candidates[place] == len(found)
        assert links.own[place] == any(published["s"][row] == person["s"] for row in found)


@given(ROWS, PEOPLE)
@examples(40)
def test_exact_candidates_are_those_of_the_linking_attack(rows, asked) -> None:
    published = pl.DataFrame(rows, schema=dict.fromkeys("xycs", pl.String), orient="row")
    types = {"x": pl.Int64, "y": pl.Int64, "c": pl.String, "s": pl.String}
    frame = pl.DataFrame(asked, schema=types, orient="row").with_columns(name=pl.int_range(pl.len()).cast(pl.String))
    quasi = {"x": sf.Attribute(kind="numeric"), "y": sf.Attribute(kind="numeric"), "c": None}
    schema = sf.Schema(identifying=["name"], quasi_identifying=quasi, sensitive=["s"], others="drop")
    each = np.arange(frame.height)
    victims = Victims(frame, schema, each, OwnRecords(frame, each, frame["s"].alias("key")))
    links = exact_links(published, victims, ("x", "y", "c"), published["s"], Recoding())
    known = sf.linking_attack(published, frame, schema, truth=frame)
    assert known.singled_out == np.count_nonzero(links.candidates == 1)
    assert known.matched == np.count_nonzero(links.candidates)
