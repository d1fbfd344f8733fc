"""From the nodes that a search by boxes looked at to what is known of the whole lattice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.lattice_boxes import EvaluatedNode, SearchResult
from sfumato.hierarchy.lattice import Lattice
from sfumato.hierarchy.lattice_search import LatticeSearch, NodeState, States, blank_states


def as_lattice_search(found: SearchResult, lattice: Lattice, names: tuple[str, ...], loss_name: str) -> LatticeSearch:
    """Return what was found as a value; the path holds the solutions that were the best so far.

    Notes
    -----
    Cost O(q · nodes) for a lattice whose states are kept in an array, else O(evaluated nodes).
    """
    best = found.best
    values = {lattice.number(node.levels): node.value for node in found.evaluated}
    return LatticeSearch(
        lattice,
        names,
        _states(found, lattice),
        chosen=None if best is None else best.levels,
        path=tuple(node.levels for node in found.path),
        evaluated=len(found.evaluated),
        losses={number: value for number, value in values.items() if value is not None},
        loss_name=loss_name,
        loss_bound=found.bound,
    )


def _states(found: SearchResult, lattice: Lattice) -> States:
    states = blank_states(lattice)
    if not isinstance(states, dict):
        states[_below_hopeless(found, lattice)] = NodeState.INFERRED_FAILS
        if found.proven and found.best is not None:
            states[states == NodeState.UNKNOWN] = NodeState.NOT_BETTER
    for node in found.evaluated:
        states[lattice.number(node.levels)] = _counted(node)
    return states


def _counted(node: EvaluatedNode) -> NodeState:
    return NodeState.FAILS if node.value is None else NodeState.SATISFIES


def _below_hopeless(found: SearchResult, lattice: Lattice) -> NDArray[np.bool_]:
    """Mark the specializations of hopeless nodes, bool (nodes,): from above, one attribute after the other."""
    marked = np.zeros([height + 1 for height in lattice.heights], dtype=np.bool_)
    for node in found.evaluated:
        marked[node.levels] = node.hopeless
    for axis in range(marked.ndim):
        marked = np.flip(np.logical_or.accumulate(np.flip(marked, axis), axis=axis), axis)
    return marked.reshape(-1)
