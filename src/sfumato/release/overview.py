"""What a release looks like in a drawing, and which papers its methods come from.

It names anonymizers, which nothing may do that a recount loads: :class:`~sfumato.Release` loads it when it is asked.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.drawing import Drawing, bars, canvases
from sfumato.models import MODELS
from sfumato.registry import citations
from sfumato.release.recipient import open_release
from sfumato.release.reports import Report

if TYPE_CHECKING:
    from sfumato.release.release import Release


def papers(release: Release) -> str:
    """Name the papers behind a release; see ``Release.cite``."""
    content = tomllib.loads(release.policy)
    names = [content.get("anonymizer", {}).get("name"), *(entry["name"] for entry in content.get("models", []))]
    return citations(known[name] for name in names for known in (ANONYMIZERS, PUBLISHERS, MODELS) if name in known)


def release_drawing(release: Release) -> Drawing:
    """Draw the loss of each column, the sizes of classes, and how wide published ranges are; see ``Release.plot``."""
    sizes = release.classes["records"].to_numpy()
    wide = {
        name: np.sort((column.high - column.low)[column.label_of])
        for name, column in open_release(release).columns.items()
        if column.is_number and column.form is not None
    }
    losses = release.report.losses.attribute_ncp if isinstance(release.report, Report) else {}
    figure, (loss, size, width) = canvases(1, 3, width=12.6, height=3.6)
    bars(loss, list(losses), {"loss": [100 * each for each in losses.values()]}, "detail lost (%)")
    size.hist(np.repeat(sizes, sizes), bins=min(30, int(np.ptp(sizes)) + 1))
    size.set_xlabel("records of the class")
    size.set_ylabel("records")
    for name, found in wide.items():
        known = found[np.isfinite(found)]
        width.step(known, np.linspace(0, 100, known.size), where="post", label=name)
    width.set_xlabel("width of the published range")
    width.set_ylabel("records at most so wide (%)")
    if wide:
        width.legend(frameon=False, fontsize="small")
    width.set_visible(bool(wide))
    return Drawing(figure)
