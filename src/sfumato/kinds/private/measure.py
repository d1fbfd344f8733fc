"""Fitted counts and samples as a joint distribution, beside other releases; and what attacks find in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.partition import ValueSets
from sfumato.evaluation.attacks.of_kinds import Asked, KindEvidence
from sfumato.evaluation.attacks.play import attack
from sfumato.evaluation.utility.joint import Joint, JointPart, Original, assemble
from sfumato.evaluation.utility.queries import AttributeDomain
from sfumato.evaluation.utility.spreads import CodeSpread
from sfumato.kinds.noisy_counts.check import PrivateMarginals
from sfumato.kinds.noisy_counts.policy import PrivatePolicy
from sfumato.kinds.noisy_counts.release import PrivateRelease, marginals_of
from sfumato.kinds.private.check import Domain as Cells
from sfumato.kinds.private.policy import DeclaredPolicy
from sfumato.kinds.private_sample.check import PrivateSample
from sfumato.kinds.private_sample.make import in_levels
from sfumato.kinds.private_sample.policy import PrivateSamplePolicy
from sfumato.kinds.private_sample.release import PrivateSampleRelease
from sfumato.published import Published, PublishedTable
from sfumato.published.protocol import RandomizedTable
from sfumato.table.reading import read_table
from sfumato.table.table import Table

_HELD = (
    "Attacks were played on what is published. What is learned of somebody in the data holds of others as well, but "
    "for what ε allows."
)
_PICK = ("linkage", "nearest-linkage")
_PrivateKind = PrivateRelease | PrivateSampleRelease


def private_joint(release: _PrivateKind, original: Original) -> Joint:
    """Read fitted counts, or the records of a sample, each of which stands for 1 / share.

    A cell stands for the values of the original that fall into it, all alike; one that none falls into for nothing.
    """
    if isinstance(release, PrivateRelease):
        cells, published = release.in_cells(original.table), release.published
        parts = [
            _part(names, np.indices(counts.shape).reshape(counts.ndim, -1), counts.ravel())
            for names, counts in zip(published.sets, published.counts, strict=True)
            if not any(set(names) < set(other) for other in published.sets)
        ]
        domains: Mapping[str, Cells] = published.domains
    else:
        shown = release.as_records()
        cells, domains = release.in_levels(original.table), release.published.domains
        rows = np.array([domain.codes(shown.data[name]) for name, domain in domains.items()])
        parts = [_part(tuple(domains), rows, np.full(shown.data.height, shown.weight))]
    spreads = {
        name: _spread(original.domains[name], domain.codes(cells.frame[name]), domain.size)
        for name, domain in domains.items()
    }
    return assemble(spreads, parts, 1)


def _part(names: tuple[str, ...], codes: NDArray[np.integer], counts: NDArray[np.float64]) -> JointPart:
    held = np.flatnonzero(counts > 0)
    labels = {name: codes[place, held].astype(np.int32) for place, name in enumerate(names)}
    return JointPart(labels, counts[held], np.zeros(len(held), dtype=np.int64))


def _spread(domain: AttributeDomain, cell_of: NDArray[np.int64], cells: int) -> CodeSpread:
    """Say which original values fall into each cell, as the original's records show it."""
    missing = domain.attribute.size
    pairs = np.unique(np.column_stack([cell_of, domain.codes.astype(np.int64)]), axis=0)
    empty = np.setdiff1d(np.arange(cells), pairs[:, 0])
    pairs = np.concatenate([pairs, np.column_stack([empty, np.full(len(empty), missing)])])
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    sizes = np.bincount(pairs[:, 0], minlength=cells)
    members = ValueSets(np.concatenate([[0], np.cumsum(sizes)]), pairs[:, 1].astype(np.int32))
    return CodeSpread(domain, members, sizes.astype(np.float64))


def evidence_of_counts(published: PrivateMarginals, asked: Asked) -> KindEvidence:
    """Attack synthetic records, where there are any, or else the fitted counts."""
    policy = PrivatePolicy.from_mapping(asked.policy)
    quasi = published.quasi_identifying
    is_drawn = published.records is not None
    shown = RandomizedTable(published.synthetic, quasi, published.sensitive) if is_drawn else marginals_of(published)
    return _evidence(shown, policy, asked, policy.in_cells)


def evidence_of_sample(published: PrivateSample, asked: Asked) -> KindEvidence:
    """Attack the records of a sample."""
    policy = PrivateSamplePolicy.from_mapping(asked.policy)
    shown = PublishedTable(published.data, published.quasi_identifying, published.sensitive)
    found = _evidence(shown, policy, asked, lambda table: in_levels(table, policy.to_sampling(), published))
    # Every record is alike in all columns with so many: nobody is picked from fewer.
    alike = 1 / (published.smallest() or 1)
    results = [replace(one, allowed=alike) if one.attack in _PICK else one for one in found.results]
    return replace(found, results=results)


def _evidence(
    shown: Published, policy: DeclaredPolicy, asked: Asked, in_cells: Callable[[Table], Table]
) -> KindEvidence:
    original = read_table(asked.original, policy)
    if not asked.attacks or not any(table.height for table in shown.tables.values()):
        return KindEvidence(original.height, unplayed={"attacks": "nothing was published that one could be played on"})
    control = None if asked.control is None else in_cells(read_table(asked.control, policy))
    table, seed, threads = in_cells(original), asked.seed, asked.threads
    played = attack(shown, table, control=control, seed=seed, threads=threads, progress=asked.progress)
    # The noise leaves a doubt about every claim.
    results = [replace(one, certainty=None) for one in played.results]
    return KindEvidence(original.height, results, played.unplayed, {}, (_HELD,), played.control)
