"""The soccer paper: DM and NCP of Mondrian and k-means by k, and the linking attack that they prevent.

The fitness table of the paper is not public. A synthetic one stands in for it, with a public page of the same players.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from sfumato.anonymizers.clustering.numeric import KMeans
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer
from sfumato.evaluation.attacks.linking_attack import linking_attack
from sfumato.models import KAnonymity
from sfumato.numbers import figure, percent
from sfumato.papers.reproduction import (
    Claim,
    Curve,
    Method,
    Panel,
    Reproduction,
    Setting,
    agreed,
    curve_of,
    ends,
    lies_below,
    rises,
    run_all,
)
from sfumato.rates import Rate
from sfumato.recoding import TIGHT
from sfumato.release.anonymize import anonymize
from sfumato.release.reports import Report
from sfumato.table.encoding import encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema

_TITLE = "k-anonymity for soccer fitness data (Mondrian and k-means)"
_KS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
_SMALL = 6
"""The k up to which "small" reaches; the paper does not say."""

_STRICT, _RELAXED, _CLUSTERS = "mondrian (strict)", "mondrian (relaxed)", "k-means"
_METHODS: Mapping[str, Anonymizer] = {
    _STRICT: Mondrian(split_rule="median", attribute_choice="widest"),
    _RELAXED: Mondrian(mode="relaxed", attribute_choice="widest", split_rule="median"),
    _CLUSTERS: KMeans(scale="none"),
}
_QUASI, _NAME, _TARGET = ("height", "weight"), "player", "vo2max"
_ATTACKED = 5
"""The k of the releases that are attacked."""

_NOTES = (
    "k-means starts at random: its figures are means over starts. The paper says nothing of how often it ran.",
    "NCP is counted from the range of the original values in a class, also for k-means, which publishes means.",
    "A player has a record in every quarter. The paper counts records. With all quarters in one table that promises "
    "little to a player, so players are counted as well.",
    "Strangers are as many other players, of whom the page tells the same. One of them who fits one record alone does "
    "so by chance.",
)


def soccer(setting: Setting) -> Reproduction:
    """Publish the stand-in with every method at every k, and attack it before and after."""
    count = 30 if setting.quick else _PLAYERS
    fitness, page = players(count, seed=setting.seed)
    table = encode(read_table(fitness.select(_QUASI), Schema(quasi_identifying=list(_QUASI))))
    ks, starts = (_KS[:3], 2) if setting.quick else (_KS, 10)
    jobs = [
        partial(_run, Method(label, way, table, table), k, setting.seed + start)
        for label, way in _METHODS.items()
        for k in ks
        for start in range(starts if label == _CLUSTERS else 1)
    ]
    runs = run_all(jobs, setting, "soccer")
    attacks = pl.DataFrame(list(_attacks(fitness, page, setting)))
    quarters = pl.DataFrame(list(_all_quarters(fitness, setting)))
    means = runs.group_by("method", "k", maintain_order=True).agg(pl.col("loss", "discernibility", "classes").mean())
    results = means.with_columns(percentage=100 * pl.col("loss"))
    label = (
        f"fitness table (SYNTHETIC stand-in for the club's, which is not public): {count} players in {len(_QUARTERS)} "
        f"quarters, {fitness.height} records, {fitness.width} attributes; height and weight are quasi-identifying"
    )
    return Reproduction(
        "soccer", _TITLE, (label,), {"results": results, "runs": runs, "attacks": attacks, "quarters": quarters},
        tuple(claim.on_a_stand_in() for claim in claims_of(results, attacks, quarters)), _PANELS, _NOTES,
    )  # fmt: skip


def claims_of(results: pl.DataFrame, attacks: pl.DataFrame, quarters: pl.DataFrame) -> tuple[Claim, ...]:
    """Judge the paper's claims; `results` has method, k, loss, discernibility, `attacks` published and shares.

    `quarters` has method, what was counted, and how many classes of all quarters hold too few players.
    """
    dm = {label: curve_of(results, "k", "discernibility", method=label) for label in _METHODS}
    ncp = {label: curve_of(results, "k", "loss", method=label) for label in _METHODS}
    return (
        _linkable(attacks),
        _all_rise("DM", "5.2, figure 2", dm),
        _smaller_at_small_k(dm),
        _converges(dm),
        _all_rise("NCP", "5.2, figure 3", ncp),
        _strict_is_best(ncp),
        _plateaus(ncp[_RELAXED]),
        _protects(attacks),
        _hides_players(quarters, "records"),
        _hides_players(quarters, "players"),
    )


def _linkable(attacks: pl.DataFrame) -> Claim:
    """Judge linking against chance: strangers, too, may fit one record alone."""
    found = {row["published"]: row for row in attacks.to_dicts()}
    before = found.get("names removed")
    text, where = "With only names removed, height and weight link players to their records", "1, figure 1"
    if before is None:
        return Claim.judged(text, where, None, "the attack was not played")
    own, strangers = (Rate(before[name] * before["people"], before["people"], 0.0) for name in _LINKED)
    apart = own.interval[0] > strangers.interval[1]
    sentence = f"{_risk_in_words(before)}; of as many strangers {percent(strangers.share, 3)} fit one record alone"
    return Claim.judged(text, where, True if apart else None if own.share > strangers.share else False, sentence)


_LINKED = ("reidentified", "strangers")


def _protects(attacks: pl.DataFrame) -> Claim:
    after = [row for row in attacks.to_dicts() if row["published"] != "names removed"]
    return Claim.judged(
        f"The last quarter published with k = {_ATTACKED}: no player can be linked to a single record",
        "abstract and 6",
        all(row["reidentified"] == 0 for row in after) if after else None,
        "; ".join(f"{row['published']}: {_risk_in_words(row)}" for row in after) or "the attack was not played",
    )


def _hides_players(quarters: pl.DataFrame, counted: str) -> Claim:
    """Judge what the paper means by k-anonymity on its whole table, in which a player has a record in every quarter."""
    rows = quarters.filter(pl.col("counted") == counted).to_dicts() if quarters.height else []
    return Claim.judged(
        f"All quarters published with k = {_ATTACKED} {counted} in a class: every class holds {_ATTACKED} players",
        "abstract and 6, read as a promise to players",
        all(row["too_few"] == 0 for row in rows) if rows else None,
        "; ".join(
            f"{row['method']}: {row['too_few']} of {row['classes']} classes have fewer, {row['alone']} of them one "
            f"player, somebody has {percent(row['surest'], 3)} of a class's records, NCP {percent(row['loss'], 3)}"
            for row in rows
        )
        or "nothing was published",
    )


def _risk_in_words(row: Mapping[str, Any]) -> str:
    return f"{percent(row['reidentified'], 3)} re-identified, average certainty {percent(row['certainty'], 3)}"


def _all_rise(name: str, where: str, curves: Mapping[str, Curve]) -> Claim:
    """Judge a rise: small falls between neighbours, up to a tenth of the whole rise, are noise of random starts."""
    return Claim.judged(
        f"{name} rises with k for every method",
        where,
        agreed([rises(curve, slack=0.1) for curve in curves.values()]),
        "; ".join(f"{label} {ends(curve)}" for label, curve in curves.items() if curve),
    )


def _smaller_at_small_k(dm: Mapping[str, Curve]) -> Claim:
    small = {label: {k: cost for k, cost in curve.items() if k <= _SMALL} for label, curve in dm.items()}
    sentences = [
        f"k = {figure(k)}: {figure(small[_CLUSTERS][k], 4)} for {figure(small[_STRICT][k], 4)} (strict) and "
        f"{figure(small[_RELAXED][k], 4)} (relaxed)"
        for k in small[_CLUSTERS]
        if k in small[_STRICT] and k in small[_RELAXED]
    ]
    return Claim.judged(
        f"k-means has a lower DM than Mondrian for small k (up to {_SMALL})",
        "5.2, figure 2",
        lies_below(small[_CLUSTERS], [small[_STRICT], small[_RELAXED]]),
        "; ".join(sentences) or "no k was run with all",
    )


def _converges(dm: Mapping[str, Curve]) -> Claim:
    """Judge convergence: the ratio of the DM of k-means to that of strict Mondrian comes nearer to 1."""
    shared = sorted({*dm[_CLUSTERS]} & {*dm[_STRICT]})
    if len(shared) < 2:
        return Claim.judged("The DM of k-means comes close to Mondrian's as k grows", "5.2", None, "too few k")
    first, last = (dm[_CLUSTERS][k] / dm[_STRICT][k] for k in (shared[0], shared[-1]))
    return Claim.judged(
        "The DM of k-means comes close to Mondrian's as k grows",
        "5.2, figure 2",
        abs(last - 1) < abs(first - 1),
        f"k-means ÷ strict Mondrian: {figure(first, 3)} at k = {figure(shared[0])}, {figure(last, 3)} at k = "
        f"{figure(shared[-1])}",
    )


def _strict_is_best(ncp: Mapping[str, Curve]) -> Claim:
    return Claim.judged(
        "Strict Mondrian has a lower NCP than relaxed Mondrian and k-means",
        "5.2, figure 3",
        lies_below(ncp[_STRICT], [ncp[_RELAXED], ncp[_CLUSTERS]]),
        "; ".join(f"{label} {ends(curve)}" for label, curve in ncp.items() if curve),
    )


def _plateaus(relaxed: Curve) -> Claim:
    equal = [(one, other) for one, other in pairwise(sorted(relaxed)) if relaxed[one] == relaxed[other]]
    pairs = ", ".join(f"{figure(one)} and {figure(other)}" for one, other in equal)
    return Claim.judged(
        "Relaxed Mondrian has the same NCP for some neighbouring k",
        "5.2, figure 3",
        bool(equal) if len(relaxed) > 1 else None,
        f"the same at k = {pairs}" if equal else "it differs at all k that were run",
    )


def _run(method: Method, k: int, seed: int) -> dict[str, Any]:
    return {**method.run(k, seed), "seed": seed}


def _attacks(fitness: pl.DataFrame, page: pl.DataFrame, setting: Setting) -> Iterator[dict[str, Any]]:
    """Attack the last quarter, whose heights and weights are on the page, before and after publishing."""
    last = fitness.filter(pl.col("quarter") == _QUARTERS[-1]).drop("quarter")
    rest: Sequence[str] = ["position", *(name for name in MEASUREMENTS if name != _TARGET)]
    schema = Schema(identifying=[_NAME], quasi_identifying=list(_QUASI), sensitive=[_TARGET], insensitive=list(rest))
    published = {"names removed": last.drop(_NAME)}
    for label, way in _METHODS.items():
        table = read_table(last, schema)
        release = anonymize(table, KAnonymity(_ATTACKED), anonymizer=way, recoding=TIGHT, seed=setting.seed)
        published[label] = release.data
    _, strangers = players(page.height, seed=setting.seed + 1)
    strangers = strangers.with_columns(pl.lit("stranger ") + pl.col(_NAME))
    for label, frame in published.items():
        result = linking_attack(frame, page, schema, truth=last)
        by_chance = linking_attack(frame, strangers, schema, truth=last)
        yield {
            "published": label,
            "reidentified": result.reidentified.share,
            "certainty": result.certainty.share,
            "strangers": by_chance.singled_out / by_chance.people,
            "people": result.reidentified.people,
        }


def _all_quarters(fitness: pl.DataFrame, setting: Setting) -> Iterator[dict[str, Any]]:
    """Publish all quarters, counting records as the paper does, and counting players."""
    numbered = fitness.select(_NAME, *_QUASI).with_row_index("row")
    for label, way in _METHODS.items():
        for counted, person in (("records", None), ("players", _NAME)):
            schema = Schema(quasi_identifying=list(_QUASI), insensitive=["row"], person=person, others="drop")
            release = anonymize(
                read_table(numbered, schema), KAnonymity(_ATTACKED), anonymizer=way, recoding=TIGHT, seed=setting.seed
            )
            who = release.data.join(numbered.select("row", _NAME), on="row")
            classes = who.group_by(_QUASI).agg(pl.col(_NAME).n_unique(), _surest=_largest_share(_NAME))
            sizes = classes[_NAME]
            assert isinstance(release.report, Report)
            yield {
                "method": label,
                "counted": counted,
                "classes": len(sizes),
                "too_few": int((sizes < _ATTACKED).sum()),
                "alone": int((sizes == 1).sum()),
                "surest": float(classes["_surest"].max()),  # type: ignore[arg-type]
                "loss": release.report.losses.normalized_ncp,
            }


def _largest_share(name: str) -> pl.Expr:
    """Return the largest share that one value of a column has in a group."""
    return pl.col(name).value_counts().struct.field("count").max() / pl.len()


_PANELS = (
    Panel(
        "dm", "DM against k (figure 2)", "results", "k", "discernibility",
        ("k (records of a class at least)", "DM (records²)"),
    ),
    Panel(
        "ncp", "NCP in percent against k (figure 3)", "results", "k", "percentage",
        ("k (records of a class at least)", "NCP (% of its largest value)"),
    ),
)  # fmt: skip


_PLAYERS = 60
_QUARTERS = ("2016 Q2", "2016 Q3", "2016 Q4", "2017 Q1", "2017 Q2")

# Position, share of the players, mean height (cm), kilograms more than height leads one to expect.
_POSITIONS = (("goalkeeper", 3, 188, 2), ("defender", 8, 183, 1), ("midfielder", 8, 177, -1), ("forward", 6, 181, 0))

# Measurement, mean, standard deviation, decimals.
_MEASUREMENTS = (
    ("body_fat", 9.5, 1.8, 1),
    ("vo2max", 58.0, 4.0, 1),
    ("sprint_30m", 4.15, 0.14, 2),
    ("jump", 45.0, 5.0, 0),
    ("yoyo_test", 2200.0, 260.0, 0),
    ("hamstring_ratio", 0.62, 0.06, 2),
    ("resting_pulse", 52.0, 5.0, 0),
)
MEASUREMENTS = tuple(name for name, *_ in _MEASUREMENTS)


def players(count: int = _PLAYERS, *, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make five quarters of fitness data with 12 attributes, and a public page about the players.

    `count`: players, each measured in every quarter. `seed`: the same seed gives the same tables. Returns: the fitness
    table: player (a pseudonym), position, quarter, height (cm), weight (kg), and seven measurements; and the page:
    player, height, weight in the last quarter.
    """
    drawn = np.random.default_rng(seed)
    shares = np.array([share for _, share, *_ in _POSITIONS], dtype=float)
    position = drawn.choice(len(_POSITIONS), count, p=shares / shares.sum())
    height = np.round(drawn.normal(np.array([tall for *_, tall, _ in _POSITIONS])[position], 4.5))
    build = np.array([heavy for *_, heavy in _POSITIONS])[position]
    weight = 22.5 * (height / 100) ** 2 + build + drawn.normal(0, 3.5, count)
    form = drawn.normal(size=(count, len(_MEASUREMENTS)))
    parts = []
    for quarter in _QUARTERS:
        weight = weight + drawn.normal(0, 0.7, count)
        form = 0.8 * form + 0.6 * drawn.normal(size=form.shape)
        parts.append(
            pl.DataFrame(
                {
                    "player": [f"player {number:03}" for number in range(1, count + 1)],
                    "position": pl.Series([name for name, *_ in _POSITIONS]).gather(position),
                    "quarter": [quarter] * count,
                    "height": height.astype(np.int64),
                    "weight": np.round(weight, 1),
                    **{
                        name: np.round(mean + spread * form[:, place], decimals)
                        for place, (name, mean, spread, decimals) in enumerate(_MEASUREMENTS)
                    },
                }
            )
        )
    page = parts[-1].select("player", "height", "weight")
    return pl.concat(parts), page
