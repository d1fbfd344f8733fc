"""Non-homogeneous generalization: each row covers k people who stand beside each other on a ring, and none is alike.

After W. K. Wong, N. Mamoulis, D. W. L. Cheung, "Non-homogeneous generalization in privacy preserving data publishing"
(SIGMOD 2010). An experiment: no anonymizer makes such a release, and no verifier could recount it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.greedy import KMember
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.models import KAnonymity
from sfumato.numbers import figure, percent
from sfumato.papers.datasets import EIGHT, complete_adult
from sfumato.papers.reproduction import Claim, Panel, Reproduction, Setting, curve_of, lies_below, run_all
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema

Points = NDArray[np.float64]
"""Records (n, q): the place in [0, 1] of a number, the code of a category."""

Ring = NDArray[np.int64]
"""People in the order in which they stand: row j covers those from place j on, k of them."""

_TITLE = "Non-homogeneous generalization (Wong, Mamoulis, Cheung, SIGMOD 2010): rings beside classes"
_SENSITIVE = "occupation"
_QUASI = tuple(name for name in EIGHT if name != _SENSITIVE)
_KS, _RECORDS, _TIMES = (2, 5, 10, 20), 5_000, (2, 4)
_CLASSES = ("k-member", "mondrian")
_NOTES = (
    "A ring is a class of k-member with two or four times k people or more. Each lies beside the one nearest to it. "
    "Row j covers the k people from place j on, and has the sensitive value of one of them. That one is the same "
    "number of places further on for all rows of a ring, drawn at random.",
    "The paper draws one of many matchings instead of one of k. Chances are then equal only if all "
    "matchings are counted. Whoever knows one person still learns of the others.",
    "Losses are those of tight ranges and sets. Who knows one person knows the sensitive value of somebody of each "
    "ring, drawn at random. He also knows all quasi-identifying values, and the algorithm.",
)


def rings(setting: Setting) -> Reproduction:
    """Publish Adult in classes and on rings at each k, and count what stays hidden."""
    frame, source = complete_adult(setting.data, 300 if setting.quick else _RECORDS)
    ks = _KS[:2] if setting.quick else _KS
    table = encode(read_table(frame, Schema(quasi_identifying=list(_QUASI), sensitive=[_SENSITIVE], others="drop")))
    jobs = [partial(_published, table, k, times, setting.seed) for k in ks for times in (0, 1, *_TIMES)]
    results = run_all(jobs, setting, "rings")
    data = f"{source}; {len(_QUASI)} quasi-identifying attributes without hierarchies, {_SENSITIVE} sensitive"
    return Reproduction("rings", _TITLE, (data,), {"results": results}, claims_of(results), _PANELS, _NOTES)


def _published(table: EncodedTable, k: int, times: int, seed: int) -> dict[str, Any]:
    """Make classes of k people, by Mondrian for 0 times, or rings inside classes of `times` k, and count the hidden."""
    way: Anonymizer = KMember() if times else Mondrian()
    rings_here = times > 1
    solved = way.solve(Problem(table, [KAnonymity(k * max(1, times))], seed=seed))
    points, values = points_of(table), table.sensitive_codes[:, 0]
    loss, found, others = 0.0, 0.0, 0
    people, alike = list[int](), list[int]()
    for number in range(int(solved.class_of.max()) + 1):
        members = np.flatnonzero(solved.class_of == number)
        ring = ring_of(members, points, sizes_of(table)) if rings_here else members
        rows = covered_rows(ring, k if rings_here else len(ring))
        costs = costs_of(points[rows], sizes_of(table))
        loss += float(costs.sum())
        found += found_beside_one(values[ring], rows.shape[1]) if rings_here else 0.0
        others += len(ring) - 1
        people.append(rows.shape[1])
        alike.append(fewest_alike(points[rows], sizes_of(table)))
    return {
        "method": f"ring (classes of {times} k)" if rings_here else _CLASSES[1 - times],
        "k": k,
        "percentage": 100 * loss / (table.height * len(_QUASI)),
        "fewest_people": min(people),
        "fewest_alike": min(alike),
        "others_found": found / others,
    }


def points_of(table: EncodedTable) -> Points:
    """Return numbers as shares of their range, and categories as codes."""
    columns = [
        table.codes[:, place] if attribute.numbers is None else _shares(attribute.numbers[table.codes[:, place]])
        for place, attribute in enumerate(table.attributes)
    ]
    return np.column_stack(columns).astype(np.float64)


def _shares(numbers: Points) -> Points:
    shares: Points = (numbers - numbers.min()) / max(float(np.ptp(numbers)), 1e-300)
    return shares


def sizes_of(table: EncodedTable) -> tuple[int, ...]:
    """Return how many values each category has, 0 for numbers."""
    return tuple(attribute.size if attribute.numbers is None else 0 for attribute in table.attributes)


def costs_of(covered: Points, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the NCP of rows that cover (m, k, q) records, summed over attributes."""
    costs = np.zeros(len(covered))
    for place, size in enumerate(sizes):
        own = np.sort(covered[:, :, place], axis=1)
        if size:
            different = (np.diff(own, axis=1) > 0).sum(axis=1)
            costs += np.where(different, different + 1, 0) / size
        else:
            costs += own[:, -1] - own[:, 0]
    return costs


