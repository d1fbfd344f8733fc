"""Hierarchies of the thesis's appendix 7, as its configuration files for the UTD Anonymization Toolbox have them."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.hierarchy import HierarchyTable

SEXES = ("Female", "Male")

# An age on a border belongs to the interval on its right; the last one holds 100.
_AGES = (tuple(range(0, 101, 10)), (0, 20, 50, 70, 100), (0, 50, 100), (0, 100))

# Each line is a node of the lowest level; stars separate the nodes of the level above.
_COUNTRIES = (
    ("United-States", "Outlying-US(Guam-USVI-etc)", "Canada"),
    ("Mexico", "Honduras", "Guatemala", "Nicaragua", "El-Salvador"),
    "*",
    ("Ecuador", "Peru", "Columbia"),
    ("Caribbean", "Puerto-Rico", "Dominican-Republic", "Jamaica", "Cuba", "Haiti", "Trinadad&Tobago"),
    "*",
    ("France", "England", "Ireland", "Scotland", "Holand-Netherlands"),
    ("Italy", "Greece", "Portugal"),
    ("Yugoslavia", "Hungary", "Germany", "Poland"),
    "*",
    ("Philippines", "Thailand", "Cambodia", "Vietnam", "Laos"),
    ("India",),
    ("Japan", "China", "South", "Hong", "Taiwan"),
    ("Iran",),
)

REGIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "East-Japan": {
        "Hokkaido region": ("Hokkaido",),
        "Tohoku": ("Aomori", "Iwate", "Miyagi", "Akita", "Yamagata", "Fukushima"),
        "Kanto": ("Ibaraki", "Tochigi", "Gunma", "Saitama", "Chiba", "Tokyo", "Kanagawa"),
        "Tokai-Chubu": (
            "Niigata", "Toyama", "Ishikawa", "Fukui", "Yamanashi", "Nagano", "Gifu", "Shizuoka", "Aichi", "Mie",
        ),
    },
    "West-Japan": {
        "Kansai": ("Shiga", "Kyoto", "Osaka", "Hyogo", "Nara", "Wakayama"),
        "Chugoku": ("Tottori", "Shimane", "Okayama", "Hiroshima", "Yamaguchi"),
        "Shikoku": ("Tokushima", "Kagawa", "Ehime", "Kochi"),
        "Kyusyu": ("Fukuoka", "Saga", "Nagasaki", "Kumamoto", "Oita", "Miyazaki", "Kagoshima"),
        "Okinawa region": ("Okinawa",),
    },
}  # fmt: skip
"""The 47 prefectures in the order of their codes, under the nodes and halves of appendix 7.2, which we name."""

REGIONS_PRINTED = (
    ("Hokkaido-Tohoku", 7), ("Kanto", 7), ("Tokai-Chubu", 10), ("Kansai", 6), ("Chugoku-Shikoku", 9),
    ("Kyusyu-Okinawa", 8),
)  # fmt: skip
"""The regions of the table in appendix 7.3, with how many prefectures each has, in the order of their codes."""

HALVES_PRINTED = (("East-Japan", 20), ("West-Japan", 27))
"""The halves of the same table; they part Tokai-Chubu."""

PREFECTURES = tuple(name for regions in REGIONS.values() for names in regions.values() for name in names)


def age_tree() -> HierarchyTable:
    """Group ages 0 to 100 into tens, four intervals, two, one."""
    return HierarchyTable(tuple((str(age), *(_interval(age, ends) for ends in _AGES)) for age in range(101)))


def sex_tree() -> HierarchyTable:
    """Put both sexes under one root."""
    return HierarchyTable(tuple((sex, "*") for sex in SEXES))


def country_tree() -> HierarchyTable:
    """Put the 42 countries of Adult under 11 nodes, 4, and one."""
    paths: list[tuple[str, ...]] = []
    part = 0
    for number, line in enumerate(_COUNTRIES):
        if line == "*":
            part += 1
        else:
            paths.extend((country, f"node {number}", f"part {part}", "*") for country in line)
    return HierarchyTable(tuple(paths))


def prefecture_tree() -> HierarchyTable:
    """Put the 47 prefectures under 9 regions, two halves, and one."""
    return HierarchyTable(
        tuple(
            (name, region, half, "*")
            for half, regions in REGIONS.items()
            for region, names in regions.items()
            for name in names
        )
    )


def _interval(age: int, ends: Sequence[int]) -> str:
    place = next(place for place in range(len(ends) - 1) if age < ends[place + 1] or ends[place + 1] == ends[-1])
    return f"[{ends[place]}:{ends[place + 1]}]"
