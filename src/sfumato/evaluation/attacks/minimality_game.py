"""What a minimality attack is played on: the records in sure classes, as the algorithm sees them, and their worlds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.peoples_worlds import (
    Bundles,
    bundled_count,
    every_bundled_world,
    people_cells,
    random_bundled_worlds,
)
from sfumato.evaluation.attacks.placing import Placement
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.rerunning import Behind, Solver, rerun
from sfumato.evaluation.attacks.world_tally import Cells
from sfumato.evaluation.attacks.worlds import cells_of, every_world, random_worlds, survivors, world_count
from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import counted
from sfumato.published import PublishedTable
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.people_behind import carried
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.exact_names import exactly
from sfumato.table.kinds import text_of

MOST_CELLS = 1 << 25
"""Most beliefs that are kept at a time: people by values of a class."""


@dataclass(frozen=True, eq=False, repr=False)
class Game:
    """The records in sure classes, as the algorithm sees them.

    Attributes
    ----------
    solver : Solver
    problem : Problem
        Of these n records.
    behind : Behind or None
        The people behind them; None where promises are about records, each of which is taken for a person.
    classes : numpy.ndarray
        int32 (n,): their classes, numbered from 0 again.
    count : int
        Number of these classes.
    everybody : int
        People in the original, or records where each is taken for one.
    bundled : bool
        Whether a reader sees which rows of a class are of one person.
    notes : tuple of str
    """

    solver: Solver
    problem: Problem
    behind: Behind | None
    classes: NDArray[np.int32]
    count: int
    everybody: int
    bundled: bool
    notes: tuple[str, ...]

    @property
    def records(self) -> int:
        """Number of records n."""
        return len(self.classes)

    @property
    def sensitive(self) -> NDArray[np.unsignedinteger]:
        """Sensitive codes, (n, s)."""
        return self.problem.table.sensitive_codes

    @cached_property
    def bundles(self) -> Bundles:
        """The records of each person in each class."""
        assert self.behind is not None
        owner = np.unique(self.behind.numbers, return_inverse=True)[1].ravel()
        return Bundles.of(self.classes, owner, self.bundled)

    def cells(self, values: NDArray[np.int64]) -> Cells | None:
        """Set up what is believed of a sensitive attribute; None if that is too much to keep.

        values : int64 (n,).
        """
        codes, width = self.problem.table.codes, int(values.max()) + 1
        if self.behind is not None:
            return people_cells(self.bundles, codes, values) if len(self.bundles.sizes) * width <= MOST_CELLS else None
        cells = cells_of(self.classes, codes, values, width)
        return cells if len(cells.members) * cells.width <= MOST_CELLS else None

    def every_world(self, most: int) -> Iterator[NDArray[np.int64]] | None:
        """Return all worlds, or None if there are more than `most`."""
        kinds = np.unique(self.sensitive, axis=0, return_inverse=True)[1].ravel()
        if self.bundled:
            few = bundled_count(self.bundles, kinds, most) <= most
            return every_bundled_world(self.bundles, kinds) if few else None
        joint = cells_of(self.classes, np.zeros((len(kinds), 1), dtype=np.int64), kinds, int(kinds.max()) + 1)
        return every_world(self.classes, kinds) if world_count(joint, most) <= most else None

    def random_worlds(self, worlds: int, seed: int | None) -> Iterator[NDArray[np.int64]]:
        """Draw worlds."""
        generator = np.random.default_rng(seed)
        if self.bundled:
            return random_bundled_worlds(self.bundles, worlds, generator)
        return random_worlds(self.classes, worlds, generator)

    def comes_back(self, world: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Run the algorithm in a world, or in the true one if None; tell which classes it reproduces, bool (c,)."""
        problem, behind = self.problem, self.behind
        if world is not None:
            table = replace(problem.table, sensitive_codes=np.ascontiguousarray(self.sensitive[world]))
            problem = replace(problem, table=table)
            behind = None if behind is None else behind.exchanged(world)
        again = rerun(self.solver, problem, behind)
        if again is None:
            return np.zeros(self.count, dtype=np.bool_)
        return survivors(self.classes, self.count, again)


def game_of(
    published: PublishedTable,
    placement: Placement,
    solver: Solver,
    models: Sequence[PrivacyModel],
    target: Target,
) -> Game:
    """Find the records that are in sure classes, and set up what the algorithm is run on.

    Raises
    ------
    PolicyError
        When promises are about people, and the original does not say who they are.
    """
    table = encode(target.original)
    problem = Problem(table, models, seed=target.seed, threads=target.threads)
    behind = _behind(target, table)
    granted = _granted(published, rerun(solver, problem, behind), table, target.recoding)
    placed, sure = (placement.class_of, placement.filled) if granted is None else granted
    rows = np.flatnonzero((placed >= 0) & sure[np.maximum(placed, 0)])
    number = (np.cumsum(sure) - 1).astype(np.int32)
    left_out = table.height - len(rows)
    chosen = replace(
        table,
        codes=np.ascontiguousarray(table.codes[rows]),
        sensitive_codes=np.ascontiguousarray(table.sensitive_codes[rows]),
    )
    return Game(
        solver,
        replace(problem, table=chosen),
        None if behind is None else behind.take(rows),
        number[placed[rows]],
        int(sure.sum()),
        table.height if behind is None else int(target.original.person_of.max()) + 1,
        behind is not None and published.pseudonyms is not None,
        (f"{counted(left_out, 'record')} of no sure class left out",) if left_out else (),
    )


def _behind(target: Target, table: EncodedTable) -> Behind | None:
    """Return who the records are about; None where promises are about records, or everybody has one."""
    people = target.original.people
    if not target.rows.promised:
        return None
    if people is None:
        raise PolicyError(
            "minimality: the release promises something to people, and the original does not say who they are; read it "
            "with its person column"
        )
    if len(np.unique(people)) == len(people):
        return None
    return Behind(people, target.rows.together, carried(table, target.original))


def _granted(
    published: PublishedTable, partition: Partition | None, table: EncodedTable, recoding: Recoding
) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
    """Return everybody's class if the algorithm makes exactly the published classes from the original, else None.

    Published values may overlap, so labels alone do not identify the classes. But an attacker who can run the algorithm
    on everybody can search for the classes that give these labels. That search is not played; it is assumed to succeed.
    """
    if partition is None:
        return None
    recoded = recode_as_published(table, partition, recoding)
    names = [attribute.name for attribute in table.attributes]
    if not set(names) <= set(published.data.columns):
        return None
    again = pl.DataFrame(
        [column.labels.gather(column.per_class).alias(column.attribute.name) for column in recoded.columns]
    ).with_columns(pl.Series("", recoded.sizes, dtype=pl.Int64))
    seen = published.data.select(text_of(published.data[name]).alias(name) for name in names)
    counts = seen.group_by(exactly(*names)).len("").cast({"": pl.Int64})
    every = exactly(*again.columns)
    if not again.sort(every).equals(counts.select(every).sort(every)):
        return None
    return recoded.class_of, np.ones(len(recoded.sizes), dtype=np.bool_)
