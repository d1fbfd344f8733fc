"""Three hundred files from all over the world: what comes of each, following our own advice for two rounds at most."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gallery.follow import World, outcome
from gallery.world_beyond import BEYOND
from gallery.world_columns import DATES, ENCODINGS, NUMBERS
from gallery.world_files import FRAMES, JSON, LAYOUTS, OTHERS, PACKED, STATISTICAL, WORKBOOKS
from gallery.world_more import MORE

GROUPS = {
    "numbers": NUMBERS, "dates": DATES, "encodings": ENCODINGS, "layouts": LAYOUTS, "packed": PACKED, "JSON": JSON,
    "other kinds": OTHERS, "workbooks": WORKBOOKS, "statistical": STATISTICAL, "frames": FRAMES,
    "beyond": BEYOND, "more": MORE,
}  # fmt: skip
WORLDS = [world for group in GROUPS.values() for world in group]


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_file_comes_out_as_it_must(world: World, tmp_path: Path) -> None:
    came, log = outcome(world, tmp_path)
    assert came == world.comes, log


def test_the_world_is_large() -> None:
    assert len({world.name for world in WORLDS}) == len(WORLDS) >= 300
    assert Counter(world.comes for world in WORLDS)["right"] >= 0.6 * len(WORLDS)
