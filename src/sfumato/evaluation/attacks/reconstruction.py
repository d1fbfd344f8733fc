"""Reconstruction: solve what is published for everybody's sensitive value (Dinur and Nissim, 2003).

All tables that agree with everything published are an integer program of scipy, an optional dependency. Letters: g
groups of people with equal known values, b buckets, v sensitive values, x variables: how many of a group are in a
bucket with a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.learners import usual_share
from sfumato.evaluation.attacks.original_values import (
    ExactPart,
    exact_parts,
    number_alike,
    number_part_rows,
    number_texts,
)
from sfumato.evaluation.attacks.people import nothing_shared
from sfumato.evaluation.attacks.placement import sum_by_code
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import Certainty
from sfumato.kernels.grouping import first_records
from sfumato.options import Checked, Limit
from sfumato.rates import Rate
from sfumato.table.schema import text_of


@dataclass(frozen=True)
class Reconstruction(Checked):
    """The attack that looks for what all tables have in common that agree with a release.

    Parameters
    ----------
    most
        Most variables of the integer program, 1 or more; on larger releases it is not played.

    Raises
    ------
    PolicyError
        When `most` is out of range; when scipy is not installed.

    Notes
    -----
    *Played.* The attacker knows everybody's quasi-identifying values and asks which tables of these people show all
    counts, rows and buckets that are published. Someone is told if they have one value in all of these tables. That is
    certainty: it needs no belief about how likely tables are, and no promise bounds it.

    *Scored.* Claims that are right; by guessing, everybody has the most frequent value. `one_table` is the share of the
    people who have the value that they have in the first table that was found.

    Not played if somebody is left out of the release or has several records, or if the program is larger than `most`.

    *Cost.* One integer program for each group of people with equal values, which can take exponential time: at most
    2,000 branches each; who is not settled then counts as not told.

    References
    ----------
    I. Dinur, K. Nissim, "Revealing information while preserving privacy", PODS 2003; by solvers, with exact counts:
    S. Garfinkel, J. Abowd, C. Martindale, "Understanding database reconstruction attacks on public data", 2018.
    """

    name: ClassVar[str] = "reconstruction"
    kinds: ClassVar[frozenset[str]] = frozenset({"marginal-tables", "sliced-table", "bucketized-tables"})
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)
    on_demand: ClassVar[str] = "it solves integer programs, which suits small tables; name it to play it"

    most: Annotated[int, Limit(1)] = 20_000

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        _needed()
        return tuple(self._played(target, name) for name in sensitive_of(target.published))

    def _played(self, target: Target, sensitive: str) -> AttackResult:
        pieces, people = exact_parts(target.published), target.original.frame
        shown = {name for piece in pieces for name in piece.label_of}
        names = [name for name in target.original.schema.quasi_identifying if name in shown and name in people.columns]
        if not names:
            raise nothing_shared()
        if len(np.unique(target.original.person_of)) < people.height:
            return self._unplayed(sensitive, "people have several records")
        if any(round(float(piece.records.sum())) != people.height for piece in pieces):
            return self._unplayed(sensitive, "some people are left out of the release, or of one of its tables")
        columns = [text_of(piece.frame[piece.label_of[sensitive]]) for piece in pieces if sensitive in piece.label_of]
        values, _ = number_texts(pl.concat([each.alias(sensitive) for each in columns]))
        tables = _possible_tables(pieces, people, names, sensitive, values, self.most)
        if tables is None:
            return self._unplayed(sensitive, f"the integer program has more than {self.most:,} variables")
        found = tables.certain()
        if found is None:
            return self._unplayed(sensitive, "no table was found that agrees with everything published")
        code_of = {value: code for code, value in enumerate(values)}
        truth = np.array([code_of.get(text, -1) for text in text_of(people[sensitive]).to_list()], dtype=np.int64)
        return self._scored(sensitive, truth, found[0][tables.group_of], found[1][tables.group_of], len(tables.group))

    def _scored(
        self,
        sensitive: str,
        truth: NDArray[np.int64],
        named: NDArray[np.int64],
        likeliest: NDArray[np.int64],
        variables: int,
    ) -> AttackResult:
        made, right = named >= 0, (named == truth).astype(np.float64)
        usual = usual_share(truth, np.arange(len(truth)))
        several = np.full(len(truth), len(np.unique(truth)) > 1)
        return replace(
            self._result(sensitive),
            success=Rate(float(right[made].sum()), int(made.sum()), usual),
            figures={
                "claimed": float(made.mean()),
                "one_table": float((likeliest == truth).mean()),
                "variables": float(variables),
            },
            certainty=Certainty.of(made, right, several),
        )

    def _result(self, sensitive: str) -> AttackResult:
        return AttackResult(
            attack=self.name,
            knows="everybody's quasi-identifying values, and who is in the data",
            goal=f"whose {sensitive} is the same in all tables that agree with everything published",
            success=Rate(0.0, 0, 0.0),
            helps="fewer or coarser tables, larger buckets, or noise in the counts",
        )

    def _unplayed(self, sensitive: str, why: str) -> AttackResult:
        return replace(self._result(sensitive), notes=(why,), unplayed=why)


_NODES = 2000
"""Most branches of one program; which ones are tried does not depend on the time there is."""


@dataclass(frozen=True, eq=False, repr=False)
class _PossibleTables:
    """The program whose solutions are the tables that agree: groups of people, variables, and constraints."""

    group_of: NDArray[np.int64]
    members: NDArray[np.int64]
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    wanted: NDArray[np.float64]

    def solution(self, cost: NDArray[np.float64] | None = None) -> NDArray[np.int64] | None:
        """Return the cheapest table by a cost of each variable, int64 (x,); None if none was found."""
        if not len(self.group):
            return None
        optimize, sparse = import_module("scipy.optimize"), import_module("scipy.sparse")
        shape = len(self.wanted), len(self.group)
        matrix = sparse.csr_array((np.ones(len(self.row)), (self.row, self.column)), shape=shape)
        found: Any = optimize.milp(
            np.zeros(len(self.group)) if cost is None else cost,
            integrality=np.ones(len(self.group)),
            bounds=optimize.Bounds(0, self.members[self.group]),
            constraints=optimize.LinearConstraint(matrix, self.wanted, self.wanted),
            options={"node_limit": _NODES},
        )
        return np.rint(found.x).astype(np.int64) if found.status == 0 else None

    def certain(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Find the groups with one value in every table, −1: several or too many branches; None: no table.

        One program for each group that has one value in the table that was found first.
        """
        first = self.solution()
        if first is None:
            return None
        named = np.full(len(self.members), -1, dtype=np.int64)
        width = int(self.value.max(initial=0)) + 1
        counts = sum_by_code(self.group * width + self.value, first, len(self.members) * width).reshape(-1, width)
        likeliest: NDArray[np.int64] = counts.argmax(axis=1)
        open_groups = np.flatnonzero(counts.max(axis=1) == self.members)
        for group in open_groups:
            if named[group] >= 0 or counts[group, likeliest[group]] < self.members[group]:
                continue
            mine = (self.group == group) & (self.value == likeliest[group])
            fewest = self.solution(mine.astype(np.float64))
            if fewest is None:
                continue
            if fewest[mine].sum() == self.members[group]:
                named[group] = likeliest[group]
            else:
                # Whoever has another value in this table is settled, too.
                others = sum_by_code(self.group * width + self.value, fewest, counts.size).reshape(counts.shape)
                counts = np.minimum(counts, others)
        return named, likeliest


