"""How many records a class needs at least."""

from __future__ import annotations

from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.models.says import least_class_size


def least_size(start: FeasibleProblem) -> int:
    """Return a number of records that every class must have, whatever its values.

    The largest k and l among the models, and 1 over the smallest share that a value may have. Algorithms that form
    classes of a given size ask for this one, so that less is left to repair where k alone says little.
    """
    return max(start.smallest, least_class_size(start.problem.models) or 1)
