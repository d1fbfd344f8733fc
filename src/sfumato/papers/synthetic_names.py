"""Invented names: ordinary first names, and surnames made of syllables."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

_FIRST = (
    "Ada Alma Amira Anna Beth Carla Celia Dora Edith Elena Emma Esther Fiona Freya Greta Hana Helen Ida Ines Iris "
    "Jana Judith Karin Laila Lena Lucia Maria Marta Mina Nadia Nora Olga Paula Petra Rosa Ruth Sara Selma Sofia Vera",
    "Adam Albert Anton Arthur Ben Boris Carl Daniel David Emil Eric Felix Frank Georg Hamid Hans Henry Hugo Ivan Jakob "
    "Jan Jonas Karim Leo Louis Lucas Marco Martin Max Milan Noah Omar Oscar Otto Paul Peter Ralph Samir Simon Victor",
)
_STARTS = "Bal Bren Cal Cor Dan Del Dor Ebb El Fal Fen Gar Gil Hal Hol Ist Jor Kal Kel Lan Lor Mal Mer Nor Oll Pal Pel "
_STARTS += "Quin Ral Ros Sal Sel Tal Tor Ulm Val Ven Wal Wen Yar"
_MIDDLES = (
    "a ab al am an ar ad eb ed el em en er et i ib id il im in ir is it ob od ol om on or ot u ub ud ul um un ur "
)
_MIDDLES += "us ut y"
_ENDS = "bach berg bourne brook by dahl den field ford gate ham hart horn ing land ley lund man mere mond moor ner "
_ENDS += "quist rick son stad stone ton well wood"

_SYLLABLES = tuple(tuple(part.split()) for part in (_STARTS, _MIDDLES, _ENDS))
_INITIALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

LARGEST_TOWN = len(_INITIALS) * int(np.prod([len(part) for part in _SYLLABLES]))
"""Most people who can have a name of their own."""


def synthetic_names(sexes: NDArray[np.integer], generator: np.random.Generator) -> pl.Series:
    """Give everybody an invented name that nobody else has.

    Parameters
    ----------
    sexes
        Integer (n,), 0 for women and 1 for men; n is at most `LARGEST_TOWN`.
    generator

    Returns
    -------
    polars.Series
        Strings, length n.
    """
    first = generator.integers(0, len(_FIRST[0].split()), size=len(sexes))
    keys = generator.choice(LARGEST_TOWN, size=len(sexes), replace=False)
    keys, initial = np.divmod(keys, len(_INITIALS))
    women, men = (pl.Series(names.split()).gather(first) for names in _FIRST)
    surname = []
    for part in _SYLLABLES:
        keys, place = np.divmod(keys, len(part))
        surname.append(pl.Series(part).gather(place))
    return pl.select(
        pl.concat_str(
            pl.when(pl.Series(sexes == 0)).then(women).otherwise(men),
            pl.lit(" "),
            pl.Series(list(_INITIALS)).gather(initial),
            pl.lit(". "),
            *surname,
        ).alias("name")
    ).to_series()
