"""Three answers: every attack stands under its question, and a question that nothing answers says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.evidence.content import QUESTIONS
from sfumato.registry import OWN_KINDS, loaded

TABLES = {"columns": {"quasi-identifying": ["a"]}, "models": [{"name": "k-anonymity", "k": 2}]}
CONTEXT = """
[context]
recipient = "everybody"
purpose = "study"
public = true
other-data = "none"
"""


def baskets(folder: Path, odd: str = "crisps") -> Path:
    goods = ["ale", "rolls", "lager", "rye", "crisps"]
    rows = [f"p{one},{goods[(one + shift) % 4]}" for one in range(24) for shift in range(1 + one % 3)]
    file = folder / f"{odd}.csv"
    file.write_text("\n".join(["customer,good", *rows, *(f"p{one},{odd}" for one in range(2))]) + "\n")
    return file


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    home = tmp_path_factory.mktemp("sold")
    policy = home / "sets.toml"
    policy.write_text("[model]\nk = 3\nm = 1\n" + CONTEXT)
    file = baskets(home)
    release = sf.anonymize_sets(sf.read_sets(file), sf.KmAnonymity(3, 1), seed=1)
    return sf.save_sets(release, home / "release"), file, policy


def answers(content: dict[str, Any]) -> dict[str, Any]:
    return {one["question"]: one for one in content["answers"]}


def test_sets_are_attacked_and_what_is_not_says_why(sold):
    folder, file, policy = sold
    made = sf.report(folder, file, policy=policy, seed=1)
    content, public = made.to_dict(), made.to_dict("public")
    found = answers(content)
    assert [one["attack"] for one in found["singling out"]["played"]] == ["known-items"] * 4
    assert found["singling out"]["played"][0]["success"]["baseline"] == pytest.approx(1 / 24)
    for name in ("linkability", "inference"):
        assert found[name]["sentence"].startswith("Not played: ")
        assert not found[name]["is_played"]
    assert "What was made is the release, record for record." in " ".join(content["limits"])
    # The person most at risk is bounded by the promise, and stands beside what the recipient may accept.
    assert content["context"]["success"][0]["maximum"] == pytest.approx(1 / 3)
    assert content["context"]["verdict"]["outcome"] == "exceeded"
    other = sf.report(folder, baskets(folder.parent, "wine"), policy=policy, seed=1)
    # Another original that publishes the same: nothing for others depends on it.
    assert other.to_dict("public") == public
    assert other.html("public") == made.html("public")
    third = sf.report(folder, baskets(folder.parent, "ale"), policy=policy, seed=1).to_dict()
    assert "differs from the release" in " ".join(third["limits"])
    for page in (made.html(), made.short_html(), made.short_html("public")):
        assert "Singling out" in page
    assert "known-items" not in made.html("public")


def test_what_is_for_tables_is_refused(sold):
    folder, file, _ = sold
    with pytest.raises(sf.PolicyError, match="bound: is for releases of tables"):
        sf.report(folder, file, bound=True)
    with pytest.raises(sf.PolicyError, match="policy: name the file"):
        sf.report(folder, file, policy=sf.Policy.from_mapping(TABLES))


def test_every_kind_finds_evidence_and_says_its_limits():
    for kind in OWN_KINDS.values():
        assert kind.evidence
        assert loaded(kind.release).limits
    assert set(QUESTIONS) == {"singling out", "linkability", "inference", "membership"}


def test_each_attack_on_a_table_stands_under_one_question():
    rows = {"age": [20 + one % 4 for one in range(40)], "ill": [["flu", "cough", "gout"][one % 3] for one in range(40)]}
    table = sf.read_table(pl.DataFrame(rows), sf.Schema(quasi_identifying=["age"], sensitive=["ill"]))
    release = sf.anonymize(table, sf.KAnonymity(4), seed=1)
    content = sf.report(release, table, seed=1).to_dict()
    listed = [one["attack"] for each in content["answers"] for one in (*each["played"], *each["unplayed"])]
    results, unplayed = content["attacks"]["results"], content["attacks"]["unplayed"]
    known = {name for question in QUESTIONS.values() for name in question.attacks}
    assert sorted(listed) == sorted(
        [*(one["attack"] for one in results), *(name for name in unplayed if name in known)]
    )
    nothing = answers(sf.report(release).to_dict())
    assert nothing["inference"]["sentence"] == (
        "Not played: who is right is known by the original alone. The steward plays it with --original."
    )
