"""Three hundred files from all over the world: what comes of each, following our own advice for two rounds at most."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
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
# What was asked about before letters told the encoding, and words among numbers a missing value.
TOLD = frozenset({
    'postcodes of four digits',
    '#DIV/0!',
    'Thai months',
    'Thai short, Buddhist',
    'an em dash',
    'big5 Taiwanese',
    'big5hkscs of 臺北市',
    'cp1250 Czech',
    'cp1250 Polish',
    'cp1251 Russian',
    'cp1251 Ukrainian',
    'cp1252 French',
    'cp1252 German',
    'cp1253 Greek',
    'cp1254 Turkish',
    'cp1256 Arabic',
    'cp1256 of تهران',
    'cp1257 Baltic',
    'cp1258 of Huê',
    'cp437 of Köln',
    'cp720 of القاهرة',
    'cp737 of Αθήνα',
    'cp775 of Šiauliai',
    'cp850 French',
    'cp850 German',
    'cp852 Polish',
    'cp857 of İstanbul',
    'cp861 of Þórshöfn',
    'cp862 of ירושלים',
    'cp863 of Québec',
    'cp866 Russian',
    'cp869 of Αθήνα',
    'cp874 of กรุงเทพ',
    'cp932 Japanese',
    'cp949 Korean',
    'cp950 Taiwanese',
    'dots',
    'eight marks of a missing value',
    'euc-jp Japanese',
    'euc-kr Korean',
    'gb18030 Chinese',
    'gb2312 of 北京市',
    'gbk Chinese',
    'iso-8859-13 of Šiauliai',
    'iso-8859-15 German',
    'iso-8859-2 Czech',
    'iso-8859-2 Polish',
    'iso-8859-3 of Ħamrun',
    'iso-8859-5 Russian',
    'iso-8859-6 Arabic',
    'iso-8859-7 Greek',
    'iso-8859-9 Turkish',
    'k.A. among numbers',
    'koi8-r Russian',
    'koi8-t of Душанбе',
    'koi8-u Ukrainian',
    'mac-cyrillic of Москва',
    'mac-greek of Αθήνα',
    'mac-iceland of Ísafjörður',
    'mac-latin2 of Łomża',
    'mac-roman French',
    'mac-roman German',
    'not asked',
    'ptcp154 of Алматы',
    'shift-jis Japanese',
    'slash for unsure',
    'three words',
    'tis-620 of เชียงราย',
})  # fmt: skip
WORLDS = [
    replace(world, comes="right") if world.name in TOLD else world for group in GROUPS.values() for world in group
]


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_file_comes_out_as_it_must(world: World, tmp_path: Path) -> None:
    came, log = outcome(world, tmp_path)
    assert came == world.comes, log


def test_the_world_is_large() -> None:
    assert len({world.name for world in WORLDS}) == len(WORLDS) >= 300
    assert Counter(world.comes for world in WORLDS)["right"] >= 0.6 * len(WORLDS)
