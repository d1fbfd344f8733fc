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
    r"\b(?:no (?:\w+ )?(?:model|attack|published table)s?|none of (?:the|our) (?:models|attacks))(?: \w+){0,3}?"
    r" (?:bounds?|protects?|prevents?|hides?|plays?|reads?|has)\b",
    re.I,
)
WORDS = {
    "README.md: No model here bounds",
    "docs/explanation/what-k-anonymity-does-not-protect.md: No model here prevents",
    "docs/explanation/what-k-anonymity-does-not-protect.md: No model of one release protects",
    "docs/how-to/identifying-columns.md: No model here reads",
    "docs/how-to/one-person-many-records.md: No model of the classes bounds",
    "docs/how-to/one-person-many-records.md: no attack plays",
    "docs/reference/attacks/intersection.md: No model of one release bounds",
    "docs/reference/attacks/intersection.md: no model of one release bounds",
    "docs/reference/ratings.md: No model bounds",
    "src/sfumato/evaluation/attacks/intersection.py: no model of one release bounds",
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
    for path in sorted([*pages, *ROOT.glob("src/**/*.py"), *ROOT.glob("src/**/*.html")]):
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