def covered_rows(ring: Ring, k: int) -> NDArray[np.int64]:
    """Return whom each row covers: the k people from its place on."""
    rows: NDArray[np.int64] = ring[(np.arange(len(ring))[:, None] + np.arange(k)) % len(ring)]
    return rows


def ring_of(members: Ring, points: Points, sizes: tuple[int, ...]) -> Ring:
    """Put people in a row, each beside the nearest who does not stand yet; the first of equally near ones."""
    left, ring = list(members[1:]), [members[0]]
    categories = np.array([size > 0 for size in sizes])
    while left:
        apart = np.abs(points[left] - points[ring[-1]])
        distance = np.where(categories, apart > 0, apart).sum(axis=1)
        ring.append(left.pop(int(distance.argmin())))
    return np.array(ring)


def found_beside_one(values: NDArray[np.integer], k: int) -> float:
    """Return how many others are found who stand on a ring with somebody whose sensitive value is known, on average.

    Row j has the value of the person `shift` places on, one of k. Who knows somebody's value, and all rows, leaves the
    shifts out under which that person's row would have another value. If one is left, everybody's row is known.
    """
    size = len(values)
    found = 0
    for shift in range(k):
        shown = values[(np.arange(size) + shift) % size]
        for person in range(size):
            fitting = sum(shown[(person - other) % size] == values[person] for other in range(k))
            found += (size - 1) * (fitting == 1)
    return found / (k * size)


def fewest_alike(covered: Points, sizes: tuple[int, ...]) -> int:
    """Return how many rows are alike at least: what a recipient can count."""
    shown = [
        tuple(
            tuple(np.unique(own[:, place])) if size else (own[:, place].min(), own[:, place].max())
            for place, size in enumerate(sizes)
        )
        for own in covered
    ]
    return min(map(shown.count, shown))


def claims_of(results: pl.DataFrame) -> tuple[Claim, ...]:
    """Judge what is promised of rings, and what a recipient and an attacker make of them."""
    losses = {
        name: curve_of(results, "k", "percentage", method=name)
        for name in results["method"].unique(maintain_order=True)
    }
    own, plain = (losses.pop(name) for name in _CLASSES)
    others = results.filter(~pl.col("method").is_in(_CLASSES))
    best: Mapping[float, float] = {k: min(curve[k] for curve in losses.values()) for k in own}
    alike, found = min(others["fewest_alike"].to_list()), others["others_found"].to_list()
    return (
        Claim.judged(
            "Rings lose less than Mondrian's classes at the same k", "abstract", lies_below(best, [plain]),
            _times(best, plain),
        ),
        Claim.judged(
            "Rings lose less than refined classes of k-member at the same k", "asked here", lies_below(best, [own]),
            _times(best, own),
        ),
        Claim.judged(
            "Every row covers k people, and every person is covered by k rows", "section 3",
            bool((others["fewest_people"] >= others["k"]).all()), "counted on every ring",
        ),
        Claim.judged(
            "A recipient can recount k from the rows alone", "asked here",
            bool((others["fewest_alike"] >= others["k"]).all()),
            f"at worst {alike} row is like none but itself" if alike == 1 else f"at worst {alike} rows are alike",
        ),
        Claim.judged(
            "Who knows the value of one person of a ring finds no other's row", "asked here", not any(found),
            f"{percent(min(found), 3)} to {percent(max(found), 3)} of the others are found; in classes nobody is",
        ),
    )  # fmt: skip


def _times(best: Mapping[float, float], classes: Mapping[float, float]) -> str:
    times = [best[k] / classes[k] for k in classes]
    return f"the better ring loses {figure(min(times), 3)} to {figure(max(times), 3)} times as much"


_PANELS = (
    Panel(
        "loss", "NCP in percent against k", "results", "k", "percentage",
        ("k (people who fit each row)", "NCP (% of its largest value)"),
    ),
    Panel(
        "known", "Share of the others on a ring who are found by whoever knows one", "results", "k", "others_found",
        ("k (people who fit each row)", "share of the others who are found"),
    ),
)  # fmt: skip
