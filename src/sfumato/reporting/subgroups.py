"""Whom suppression hits: by attribute, and by subgroup of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.published import PublishedTable
from sfumato.recoding import Recoding
from sfumato.table.encoding import encode
from sfumato.table.kinds import text_of
from sfumato.table.table import Table
from sfumato.utility.bins import Bins, coarse
from sfumato.utility.domains import Domain, domains_of
from sfumato.utility.estimates import histogram
from sfumato.utility.joint import Joint
from sfumato.utility.views import read_joint

STAR = "*"
GROUPS = 6
"""Subgroups of an attribute that are told apart at most."""


@dataclass(frozen=True)
class Subgroup:
    """Some people, and how many of them are left.

    Attributes
    ----------
    attribute, group : str
    records : int
        Original records.
    suppressed : float
        Estimated share of them that is not published with any value.
    """

    attribute: str
    group: str
    records: int
    suppressed: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "attribute": self.attribute,
            "group": self.group,
            "records": self.records,
            "suppressed": self.suppressed,
        }


def starred_shares(published: PublishedTable) -> dict[str, float]:
    """Return the share of the published records whose value of each quasi-identifying attribute is ``*``."""
    height = max(1, published.data.height)
    return {
        name: float((text_of(published.data[name]) == STAR).sum() or 0) / height for name in published.quasi_identifying
    }


def suppressed_subgroups(
    published: PublishedTable, original: Table, recoding: Recoding, least: int
) -> tuple[Subgroup, ...]:
    """Estimate how many people of each subgroup were left out, where any were.

    Records whose quasi-identifying values are all ``*`` count as left out. A published value that covers several
    subgroups is spread over them, so that the shares are estimates. Groups of fewer than `least` original records are
    not told.
    """
    starred = [text_of(published.data[name]) == STAR for name in published.quasi_identifying]
    everywhere = starred[0] if starred else pl.Series([False] * published.data.height)
    for one in starred[1:]:
        everywhere = everywhere & one
    kept = published.data.filter(~everywhere.fill_null(False))
    if kept.height == original.frame.height:
        return ()
    domains = domains_of(encode(original))
    joint = read_joint(PublishedTable(kept, published.quasi_identifying, published.sensitive), domains, recoding)
    return tuple(
        group for name in published.quasi_identifying for group in _of_attribute(name, domains[name], joint, least)
    )


def _of_attribute(name: str, domain: Domain, joint: Joint, least: int) -> list[Subgroup]:
    bins = coarse(domain, GROUPS, GROUPS)
    before = np.bincount(bins.bin_of[domain.codes], minlength=bins.count + 1)
    after = histogram(joint, name, bins)
    return [
        Subgroup(name, label, int(records), float(np.clip(1 - left / records, 0, 1)))
        for label, records, left in zip(_labels(domain, bins), before, after, strict=True)
        if records >= max(1, least)
    ]


def _labels(domain: Domain, bins: Bins) -> list[str]:
    """Name each bin by the values it holds, and the last one, of missing values."""
    texts = domain.attribute.labels.to_list()
    named = []
    for place in range(bins.count):
        codes = np.flatnonzero(bins.bin_of[:-1] == place)
        if domain.numbers is not None:
            codes = codes[np.argsort(domain.numbers[codes], kind="stable")]
            first, last = texts[codes[0]], texts[codes[-1]]
            named.append(first if first == last else f"{first} to {last}")
        else:
            named.append(texts[codes[0]] if len(codes) == 1 else f"{len(codes)} others")
    return [*named, "missing"]
