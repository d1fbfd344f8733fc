"""What the ledger keeps for the next release of a growing series: the records of everybody, and how they were cut.

Plain arrays in one file, without anything that runs when it is read; a later format is refused.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.series.growing_tree import CutTree, nearest_left
from sfumato.table.encoding import EncodedAttribute

Numbers = NDArray[np.int64]

FORMAT = 1
_DAMAGED = "the ledger is damaged: what it keeps of the growing classes cannot be read; put a copy of it back"


@dataclass(frozen=True, eq=False, repr=False)
class GrowingState:
    """How a growing series stands after a release.

    Letters: n people, c classes, t nodes.

    Attributes
    ----------
    records : polars.DataFrame
        Everybody who is published, with their tags.
    tree : CutTree
        How they were cut.
    node_of : numpy.ndarray
        int64 (c,): the node where each class stands; classes are numbered as the recipient numbers them.
    codes : mapping of str to list of str
        For each quasi-identifying attribute the texts of its codes, in the order of the tree.
    """

    records: pl.DataFrame
    tree: CutTree
    node_of: Numbers
    codes: Mapping[str, Sequence[str]]

    def content(self) -> bytes:
        """Return the content of a file."""
        records, file = io.BytesIO(), io.BytesIO()
        self.records.write_parquet(records)
        said = json.dumps({"format": FORMAT, "codes": {name: list(texts) for name, texts in self.codes.items()}})
        np.savez(
            file,
            said=np.frombuffer(said.encode(), dtype=np.uint8),
            records=np.frombuffer(records.getvalue(), dtype=np.uint8),
            attribute=self.tree.attribute,
            left=self.tree.left,
            right_child=self.tree.right_child,
            node_of=self.node_of,
        )
        return file.getvalue()

    @classmethod
    def read(cls, content: bytes) -> GrowingState:
        """Read the content of a file.

        Raises
        ------
        VerificationError
            When it is damaged or of a later format.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                said: dict[str, Any] = json.loads(file["said"].tobytes())
                if said["format"] != FORMAT:
                    raise VerificationError("the ledger keeps growing classes in a later format; use a newer sfumato")
                tree = CutTree(file["attribute"], file["left"], file["right_child"])
                records = pl.read_parquet(io.BytesIO(file["records"].tobytes()))
                found = cls(records, tree, file["node_of"], said["codes"])
            found._check()
        except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile, pl.exceptions.PolarsError):
            raise VerificationError(_DAMAGED) from None
        return found

    def _check(self) -> None:
        """Raise ValueError where arrays do not fit each other."""
        nodes, places = len(self.tree.attribute), np.arange(len(self.tree.attribute))
        inner, right = self.tree.attribute >= 0, self.tree.right_child
        fits = (
            self.tree.attribute.shape == right.shape == (nodes,)
            and self.tree.left.ndim == 2
            and len(self.tree.left) == nodes
            and self.tree.attribute.max(initial=-1) < len(self.codes)
            and bool((np.where(inner, (right > places + 1) & (right < nodes), right == -1)).all())
            and bool(((self.node_of >= 0) & (self.node_of < nodes)).all())
            and all(len(texts) < self.tree.left.shape[1] for texts in self.codes.values())
        )
        if not fits:
            raise ValueError

    def tree_for(self, attributes: Sequence[EncodedAttribute]) -> CutTree:
        """Return the tree for the codes of a table in which values may be new.

        What is new goes to the side of the nearest known value of a number, and to the right otherwise.
        """
        width = 1 + max((attribute.size for attribute in attributes), default=0)
        left = np.zeros((len(self.tree.attribute), width), dtype=np.bool_)
        for index, attribute in enumerate(attributes):
            nodes = np.flatnonzero(self.tree.attribute == index)
            texts = list(self.codes[attribute.name])
            code_of = {text: code for code, text in enumerate(attribute.labels.to_list())}
            now = np.array([code_of[text] for text in texts], dtype=np.int64)
            for node in nodes.tolist():
                old = self.tree.left[node, : len(texts)]
                if attribute.is_numeric:
                    left[node] = nearest_left(now[old], now[~old], width)
                else:
                    left[node, now[old]] = True
                left[node, attribute.size] = self.tree.left[node, len(texts)]
        return CutTree(self.tree.attribute, left, self.tree.right_child)


def codes_of(attributes: Sequence[EncodedAttribute]) -> dict[str, list[str]]:
    """Return the texts of the codes of each attribute."""
    return {attribute.name: attribute.labels.to_list() for attribute in attributes}
