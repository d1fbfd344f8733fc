"""Guarded values: chosen sensitive values, or nodes of their hierarchy, are rare enough in every class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.errors import PolicyError
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.predicates import GUARDED
from sfumato.models.protocol import Rule, SensitiveModel
from sfumato.numbers import counted
from sfumato.options import Limit, Names
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.schema import is_measured

_Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class GuardedValues(SensitiveModel):
    """In every class, at most a share `p` has one of the guarded values.

    Guarantee: an attacker who finds a person's class, and knows nothing that rules values out, believes that the person
    has one of the guarded values with probability `p` at most. Other values are not protected. The list is part of the
    promise and is published with it, as are `p` and the attribute: it must give away nothing about anybody.

    Where people have several records, people count, once for each guarded value that they have. Who has two of them
    counts twice, so that the promise is kept with room to spare.

    Parameters
    ----------
    values
        Labels of sensitive values or of nodes of the attribute's hierarchy, as they are published; a node stands for
        all values under it. All of them share one bound; for several bounds give several such models. The missing value
        is guarded by the root of a hierarchy alone.
    p
        Largest share, above 0 and below 1.
    attribute
        The sensitive attribute, or None for every one. A label has to be known to each of them.

    Notes
    -----
    Two classes that keep it keep it when they are merged: shares of both together lie between the two. Numbers and
    dates need a hierarchy, as the same number may be written in several ways. A value that an escaped file shows with
    ``'`` before it is guarded in that form, too. Cost O(z + g) for z pairs of a class and a value, and g labels.

    References
    ----------
    (α, k)-anonymity for nodes instead of single values (R. C.-W. Wong, J. Li, A. W.-C. Fu, K. Wang, KDD 2006, bounds
    chosen values). Guarding nodes goes back to X. Xiao, Y. Tao, "Personalized privacy preservation", SIGMOD 2006, where
    everybody names a node; here the policy names them for all, because with wishes for each person two classes that
    hold may be merged into one that does not.
    """

    values: Names
    p: Annotated[float, Limit(0, 1, above=True, below=True)]
    attribute: str | None = None

    name: ClassVar[str] = "guarded-values"
    speaks_of: ClassVar = frozenset({"classes", "buckets", "marginals"})
    in_words: ClassVar[str] = "of the people who look alike, at most a share of {p} has one of the guarded values"
    code: ClassVar[int] = GUARDED
    bounded: ClassVar[str] = "p"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise p, or allow some records with guarded values to be suppressed"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of guarded values in each class; float64 (c,). Above 1 where people have several of them."""
        own = np.where(self.marks(counts)[counts.values], counts.counts, 0)
        shares: NDArray[np.float64] = np.add.reduceat(own, counts.starts[:-1]) / sizes
        return shares

    def marks(self, counts: SensitiveCounts) -> _Marks:
        """Tell which values are guarded; bool (v,).

        Raises
        ------
        PolicyError
            When the values are numbers or dates that no hierarchy gives labels.
        """
        if counts.labels is None or counts.code_of is None:
            raise PolicyError(f"{self.name}: it is not known how the values of {counts.name!r} are named")
        if is_measured(counts.kind) and counts.hierarchy is None and (counts.code_of < len(counts.labels)).any():
            raise PolicyError(_needs_hierarchy(counts.name))
        return self._guarded_codes(counts.labels, counts.hierarchy)[counts.code_of]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return one compiled rule per protected attribute; its values are marked when the rules are compiled."""
        return [replace(rule, marks=self.marks) for rule in super().rules(attributes)]

    def misfits(self, attributes: Sequence[EncodedAttribute]) -> Iterator[str]:
        """Say which protected attributes have no labels, or lack some of the guarded ones."""
        for attribute in attributes:
            if self.attribute not in (None, attribute.name):
                continue
            if is_measured(attribute.kind) and attribute.hierarchy is None:
                yield _needs_hierarchy(attribute.name)
            elif unknown := len(set(self.values) - _labels_of(attribute)):
                verb = "is" if unknown == 1 else "are"
                yield (
                    f"{self.name}: {counted(unknown, 'guarded value')} of {len(self.values)} {verb} "
                    f"no label of {attribute.name!r}, where nothing would be guarded; "
                    "correct the spelling, or leave them out"
                )

    def _guarded_codes(self, labels: pl.Series, hierarchy: Hierarchy | None) -> _Marks:
        """Tell which codes are guarded, that of the missing value being the last; bool (size + 1,)."""
        forms = {form for label in self.values for form in (label, f"'{label}")}
        guarded = np.append(labels.is_in(list(forms)).to_numpy(), False)
        if hierarchy is not None:
            for level in hierarchy.levels[1:]:
                for label, start, stop in zip(level.labels, level.starts, level.starts[1:], strict=False):
                    if label in forms:
                        guarded[start:stop] = True
            # The missing value hangs right under the root.
            guarded[-1] = not forms.isdisjoint(hierarchy.levels[-1].labels)
        return guarded


def _needs_hierarchy(name: str) -> str:
    return (
        f"{GuardedValues.name}: {name!r} has numbers or dates, which have no labels; give it a hierarchy, or read it "
        "as categorical"
    )


def _labels_of(attribute: EncodedAttribute) -> set[str]:
    if attribute.hierarchy is None:
        return set(attribute.labels.to_list())
    return {label for level in attribute.hierarchy.levels for label in level.labels}
