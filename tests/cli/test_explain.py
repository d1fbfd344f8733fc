"""``sfumato help WORD`` finds what stands anywhere on the command line, and the field's words, on one screen."""

from __future__ import annotations

import re

from typer.testing import CliRunner

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.cli.app import app
from sfumato.cli.explain import FIELD, LIMITS, explained, registered_entries
from sfumato.evaluation.attacks import ATTACKS
from sfumato.models import MODELS
from sfumato.published import KINDS


def run(*words: str) -> tuple[int, list[str], str]:
    done = CliRunner().invoke(app, ["help", *words], prog_name="sfumato")
    return done.exit_code, done.stdout.splitlines(), done.stderr


def test_every_name_is_found_first_and_explained() -> None:
    entries = [*FIELD.items(), *registered_entries()]
    for word in (*FIELD, *MODELS, *ANONYMIZERS, *PUBLISHERS, *ATTACKS):
        lines = "\n".join(explained(word, entries)).splitlines()
        names = [re.split(", (?:model|algorithm|attack)", line)[0] for line in lines]
        assert word in names
        assert len(lines[1].strip()) > 10
        assert max(map(len, lines)) <= 80
        assert len(lines) <= 60


def test_limits_are_those_of_every_kind_on_lines_that_fit() -> None:
    code, lines, _ = run("limits")
    page = " ".join(" ".join(lines).split())
    assert code == 0
    assert max(map(len, lines)) <= 80
    for sentence in (*LIMITS, *(sentence for kind in KINDS.values() for sentence in kind.limits)):
        assert sentence in page


def test_options_and_commands_are_found() -> None:
    assert "sfumato anonymize --suppression" in run("suppression")[1]
    assert "sfumato verify" in run("verify")[1]


def test_short_words_and_signs_are_found_as_they_stand() -> None:
    assert run("k")[1][0] == "k"
    assert run("star")[1][0] == run("*")[1][0] == "star (*)"
    assert run("notation")[1][0] == "star (*)"
    assert run("range")[1][0].endswith("[20..29]")
    assert not any("marketer" in line for line in run("k")[1])


def test_words_of_the_field_are_explained_in_short_sentences() -> None:
    for text in FIELD.values():
        assert all(len(sentence.split()) <= 20 for sentence in text.split(". "))


def test_what_is_not_there_is_said_with_what_is_near() -> None:
    code, _, err = run("qausi")
    assert code == 2
    assert "nothing is called so; near are" in err
    assert "quasi" in err


def test_without_a_word_it_is_the_first_page() -> None:
    assert run()[1][0] == "Usage: sfumato COMMAND [OPTIONS]"
