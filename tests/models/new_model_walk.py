"""The whole way of a new model, from its line in the registry to the page that is signed; run by itself.

Policies read the registry when they are loaded, so that this needs a process of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest
from no_majority import NoMajority, Pairs, Unsearchable
from typer.testing import CliRunner

from sfumato.models import MODELS

MODELS["no-majority"] = NoMajority  # the one line

import sfumato as sf  # noqa: E402
from sfumato.cli.app import app  # noqa: E402
from sfumato.evaluation.attacks.linkage import smallest_promised  # noqa: E402
from sfumato.evaluation.attacks.verdicts import allowed_guess  # noqa: E402
from sfumato.evidence.content import promise_in_words  # noqa: E402

MODEL = NoMajority(0.5)
SAID = {"name": "no-majority", "share": 0.5}


def frame() -> pl.DataFrame:
    rows = 48
    return pl.DataFrame(
        {
            "age": [20 + row % 7 for row in range(rows)],
            "zip": [str(12300 + row % 5) for row in range(rows)],
            "disease": ["flu", "cold", "gout", "burn"] * (rows // 4),
        }
    )


def made(folder: Path) -> None:
    """Every kind of release that promises models keeps this one, and its folder is verified."""
    table = sf.read_table(frame(), sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"]))
    makers = (
        sf.Mondrian(),
        sf.Datafly(),
        sf.MDAV(),
        sf.Bucketization(),
        sf.Slicing(),
        sf.OverlappingSlicing(columns=(("age", "disease"), ("zip", "disease")), duplicate_sensitive=True),
        sf.Marginals(),
    )
    for number, maker in enumerate(makers):
        release = sf.anonymize(table, MODEL, anonymizer=maker, suppression_limit=0, seed=1)
        release.save(folder / str(number))
        verification = sf.verify(folder / str(number))
        assert verification.ok, maker
        assert any("no-majority (share=0.5" in check.promise for check in verification.checks), maker
    page = sf.report(folder / "0", original=table, attacks=False, bound=True).to_dict()
    assert "a share of 0.5 of the people who look alike" in str(page["promises"])
    assert page["bound"]["normalized_ncp"] >= 0


def described(folder: Path) -> None:
    """Policies build it, and say of each mistake where it is."""
    mapping = {"columns": {"quasi-identifying": ["age", "zip"], "sensitive": ["disease"]}, "models": [SAID]}
    policy = sf.Policy.from_mapping(mapping)
    assert list(policy.to_models()) == [MODEL]
    policy.to_file(folder / "policy.toml")
    assert sf.Policy.from_file(folder / "policy.toml") == policy
    with pytest.raises(sf.PolicyError) as caught:
        sf.Policy.from_mapping({**mapping, "models": [{**SAID, "share": 2}]})
    assert caught.value.problems == ("models[0].share: must be a number above 0 up to 1",)


def commanded(folder: Path) -> None:
    """The command line takes its words."""
    frame().write_csv(folder / "people.csv")
    words = ["--quasi", "age,zip", "--sensitive", "disease", "--model", "no-majority:share=0.5"]
    out = str(folder / "release")
    run = CliRunner().invoke(app, ["anonymize", str(folder / "people.csv"), *words, "--out", out, "--quiet"])
    assert run.exit_code == 0, run.output
    assert CliRunner().invoke(app, ["verify", out]).exit_code == 0


def attacked() -> None:
    """Attacks know what it allows."""
    assert allowed_guess([SAID], "disease") == 0.5
    assert allowed_guess([{**SAID, "attribute": "other"}], "disease") is None
    assert smallest_promised([SAID]) == 2
    assert promise_in_words(SAID).startswith("no sensitive value is that of more than a share of 0.5")


def strange(folder: Path) -> None:
    """A model with the methods of the protocol alone works where classes are; elsewhere it is refused by name."""
    table = sf.read_table(frame(), sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"]))
    assert sf.anonymize(table, Pairs(), seed=1).report.verification.ok
    for maker, model in ((sf.Bucketization(), Pairs()), (sf.Slicing(), Pairs()), (sf.Mondrian(), Unsearchable())):
        with pytest.raises(sf.PolicyError, match=f"^{model.name}: "):
            sf.anonymize(table, model, anonymizer=maker)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    made(place)
    described(place)
    commanded(place)
    attacked()
    strange(place)
