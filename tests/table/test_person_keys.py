"""Spellings of one key: merged without a word, or asked about with counts; never taken for two people in silence."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from naive.person_keys import spelling
from sfumato.cli.app import app
from sfumato.policy.parts import policy_columns
from sfumato.series.people import tags_of
from sfumato.table.large.coding import KeyFiles
from sfumato.table.person_keys import KINDS, _folded, folded

MERGED: list[tuple[Any, Any]] = [
    ("7", "7.0"),
    ("7", "7.00"),
    ("7", "7 "),
    ("7", "\u00a07"),
    ("Jos\u00e9", "Jose\u0301"),
    ("7.5", "7.50"),
]
ASKED = {
    "capitals": ("A 12", "a 12"),
    "blanks": ("A 12", "A12"),
    "blanks, no-break": ("A\u00a012", "A 12"),
    "invisible, zero width": ("A\u200b12", "A12"),
    "invisible, byte order mark": ("\ufeffA12", "A12"),
    "invisible, soft hyphen": ("A\u00ad12", "A12"),
    "invisible, variation": ("A\ufe0f12", "A12"),
    "forms, full width": ("\uff11\uff12", "12"),
    "forms, ligature": ("\ufb01n", "fin"),
    "zeros": ("007", "7"),
    "zeros, fraction": ("007.0", "7"),
    "signs": ("+12", "12"),
    "signs, exponent": ("1e3", "1000"),
    "capitals and zeros": ("A 12", "a12"),
    "zeros, point": (".5", "0.5"),
    "zeros, point behind a minus": ("-.50", "-0.5"),
    "forms, Arabic-Indic": ("\u0667", "7"),
    "forms, Devanagari": ("P\u0967\u0968", "P12"),
    "forms, Arabic-Indic point": ("\u0667\u066b\u0665", "7.5"),
    "forms, minus": ("\uff0d7", "-7"),
    "signs, minus": ("\u22127", "-7"),
    "signs, dash": ("A\u201312", "A-12"),
    "signs, exponent behind a minus": ("1e\u22123", "0.001"),
    "forms and zeros": ("\u0660\u0660\u0667", "7"),
    "sharp s": ("STRASSE", "stra\u00dfe"),
}


def people(keys: list[Any], form: str | None = None) -> int:
    frame = pl.DataFrame({"id": keys, "age": list(range(len(keys)))}, strict=False)
    found = sf.read_table(frame, sf.Schema(person="id", quasi_identifying=["age"], key_form=form)).people
    assert found is not None
    return len(np.unique(found))


def people_on_disk(folder: Path, keys: list[Any], form: str | None = None) -> int:
    files = KeyFiles(folder, form)
    for key in keys:
        files.add(pl.Series("id", [key], dtype=pl.String))
    return len(np.unique(files.people().numbers))


@pytest.mark.parametrize("pair", MERGED)
def test_merged_pairs_are_one_person(pair: tuple[Any, Any], tmp_path: Path) -> None:
    assert people([*pair]) == people_on_disk(tmp_path, [*pair]) == 1


@pytest.mark.parametrize("kind", ASKED)
def test_other_pairs_are_asked_and_never_shown(kind: str, tmp_path: Path) -> None:
    pair = [*ASKED[kind]]
    for ask in (lambda: people([*pair, "other"]), lambda: people_on_disk(tmp_path, [*pair, "other"])):
        with pytest.raises(sf.InputError, match="key-form fold") as raised:
            ask()
        assert not any(key in str(raised.value) for key in pair if len(key) > 3)
    assert people(pair, "exact") == people_on_disk(tmp_path, pair, "exact") == 2
    assert people(pair, "fold") == people_on_disk(tmp_path, pair, "fold") == 1


def test_kinds_are_answered_alone() -> None:
    keys = ["A1", "a1", "007", "7"]
    assert people(keys, "fold:capitals,exact:zeros") == 3
    with pytest.raises(sf.InputError, match="2 differ from another only in leading zeros"):
        people(keys, "fold:capitals")


@pytest.mark.parametrize("kind", [kind for kind in ASKED if kind.partition(", ")[0] in KINDS])
def test_the_question_names_the_kind_and_its_answer_alone_is_enough(kind: str) -> None:
    pair, name = [*ASKED[kind]], kind.partition(", ")[0]
    with pytest.raises(sf.InputError, match=f"2 differ from another only {re.escape(KINDS[name])}"):
        people(pair)
    assert people(pair, f"fold:{name}") == 1


def test_what_no_rule_sees_are_different_people() -> None:
    keys = ["i", "\u0131", "1000", "1,000", "7-", "-7", "1.2.2003", "2003-02-01", "7.", "7"]
    assert people(keys) == len(keys)


def test_earlier_ledgers_hash_keys_byte_for_byte() -> None:
    keys, secret = [".5", "0.5", "\u0667", "\u22127", "\uff0d7", "A\u201312", "007", "p 1"], b"0" * 32
    naive = [hashlib.blake2b(key.encode(), digest_size=16, key=secret, person=b"sfumato person") for key in keys]
    assert tags_of(pl.Series("id", keys), secret).to_list() == [each.digest() for each in naive]


def test_numbers_of_frames_are_those_of_texts() -> None:
    assert people([1.0, 2.0, 1.0]) == people(["1", "2", "1.0"]) == people([1, 2, 1]) == 2


def test_a_wrong_form_is_refused() -> None:
    with pytest.raises(sf.SchemaError, match="key_form must be"):
        sf.Schema(person="id", quasi_identifying=["age"], key_form="fold:colour")


def test_a_policy_keeps_the_answer_and_writes_none_where_none_was_given() -> None:
    plain, folded = (
        policy_columns(sf.Schema(person="id", quasi_identifying=["age"], key_form=form)) for form in (None, "fold")
    )
    assert "key-form" not in plain.to_mapping()
    assert folded.to_mapping()["key-form"] == "fold"


def test_a_series_compares_keys_by_the_form_it_was_started_with() -> None:
    keys, secret = pl.Series("id", ["A1", "a1", "007", "7"]), b"0" * 32
    assert tags_of(keys, secret).n_unique() == tags_of(keys, secret, "exact").n_unique() == 4
    assert tags_of(keys, secret, "fold:capitals").n_unique() == 3
    assert tags_of(keys, secret, "fold").n_unique() == 2


def test_columns_are_folded_as_texts_are_one_by_one() -> None:
    drawn = random.Random(5)
    signs = [*"aAbBeE0017.+-+ -. ", "\u200b", "\u00df", "\u00a0", "\uff21", "\uff11", "\t", "\u00e9", "e\u0301"]
    for trial in range(300):
        keys = ["".join(drawn.choices(signs[:18] if trial % 2 else signs, k=drawn.randint(1, 6))) for _ in range(40)]
        kinds = [kind for kind in KINDS if drawn.random() < 0.5]
        assert folded(pl.Series(keys), kinds).to_list() == [_folded(key, kinds) for key in keys]


def test_every_letter_is_folded_as_by_itself() -> None:
    letters = [chr(code) for code in range(1, 0x10000, 3) if not 0xD800 <= code < 0xE000]
    drawn = random.Random(7)
    # Signs that are folded one by one are no reason for others to be.
    for some in (
        letters,
        [letter for letter in letters if letter.isalpha()],
        [*"aB7 \u00df\u03a3\u0391\u03c2\u0130\u0915\u094d"],
    ):
        keys = ["".join((drawn.choice("aE0 "), drawn.choice(some), letter)) for letter in letters[: 12 * len(some)]]
        kinds = [*KINDS]
        assert folded(pl.Series(keys), kinds).to_list() == [_folded(key, kinds) for key in keys]


def test_naive_definition_of_folding_in_every_script() -> None:
    drawn = random.Random(11)
    scripts = [
        "\u00e4\u00c4\u00df\u00e9 E01.",
        "\u03b1\u0391\u03a3\u03c3\u03c2 1",
        "\u0431\u0411\u0439\u0419 0",
        "\u4e00\u5b57\u304b\uff21 7",
    ]
    scripts += [
        "\u0915\u094d\u093e\u093c 0",
        "\u05d0\u05b0\u05b1\u200f1",
        "\uac00\u1100\u1161\u11a8",
        "i\u0131I\u0130\u0307",
        "e\u0301\u0323E",
        "\u0660\u0667\u066b.07eE-",
        "\u0967\u0966 \uff10\uff0d\u22127.",
        "\u2010\u2011\u2013\u2043-+0.e1",
        "aA-+.01eE",
    ]
    for trial in range(390):
        script = scripts[trial % len(scripts)]
        keys = ["".join(drawn.choices(script, k=drawn.randint(1, 7))) for _ in range(40)]
        kinds = [kind for kind in KINDS if drawn.random() < 0.6]
        assert folded(pl.Series(keys), kinds).to_list() == [spelling(key, kinds) for key in keys], script


@pytest.mark.parametrize(
    ("pair", "form"), [(pair, None) for pair in MERGED] + [(ASKED[kind], "fold") for kind in ASKED]
)
def test_people_of_ratings_and_sets_are_the_same(pair: tuple[str, str], form: str | None) -> None:
    rated = pl.DataFrame({"user": [*pair, "x"], "film": ["a", "b", "a"], "rating": [1, 2, 3]})
    wide = pl.DataFrame({"user": [*pair, "x"], "a": [1, 2, 3]})
    held = pl.DataFrame({"who": [*pair, "x"], "item": ["a", "b", "a"]})
    assert sf.read_ratings(rated, key_form=form).height == 2
    assert sf.read_sets(held, key_form=form).height == 2
    with pytest.raises(sf.InputError, match="belong to a user who already has one"):
        sf.read_ratings(wide, form="wide", user="user", key_form=form)
    if form is None:
        return
    for ask in (
        lambda: sf.read_ratings(rated),
        lambda: sf.read_ratings(wide, form="wide", user="user"),
        lambda: sf.read_sets(held),
    ):
        with pytest.raises(sf.InputError, match="key-form fold"):
            ask()
    assert sf.read_ratings(rated, key_form="exact").height == sf.read_sets(held, key_form="exact").height == 3


def test_commands_on_ratings_and_sets_ask(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,film,rating\nA1,a,1\na1,b,2\nB1,a,1\nB1,b,2\n")
    (tmp_path / "s.csv").write_text("who,item\nA1,a\na1,b\nB1,a\nB1,b\n")
    for words in (
        ["check", "--kind", "ratings", str(tmp_path / "r.csv"), "-k", "2", "--epsilon", "1"],
        [
            "anonymize",
            "--kind",
            "ratings",
            str(tmp_path / "r.csv"),
            *("-k", "2", "--epsilon", "1", "--out"),
            str(tmp_path / "r"),
        ],
        ["check", "--kind", "sets", str(tmp_path / "s.csv"), "-m", "2"],
        ["anonymize", "--kind", "sets", str(tmp_path / "s.csv"), "-k", "2", "-m", "2", "--out", str(tmp_path / "s")],
    ):
        asked = CliRunner().invoke(app, words)
        assert (asked.exit_code, "key-form fold" in asked.output) == (2, True), asked.output
        answer = ["--set", "ratings.key-form=fold"] if words[0] == "ratings" else ["--key-form", "fold"]
        assert " ".join(answer) in asked.output
        done = CliRunner().invoke(app, [*words, *answer])
        assert done.exit_code == 0, done.output
