"""How far a distribution of sensitive values is from what a rule allows: the measures of slicing's checks.

Letters: r rules, v values of all sensitive attributes together. A distribution comes as its mass, float64, of any
total: counts of records, or counts weighted by how well buckets match.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import borrowing
from sfumato.kernels.predicates import PROBABILISTIC, T_EQUAL, T_ORDERED, RuleArrays
from sfumato.kernels.types import Floats


@borrowing
def measure(rule: int, mass: Floats, total: float, rules: RuleArrays, scratch: Floats) -> float:
    """Return the largest share (probabilistic l-diversity) or the distance to the whole table (t-closeness).

    mass : float64, one entry for each value of the rule's attribute; scratch : float64, ``rules.scratch_size`` entries.
    """
    code = rules.codes[rule]
    if code == PROBABILISTIC:
        largest = np.float64(0.0)
        for weight in mass:
            largest = max(largest, weight)
        return largest / total  # of numpy: 0/0 where there is no value
    attribute = rules.attributes[rule]
    start = rules.offsets[attribute]
    if code == T_EQUAL:
        moved = 0.0
        for value in range(len(mass)):
            moved += max(0.0, mass[value] / total - rules.totals[start + value] / rules.total)
        return moved
    if code == T_ORDERED:
        if len(mass) < 2:
            return 0.0
        moved = 0.0
        carried = 0.0
        for value in range(len(mass) - 1):
            carried += mass[value] / total - rules.totals[start + value] / rules.total
            moved += abs(carried)
        return moved / (len(mass) - 1)  # never 0: there are two values
    return _tree_distance(attribute, mass, total, rules, scratch)


@borrowing
def _tree_distance(attribute: int, mass: Floats, total: float, rules: RuleArrays, scratch: Floats) -> float:
    start = rules.offsets[attribute]
    root = rules.tree_offsets[attribute]
    nodes = rules.tree_offsets[attribute + 1] - root
    scratch[: 2 * nodes] = 0.0
    cost = 0.0
    for node in range(nodes):
        if node < len(mass):
            extra = mass[node] / total - rules.totals[start + node] / rules.total
        else:
            extra = scratch[node] - scratch[nodes + node]
            cost += rules.weights[root + node] * min(scratch[node], scratch[nodes + node])
        parent = rules.parents[root + node]
        if parent >= 0:
            if extra > 0:
                scratch[parent] += extra
            else:
                scratch[nodes + parent] -= extra
    return cost
