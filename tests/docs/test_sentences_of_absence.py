"""Sentences that say of models and attacks that there is none: each was read against the registries below."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sfumato.evaluation.attacks import ATTACKS, CRITERIA
from sfumato.models import MODELS
from sfumato.release.description import OWN_KINDS

ROOT = Path(__file__).parents[2]
ABSENCE = re.compile(
    r"\bno promise bounds\b|\b(?:no (?:\w+ )?(?:model|attack|published table)s?"
    r"|none of (?:the|our) (?:models|attacks)|only (?:a |[\w-]+ and )?(?:model|differential privacy))(?: \w+){0,3}?"
    r" (?:bounds?|protects?|prevents?|hides?|plays?|reads?|guess(?:es)?|has)\b",
    re.I,
)
WORDS = {
    "README.md: No model here bounds",
    "docs/explanation/what-k-anonymity-does-not-protect.md: No model here prevents",
    "docs/explanation/what-k-anonymity-does-not-protect.md: No model of one release protects",
    "docs/how-to/attack-a-release.md: Only a model bounds",
    "docs/how-to/attack-a-release.md: no promise bounds",
    "docs/how-to/identifying-columns.md: No model here reads",
    "docs/how-to/one-person-many-records.md: No model of the classes bounds",
    "docs/how-to/one-person-many-records.md: no attack plays",
    "docs/how-to/report.md: no promise bounds",
    "docs/reference/attacks/corruption.md: No promise bounds",
    "docs/reference/attacks/intersection.md: No model of one release bounds",
    "docs/reference/attacks/intersection.md: no model of one release bounds",
    "docs/reference/attacks/reconstruction.md: No promise bounds",
    "docs/reference/command-line.md: no promise bounds",
    "docs/reference/ratings.md: No model bounds",
    "src/sfumato/cli/explain.toml: Only delta-presence and differential privacy bound",
    "src/sfumato/evaluation/attacks/intersection.py: no model of one release bounds",
    "src/sfumato/evaluation/attacks/reconstruction.py: no promise bounds",
    "src/sfumato/evidence/content.py: no attack guesses",
    "src/sfumato/kinds/sets/check.py: no attack of this program guesses",
    "src/sfumato/kinds/traces/check.py: no attack of this program guesses",
    "src/sfumato/kinds/ratings/check.py: no model bounds",
    "src/sfumato/kinds/ratings/make.py: No model bounds",
    "src/sfumato/kinds/ratings/make.py: no model bounds",
    "src/sfumato/kinds/ratings/ratings.py: No model bounds",
    "src/sfumato/published/protocol.py: no model protects",
    "src/sfumato/release/folding.py: No model but the bound",
}
"""Of each sentence, how it goes on; a new one is added by who has looked at the registries."""

READ_AGAINST = {"models": 20, "attacks": 19, "kinds": 5}
"""How many there were when these sentences were read: who adds to a registry reads them again."""


def sentences() -> Iterator[str]:
    pages = [*ROOT.glob("docs/[!ds]*/**/*.md"), *ROOT.glob("docs/*.md"), ROOT / "README.md"]
    for path in sorted([*pages, *(path for kind in ("py", "toml", "html") for path in ROOT.glob(f"src/**/*.{kind}"))]):
        text = re.sub(r"[\s\"#]+", " ", path.read_text(encoding="utf-8"))
        for found in ABSENCE.finditer(text):
            yield f"{path.relative_to(ROOT)}: {found[0]}"


def test_every_sentence_was_read() -> None:
    assert {*sentences()} == WORDS


def test_nothing_was_added_since() -> None:
    """Whoever adds a model, an attack or a kind reads the sentences above, and says so here."""
    assert {"models": len(MODELS), "attacks": len(ATTACKS), "kinds": len(OWN_KINDS)} == READ_AGAINST


def test_every_attack_is_about_something() -> None:
    about = [name for names in CRITERIA.values() for name in names]
    assert sorted(about) == sorted(ATTACKS)


def test_what_is_played_on_private_counts_and_records_is_what_can_be() -> None:
    page = (ROOT / "docs/reference/differential-privacy.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.partition("| attack | on counts |")[2].splitlines()[2:]]
    said = {
        one.lower().replace(" ", "-"): [cell.startswith("played") for cell in row[1:]]
        for row in rows[: rows.index([""])]
        for one in row[0].split(", ")
    }
    kinds = ("marginal-tables", "randomized-table")
    lacking = {name for name, one in ATTACKS.items() if {"anonymizer", "pseudonyms"} & {*one.needs}}
    lacking.add("reconstruction")  # It needs exact counts.
    assert said == {
        name: [kind in one.kinds and name not in lacking for kind in kinds] for name, one in ATTACKS.items()
    }


def test_no_attack_is_said_to_lack_that_is_played() -> None:
    for kind in OWN_KINDS:
        for criterion in OWN_KINDS[kind].unplayed:
            assert not any(kind in ATTACKS[name].kinds for name in CRITERIA[criterion])
