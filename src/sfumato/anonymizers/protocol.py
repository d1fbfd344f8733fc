"""What an algorithm is: an encoded table and models in; a solution out, or the tables of another kind of release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, runtime_checkable

from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.feasibility import Problem as Problem
from sfumato.classes.partition import Partition
from sfumato.models.protocol import PrivacyModel, Subject
from sfumato.progress import Progress as Progress
from sfumato.progress import silent as silent
from sfumato.published import Published
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table

ModelsApart = Literal["any model", "merging models"]
"""Which models an anonymizer takes where records of a person lie in different classes: any that does not compare with
the whole table, or those alone that two classes with people in common keep when they are merged."""


@runtime_checkable
class Anonymizer(Protocol):
    """An algorithm that returns a solution.

    Implementations are frozen dataclasses whose fields are the algorithm's options, checked when built.

    The order of the input decides nothing: records are handed in the order of
    :func:`sfumato.table.row_order.canonical_order`. That takes a moment, which one whose solutions do not depend on
    the order anyway, as long as no record may be suppressed, spares itself with a class variable ``order_free = True``.

    One that can judge classes by people whose records lie in several says so with a class variable ``people_apart``.
    One whose classes are only ever made by cutting classes that satisfy the models says so with ``only_cuts = True``:
    it keeps what merging may break. One of whose classes no two cover the same values says ``shares_nobody = True``,
    and one that judges classes by all that they publish ``knows_regions = True``. One that decides regions, but whose
    classes may publish the mean of a column instead, says ``aggregates = True``.
    """

    name: ClassVar[str]
    """Name in policies and on the command line, e.g. ``"mondrian"``."""

    @property
    def decides_regions(self) -> bool:
        """Whether solutions say what each class publishes (:class:`~sfumato.classes.partition.Regions`)."""
        ...

    def solve(self, problem: Problem) -> Partition:
        """Partition the records so that every class satisfies every model, or raise ``UnsatisfiableError``."""
        ...


@runtime_checkable
class SolvesParts(Anonymizer, Protocol):
    """An anonymizer whose solution of a large table is that of its parts, side by side.

    It neither splits nor joins: :func:`sfumato.anonymizers.parts.solve_in_parts` does, and whoever calls that says
    where parts are solved. :class:`sfumato.anonymizers.parts.Partwise` has all of it but `solve_part`.
    """

    @property
    def block_size(self) -> int | None:
        """Records of a part at most; 0 or None solves every table in one piece."""
        ...

    def part_solver(self, problem: Problem) -> Callable[[FeasibleProblem], Partition]:
        """Return what solves every part, :meth:`solve_part` with what it must know of the whole; can be pickled.

        Raises
        ------
        PolicyError
            With what does not fit the columns.
        """
        ...

    def solve_part(self, start: FeasibleProblem) -> Partition:
        """Partition all records of a problem so that every class satisfies ``start.rules``.

        Models that compare with the whole table are judged by ``start.rules.arrays`` alone: in a part these still hold
        the totals of the whole table, whatever ``start.problem.table`` has. Records that are not kept are covered
        without being counted. The order of records decides nothing, and class numbers do not depend on timing.
        """
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Publication:
    """What a publisher hands in.

    Attributes
    ----------
    published : Published
        The tables. Nothing in them shows the order of the input.
    notes : tuple of str
        What the steward should know of how they came about. They may count what the tables hide.
    figures : mapping of str to float
        What was lost or kept, e.g. ``{"buckets": 1200, "reconstruction_error": 31.5}``; for the steward, too.
    """

    published: Published
    notes: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Publisher(Protocol):
    """An algorithm whose release is no generalized table: it makes the published tables itself.

    Implementations are frozen dataclasses whose fields are the algorithm's options, checked when built. One that can
    leave records out within `Problem.suppression_limit` says so with a class variable ``suppresses = True``; of all
    others no record may be suppressed. One that draws a sample of the records says so with ``samples = True``.
    """

    name: ClassVar[str]
    """Name in policies and on the command line, e.g. ``"bucketization"``."""
    kind: ClassVar[str]
    """Kind of the release, one of :data:`sfumato.published.KINDS`."""
    promises: ClassVar[Subject | None]
    """What a model must speak of to be enforced (:attr:`~sfumato.models.protocol.Says.speaks_of`); None: none is."""

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise ``PolicyError`` with everything that does not fit: columns, models that it cannot promise."""
        ...

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Make the tables so that every model holds, or raise ``UnsatisfiableError``.

        Original values are taken from the frame of `table`, whose records are those of ``problem.table``. Both stand in
        the order of :func:`sfumato.table.row_order.canonical_order`, which depends on what they hold alone. Every order
        and every choice that could show the order of the input is drawn with :func:`sfumato.randomness.permutation`.
        """
        ...
