"""Every claim of every paper can hold, and can fail; what was not measured cannot be decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import pytest

from sfumato.papers import caat, ratings, similarity, slicing, soccer
from sfumato.papers.reproduction import Claim, Verdict, agreed, beside_paper, lies_below, rises

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN


def verdict(claims: Sequence[Claim], part: str) -> Verdict:
    (found,) = [claim for claim in claims if part in claim.text]
    assert found.numbers
    return found.there or found.verdict


@pytest.mark.parametrize(
    ("curve", "slack", "expected"),
    [
        ({2: 1.0, 5: 2.0}, 0, True),
        ({2: 2.0, 5: 1.0}, 0, False),
        ({2: 1.0, 5: 1.0}, 0, False),
        ({2: 1.0, 3: 0.95, 5: 2.0}, 0, False),
        ({2: 1.0, 3: 0.95, 5: 2.0}, 0.1, True),
        ({2: 1.0}, 0, None),
    ],
)
def test_rises(curve, slack, expected):
    assert rises(curve, slack=slack) is expected


def test_lies_below():
    assert lies_below({1: 1.0, 2: 2.0}, [{1: 2.0, 2: 3.0}, {2: 2.5}]) is True
    assert lies_below({1: 1.0, 2: 2.0}, [{1: 2.0, 2: 2.0}]) is False
    assert lies_below({1: 1.0}, [{2: 2.0}]) is None


def test_agreed():
    assert agreed([True, True]) is True
    assert agreed([True, None]) is None
    assert agreed([None, False]) is False
    assert agreed([]) is None


def test_beside():
    assert (
        beside_paper({2: 1.0, 5: 4.0}, {2: 2.0, 5: 3.0, 9: 1.0}, "k") == "lower with 1 of 2 k: 2: 1 for 2; 5: 4 for 3"
    )
    assert beside_paper({}, {2: 2.0}, "k") == "nothing was run"


# ---------------------------------------------------------------------------------------------------- similarity

LOSSES = {
    "sbc": {2: 0.01, 10: 0.05, 20: 0.06, 100: 0.1},
    "mondrian (median)": {2: 0.3, 10: 0.31, 20: 0.32, 100: 0.35},
    "mondrian (median+fallback)": {2: 0.02, 10: 0.06, 20: 0.07, 100: 0.2},
    "datafly": {2: 0.2, 10: 0.3, 20: 0.4, 100: 0.5},
    "incognito": {2: 0.5, 10: 0.7, 20: 0.4, 100: 0.5},
}
CLASSES = {"sbc": 600, "mondrian (median)": 500, "mondrian (median+fallback)": 550, "datafly": 9, "incognito": 9}


def thesis(
    change: Callable[[dict[str, dict[int, float]]], object] = lambda losses: None, **classes: int
) -> list[Claim]:
    losses = {method: dict(curve) for method, curve in LOSSES.items()}
    change(losses)
    counts = {**CLASSES, **classes}
    rows = [
        {"data": "Adult", "method": method, "k": k, "loss": loss, "classes": counts[method]}
        for method, curve in losses.items()
        for k, loss in curve.items()
    ]
    return list(similarity.claims_of(pl.DataFrame(rows)))


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("less than 20%", lambda losses: losses["sbc"].update({100: 0.2})),
        ("less than Mondrian, Datafly", lambda losses: losses["datafly"].update({2: 0.005})),
        ("may cut below the median", lambda losses: losses["mondrian (median+fallback)"].update({20: 0.06})),
        ("SBC rises", lambda losses: losses["sbc"].update({20: 0.04})),
        ("hardly changes", lambda losses: losses["mondrian (median)"].update({100: 0.41})),
        ("k = 20 than at k = 10", lambda losses: losses["incognito"].update({20: 0.7})),
    ],
)
def test_the_thesis_on_losses(part, change):
    assert verdict(thesis(), part) is HOLDS
    assert verdict(thesis(change), part) is FAILS


def test_the_thesis_on_classes():
    assert verdict(thesis(), "more classes") is HOLDS
    assert verdict(thesis(datafly=600), "more classes") is FAILS


def test_the_thesis_without_the_values_of_k():
    assert verdict(thesis(lambda losses: losses["incognito"].pop(20)), "k = 20 than at k = 10") is OPEN
    assert verdict(thesis(), "sbc makes as many") is OPEN


def test_the_printed_counts():
    rows = [
        {"data": data, "method": method, "k": k, "loss": 0.1, "classes": count}
        for data, methods in similarity.PRINTED_CLASSES.items()
        for method, counts in methods.items()
        for k, count in counts.items()
    ]
    frame = pl.DataFrame(rows)
    claims = similarity.claims_of(frame)
    assert [c.verdict for c in claims if "makes as many" in c.text] == [HOLDS] * 4 + [OPEN] * 4
    other = similarity.claims_of(frame.with_columns(pl.col("classes") + 1))
    assert [c.verdict for c in other if "makes as many" in c.text] == [FAILS] * 4 + [OPEN] * 4


# -------------------------------------------------------------------------------------------------------- soccer

COSTS = {
    "mondrian (strict)": {2: (900.0, 0.01), 6: (3000.0, 0.1), 20: (9000.0, 0.2)},
    "mondrian (relaxed)": {2: (800.0, 0.03), 6: (2900.0, 0.2), 20: (9100.0, 0.3)},
    "k-means": {2: (600.0, 0.02), 6: (2800.0, 0.15), 20: (9200.0, 0.25)},
}
QUARTERS = [("k-means", "records", 3), ("k-means", "players", 0)]
ATTACKS = [("names removed", 0.9, 0.1), ("mondrian (strict)", 0.0, 0.0), ("k-means", 0.0, 0.0)]


def played(
    *changes: tuple[str, int, tuple[float, float]],
    attacks: Sequence[tuple[str, float, float]] = ATTACKS,
    quarters: Sequence[tuple[str, str, int]] = QUARTERS,
) -> list[Claim]:
    costs = {method: dict(curve) for method, curve in COSTS.items()}
    for method, k, cost in changes:
        costs[method][k] = cost
    rows = [
        {"method": method, "k": k, "discernibility": dm, "loss": loss}
        for method, curve in costs.items()
        for k, (dm, loss) in curve.items()
    ]
    shares = dict.fromkeys(("reidentified", "certainty", "strangers"), pl.Float64)
    schema = {"published": pl.String, **shares, "people": pl.Int64}
    rows_told = [(name, share, share, chance, 60) for name, share, chance in attacks]
    told = pl.DataFrame(rows_told, schema=schema, orient="row")
    classes = pl.DataFrame(
        [
            {"method": method, "counted": counted, "classes": 9, "too_few": few, "alone": 1, "surest": 0.6, "loss": 0.1}
            for method, counted, few in quarters
        ]
    )
    return list(soccer.claims_of(pl.DataFrame(rows), told, classes))


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("DM rises", [("k-means", 20, (500.0, 0.25))]),
        ("NCP rises", [("k-means", 20, (9200.0, 0.01))]),
        ("lower DM", [("k-means", 6, (2950.0, 0.15))]),
        ("comes close", [("k-means", 20, (29_200.0, 0.25))]),
        ("Strict Mondrian has a lower NCP", [("k-means", 2, (600.0, 0.005))]),
    ],
)
def test_the_soccer_paper(part, changes):
    assert verdict(played(), part) is HOLDS
    assert verdict(played(*changes), part) is FAILS


def test_the_soccer_paper_on_plateaus():
    assert verdict(played(), "neighbouring k") is FAILS
    assert verdict(played(("mondrian (relaxed)", 6, (2900.0, 0.3))), "neighbouring k") is HOLDS


def test_the_soccer_paper_on_attacks():
    assert verdict(played(), "only names removed") is HOLDS
    assert verdict(played(), "no player can be linked") is HOLDS
    other = played(attacks=[("names removed", 0.0, 0.0), ("k-means", 0.1, 0.0)])
    assert verdict(other, "only names removed") is FAILS
    assert verdict(other, "no player can be linked") is FAILS
    assert verdict(played(attacks=[("names removed", 0.3, 0.3)]), "only names removed") is FAILS
    assert verdict(played(attacks=[("names removed", 0.35, 0.3)]), "only names removed") is OPEN
    none = played(attacks=[])
    assert verdict(none, "only names removed") is OPEN
    assert verdict(none, "no player can be linked") is OPEN


def test_the_soccer_paper_on_players_of_several_quarters():
    assert verdict(played(), "5 records in a class") is FAILS
    assert verdict(played(), "5 players in a class") is HOLDS
    assert verdict(played(quarters=[("k-means", "players", 1)]), "5 players in a class") is FAILS
    assert verdict(played(quarters=[]), "5 records in a class") is OPEN


# ---------------------------------------------------------------------------------------------------------- caat


def raced(own: float, other: float, plain: tuple[int, int, int, int] = (10, 20, 30, 40)) -> list[Claim]:
    rows = [
        {
            "method": method,
            "k": k,
            "attributes": count,
            "seconds": seconds * count * (k if method == "caat" else 10 * k),
            "looked": seconds * count,
            "plain_least": least,
            "plain_most": most,
            "loss": 0.2,
        }
        for method, seconds, least, most in (("caat", own, *plain[:2]), ("kaca", other, *plain[2:]))
        for k in (3, 6)
        for count in (2, 8)
    ]
    return list(caat.claims_of(pl.DataFrame(rows)))


@pytest.mark.parametrize("k", [3, 6])
def test_caat_against_kaca(k):
    for part in (f"k = {k}: CAAT takes less time", f"k = {k}: the same by distances that the pruned"):
        assert verdict(raced(1, 2), part) is HOLDS
        assert verdict(raced(20, 1), part) is FAILS
    part = f"k = {k}: the same by the distances that the algorithms as printed"
    assert verdict(raced(1, 2, (10, 20, 30, 40)), part) is HOLDS
    assert verdict(raced(1, 2, (10, 35, 30, 40)), part) is OPEN
    assert verdict(raced(1, 2, (50, 60, 30, 40)), part) is FAILS


def test_caat_rises():
    assert verdict(raced(1, 2), "k = 3: the time of both rises") is HOLDS
    assert verdict(raced(1, -2), "k = 3: the time of both rises") is FAILS
    assert verdict(raced(1, 2), "rises with k") is HOLDS
    assert verdict(raced(1, -2), "rises with k") is FAILS
    assert verdict(raced(1, 2), "information loss") is OPEN


# ------------------------------------------------------------------------------------------------------- ratings

GROUPS = [("t1", 1, 0.0), ("t2", 2, 0.0), ("t3", 2, 0.0), ("t4", 2, 2.0), ("t5", 2, 2.0)]


def asked(
    slicing_sizes: Sequence[int] = (10, 20),
    slicing_widths: Sequence[int] = (30, 20, 40),
    trimming: int = 0,
    groups: Sequence[tuple[str, int, float]] = GROUPS,
) -> list[Claim]:
    by_size = [
        {"data": data, "method": method, "percent": percent, "evaluations": cost, "trimming": trimming}
        for data in (ratings.SPARSE, ratings.DENSE)
        for method, costs in (("slicing", slicing_sizes), ("pairwise", (50, 100)))
        for percent, cost in zip((50, 100), costs, strict=True)
    ]
    by_epsilon = [
        {"data": data, "method": method, "epsilon": float(epsilon), "evaluations": cost, "trimming": trimming}
        for data in (ratings.SPARSE, ratings.DENSE)
        for method, costs in (("slicing", slicing_widths), ("pairwise", (50, 50, 50)))
        for epsilon, cost in zip((1, 2, 3), costs, strict=True)
    ]
    told = pl.DataFrame(groups, schema=["who", "around", "spread"], orient="row")
    return list(ratings.claims_of(pl.DataFrame(by_size), pl.DataFrame(by_epsilon), told))


@pytest.mark.parametrize(
    ("part", "changed"),
    [
        ("films: the cost of deciding rises", {"slicing_sizes": (20, 10)}),
        ("films: slicing costs less than pairwise at every size", {"slicing_sizes": (120, 170)}),
        ("films: the gap", {"slicing_sizes": (1, 60)}),
        ("films: the cost of slicing falls", {"slicing_widths": (10, 20, 40)}),
        ("films: slicing costs less than pairwise at every ε", {"slicing_widths": (10, 20, 160)}),
        ("Table 1: t1 is unique", {"groups": [("t1", 2, 0.0), *GROUPS[1:]]}),
        ("Table 1: the sensitive ratings", {"groups": [*GROUPS[:4], ("t5", 2, 0.0)]}),
    ],
)
def test_the_ratings_paper(part, changed):
    assert verdict(asked(), part) is HOLDS
    assert verdict(asked(**changed), part) is FAILS
    assert verdict(asked(), "Netflix") is OPEN


def test_what_hangs_on_how_pairs_are_counted_is_open():
    for part in (
        "films: slicing costs less than pairwise at every size",
        "films: slicing costs less than pairwise at every ε",
    ):
        assert verdict(asked((60, 70), (30, 20, 60)), part) is OPEN
        assert verdict(asked(trimming=45), part) is OPEN


# ------------------------------------------------------------------------------------------------------- slicing


def learnt(**changes: tuple[float, float, float, float]) -> list[Claim]:
    """Accuracy of the sensitive, of another attribute, error of counts, how surely members are told."""
    frame = figures_learnt(1, **changes)
    return list(slicing.claims_of(frame, frame))


def figures_learnt(draw: int, **changes: tuple[float, float, float, float]) -> pl.DataFrame:
    figures = {
        "slicing": (0.4, 0.5, 0.1, 0.6),
        "mondrian": (0.3, 0.4, 0.3, 0.6),
        "bucketization": (0.35, 0.6, 0.05, 0.9),
        "overlapping-slicing": (0.42, 0.5, 0.1, 0.6),
        **{name.replace("_", "-"): values for name, values in changes.items()},
    }
    names = ("accuracy_sensitive", "accuracy_quasi", "count_error", "member_auc")
    rows = [
        {"draw": draw, "method": method, "l": 2, **dict(zip(names, values, strict=True))}
        for method, values in figures.items()
    ]
    return pl.DataFrame(rows).with_columns(
        member_low=pl.col("member_auc") - 0.05, member_high=pl.col("member_auc") + 0.05, in_one_row=pl.col("member_auc")
    )


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("than generalization for learning the sensitive", {"mondrian": (0.42, 0.4, 0.3, 0.6)}),
        ("than bucketization for learning the sensitive", {"bucketization": (0.5, 0.6, 0.05, 0.9)}),
        ("than generalization for learning a quasi", {"mondrian": (0.3, 0.6, 0.3, 0.6)}),
        ("Bucketization keeps most", {"bucketization": (0.35, 0.4, 0.05, 0.9)}),
        ("answers counts better", {"mondrian": (0.3, 0.4, 0.05, 0.6)}),
        ("hides who is in the table", {"bucketization": (0.35, 0.6, 0.05, 0.45)}),
        ("OCC-7, l = 5: slicing keeps more than mondrian", {"mondrian": (0.42, 0.4, 0.3, 0.6)}),
        ("OCC-7, l = 5: slicing keeps more than bucket", {"bucketization": (0.5, 0.6, 0.05, 0.9)}),
        ("Overlapping slicing keeps more", {"overlapping_slicing": (0.42, 0.4, 0.1, 0.6)}),
    ],
)
def test_the_slicing_papers(part, change):
    assert verdict(learnt(), part) is HOLDS
    assert verdict(learnt(**change), part) is FAILS


def test_differences_that_may_be_chance_decide_nothing():
    assert verdict(learnt(mondrian=(0.395, 0.4, 0.3, 0.0)), "generalization for learning the sensitive") is OPEN
    assert verdict(learnt(overlapping_slicing=(0.405, 0.495, 0.1, 0.0)), "Overlapping") is OPEN
    assert verdict(learnt(bucketization=(0.35, 0.6, 0.05, 0.65)), "hides who is in the table") is OPEN


def test_what_draws_disagree_about_is_open():
    """Every verdict on accuracy or counts needs one direction in all draws, and a mean beyond chance."""
    usual, reversed_ = figures_learnt(1), figures_learnt(2, mondrian=(0.42, 0.52, 0.05, 0.6))
    both = pl.concat([usual, reversed_])
    for part in (
        "than generalization for learning the sensitive",
        "than generalization for learning a quasi",
        "counts better",
    ):
        assert verdict(slicing.claims_of(both, both), part) is OPEN
    agreeing = pl.concat([usual, figures_learnt(2, mondrian=(0.39, 0.4, 0.3, 0.6))])
    (claim,) = [
        each for each in slicing.claims_of(agreeing, agreeing) if "generalization for learning the sens" in each.text
    ]
    assert claim.verdict is HOLDS
    assert "+5.50% (+1.00% to +10.00% in 2 draws)" in claim.numbers


def test_what_could_not_be_published_is_open():
    nothing = (None, None, None, None)
    claims = learnt(slicing=nothing)  # type: ignore[arg-type]
    assert {claim.verdict for claim in claims} == {OPEN}
    assert verdict(learnt(overlapping_slicing=nothing), "Overlapping") is OPEN  # type: ignore[arg-type]