def _needed() -> None:
    """Raise PolicyError if scipy is not installed."""
    try:
        import_module("scipy.optimize")
    except ImportError:
        raise PolicyError(
            "reconstruction: integer programs need scipy, which is not installed; install sfumato[utility], which "
            "brings it"
        ) from None


def _possible_tables(
    pieces: Sequence[ExactPart],
    people: pl.DataFrame,
    names: Sequence[str],
    sensitive: str,
    values: Sequence[str | None],
    most: int,
) -> _PossibleTables | None:
    """Set up the program; None if it has more than `most` variables, without rows that a piece does not show."""
    # Each vector of a piece in each bucket is a constraint: as many people as records.
    codes = [number_alike(people[name], people[name])[0] for name in names]
    group_of, count = group_records(np.column_stack(codes).astype(np.uint32))
    one_of = people[first_records(group_of, count).tolist()]
    buckets = 1 + max(int(piece.bucket.max(initial=0)) for piece in pieces)
    held = [_held(piece, one_of, names, sensitive, values, buckets) for piece in pieces]
    there = np.ones((count, buckets, len(values)), dtype=np.bool_) if count * buckets * len(values) <= _CELLS else None
    if there is None:
        return None
    for each in held:
        there &= each.there(count)
    group, bucket, value = np.nonzero(there)
    if len(group) > most:
        return None
    members = np.bincount(group_of, minlength=count).astype(np.int64)
    rows, columns, sums = [group.astype(np.int64)], [np.arange(len(group))], [members.astype(np.float64)]
    start = count
    for each in held:
        rows.append(start + each.cell(group, bucket, value))
        columns.append(np.arange(len(group)))
        sums.append(each.records)
        start += len(each.records)
    return _PossibleTables(
        group_of.astype(np.int64), members, group.astype(np.int64), value.astype(np.int64),
        np.concatenate(rows), np.concatenate(columns), np.concatenate(sums),
    )  # fmt: skip


_CELLS = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class _Held:
    """What a piece shows: vector of groups; how many buckets, vectors, values; records, float64, of each of these."""

    vector: NDArray[np.int64]
    buckets: int
    vectors: int
    values: int
    records: NDArray[np.float64]

    def cell(self, group: NDArray[np.int64], bucket: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
        codes = value if self.values > 1 else np.zeros_like(value)
        found: NDArray[np.int64] = (bucket * self.vectors + self.vector[group]) * self.values + codes
        return found

    def there(self, groups: int) -> NDArray[np.bool_]:
        shown = self.records.reshape(self.buckets, self.vectors, self.values) > 0
        found: NDArray[np.bool_] = shown[:, self.vector[:groups], :].transpose(1, 0, 2)
        return found


def _held(
    piece: ExactPart,
    groups: pl.DataFrame,
    names: Sequence[str],
    sensitive: str,
    values: Sequence[str | None],
    buckets: int,
) -> _Held:
    known = tuple(name for name in names if name in piece.label_of)
    rows, vector = number_part_rows(piece, groups, known)
    vectors = int(max(rows.max(initial=0), vector.max(initial=0))) + 1
    width, codes = 1, np.zeros(len(rows), dtype=np.int64)
    if sensitive in piece.label_of and len(values) > 1:
        code_of = {text: code for code, text in enumerate(values)}
        width = len(values)
        codes = np.array(
            [code_of[text] for text in piece.frame[piece.label_of[sensitive]].cast(pl.String).to_list()], dtype=np.int64
        )
    cells = (piece.bucket * vectors + rows) * width + codes
    return _Held(vector, buckets, vectors, width, sum_by_code(cells, piece.records, buckets * vectors * width))
