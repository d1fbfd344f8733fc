"""Hierarchies for Adult, for papers that need some and print none."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.hierarchy import HierarchySpecification, groups
from sfumato.table.schema import Attribute, Kind

TREES: Mapping[str, HierarchySpecification] = {
    "workclass": groups(
        {
            "government": ("Federal-gov", "Local-gov", "State-gov"),
            "self-employed": ("Self-emp-inc", "Self-emp-not-inc"),
            "private": ("Private",),
            "unpaid": ("Without-pay", "Never-worked"),
        }
    ),
    "education": groups(
        {
            "school": {
                "primary": ("Preschool", "1st-4th", "5th-6th"),
                "lower secondary": ("7th-8th", "9th"),
                "upper secondary": ("10th", "11th", "12th", "HS-grad"),
            },
            "after school": {
                "vocational": ("Some-college", "Assoc-voc", "Assoc-acdm"),
                "university": ("Bachelors", "Masters", "Prof-school", "Doctorate"),
            },
        }
    ),
    "marital-status": groups(
        {
            "with spouse": ("Married-civ-spouse", "Married-AF-spouse"),
            "spouse elsewhere": ("Married-spouse-absent", "Separated"),
            "no spouse": ("Never-married", "Divorced", "Widowed"),
        }
    ),
    "occupation": groups(
        {
            "office": ("Adm-clerical", "Exec-managerial", "Prof-specialty", "Tech-support", "Sales"),
            "service": ("Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces"),
            "manual": (
                "Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving",
            ),
        }
    ),
    "race": groups({"any": ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")}),
    "sex": groups({"any": ("Female", "Male")}),
    "native-country": groups(
        {
            "America": {
                "northern": ("United-States", "Canada", "Outlying-US(Guam-USVI-etc)"),
                "middle": (
                    "Mexico", "Guatemala", "Honduras", "Nicaragua", "El-Salvador", "Cuba", "Haiti", "Jamaica",
                    "Puerto-Rico", "Dominican-Republic", "Trinadad&Tobago",
                ),
                "southern": ("Columbia", "Ecuador", "Peru"),
            },
            "Europe": {
                "western": ("England", "Scotland", "Ireland", "France", "Germany", "Holand-Netherlands"),
                "southern and eastern": ("Italy", "Greece", "Portugal", "Hungary", "Poland", "Yugoslavia"),
            },
            "Asia": {
                "eastern": ("China", "Japan", "Hong", "Taiwan", "South"),
                "others": ("India", "Iran", "Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"),
            },
        }
    ),
}  # fmt: skip

EIGHT = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
"""Quasi-identifying attributes, in the order in which experiments add them."""


def adult_attributes(names: tuple[str, ...]) -> dict[str, Attribute]:
    """Describe attributes of Adult: age as a number, the others with their hierarchies."""
    return {
        name: Attribute(kind=Kind.CATEGORICAL, hierarchy=TREES[name]) if name in TREES else Attribute(kind=Kind.NUMERIC)
        for name in names
    }
