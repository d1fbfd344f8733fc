"""Records drawn from published tables whose rows are not records: a possible table behind the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.utility.domains import Floats
from sfumato.evaluation.utility.joint import Joint, JointPart
from sfumato.evaluation.utility.spreads import AttributeSpread

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Records as labels, what these stand for, and how many people each record stands for.

    Attributes
    ----------
    spreads : mapping of str to AttributeSpread
    labels : mapping of str to numpy.ndarray
        int32 (n,) for each attribute.
    weights : numpy.ndarray
        float64 (n,).
    """

    spreads: Mapping[str, AttributeSpread]
    labels: Mapping[str, NDArray[np.int32]]
    weights: Floats


def drawn_records(joint: Joint, rng: np.random.Generator) -> dict[str, NDArray[np.int32]]:
    """Combine the parts of a release at random.

    Inside each bucket, rows of parts that share nothing are combined in random order; rows of a part that shares
    attributes with another are combined with rows of the same shared values. A table of records stays unchanged.

    Parameters
    ----------
    joint
        n records.
    rng
        Decides which rows are combined.

    Returns
    -------
    dict
        int32 (n,) for each attribute: label of each record.

    Notes
    -----
    Cost O(n log n) for each part.
    """
    bucket = np.repeat(np.arange(len(joint.sizes)), np.rint(joint.sizes).astype(np.int64))
    rows: dict[int, Places] = {}
    labels: dict[str, NDArray[np.int32]] = {}
    for place in joint.order:
        part, link = joint.parts[place], joint.links[place]
        if link is None:
            rows[place] = _matched(part.bucket, part, bucket, len(joint.sizes), rng)
        else:
            rows[place] = _matched(link.group_of, part, link.group_above[rows[link.parent]], link.groups, rng)
        for name, label_of in part.label_of.items():
            labels.setdefault(name, label_of[rows[place]])
    return labels


def _matched(group_of: Places, part: JointPart, wanted: Places, groups: int, rng: np.random.Generator) -> Places:
    """Return a row of the wanted group for each record.

    Rows are taken in random order, each as often as it counts, and then again if a group needs more; any row if a group
    has none.
    """
    offered = np.repeat(np.arange(len(part.counts)), np.rint(part.counts).astype(np.int64))
    offered = offered[np.lexsort((rng.random(len(offered)), group_of[offered]))]
    sizes = np.bincount(group_of[offered], minlength=groups + 1)
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(wanted, kind="stable")
    asked = np.bincount(wanted, minlength=groups + 1)
    turn = np.empty(len(wanted), dtype=np.int64)
    turn[order] = np.arange(len(wanted)) - np.repeat(np.cumsum(asked) - asked, asked)
    chosen = starts[wanted] + turn % np.maximum(sizes[wanted], 1)
    anybody = rng.integers(0, len(offered), len(wanted))
    found: Places = offered[np.where(sizes[wanted] > 0, chosen, anybody)]
    return found
