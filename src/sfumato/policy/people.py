"""What a release does about people who have several records, as a value that policies hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from sfumato.options import Checked, Limit


@dataclass(frozen=True)
class People(Checked):
    """What is done about people who have several records; the schema's `person` says who they are.

    Parameters
    ----------
    rows
        ``"together"``: all records of a person share one class, so that knowing several of them finds no more than
        that class. ``"apart"``: they may lie in different classes, which loses less; whoever knows several records of
        somebody can intersect their classes, and the report says how few people are left then. ``"household"``: each
        key is a household, and its records are its members. Households of one size are published alike, member by
        member, so that whoever knows all members of one is left with as many households as a class has.
    pseudonyms
        Where it stands which records of a class are of one person. ``"audit"``: only in the steward's audit file.
        ``"published"``: in a column of the release, numbered afresh and at random in every class, for studies that need
        a person's records together. The release can then be recounted by everybody; and whoever knows some sensitive
        values of a person may find the person's others.
    all_records_k
        With rows apart: how many people must be left, at least, to somebody who knows all records of a person. Who
        would be among fewer is suppressed.
    known_values
        With published pseudonyms: how many sensitive values of a person somebody knows who looks for that person.
    fingerprint_k
        With published pseudonyms: how many people of a class must have, at least, any `known_values` values of one
        attribute that somebody in it has. Who would be among fewer is suppressed.
    keyless
        What happens to records without a value in the person column. ``"alone"``: each is a person of its own, and the
        report counts them. ``"refuse"``: there is no release.

    Raises
    ------
    PolicyError
        With every setting that is out of range, or means nothing beside the others.
    """

    name: ClassVar[str] = "people"

    rows: Literal["together", "apart", "household"] = "together"
    pseudonyms: Literal["audit", "published"] = "audit"
    all_records_k: Annotated[int, Limit(1)] | None = None
    known_values: Annotated[int, Limit(1, 3)] = 1
    fingerprint_k: Annotated[int, Limit(1)] | None = None
    keyless: Literal["alone", "refuse"] = "alone"

    def _mistakes(self) -> Iterator[str]:
        if self.all_records_k is not None and self.rows != "apart":
            yield "people: all_records_k says something of rows apart alone; together they share one class"
        for name, default in (("known_values", 1), ("fingerprint_k", None)):
            if self.pseudonyms != "published" and getattr(self, name) != default:
                yield f"people: {name} says something of pseudonyms='published' alone"
        if self.rows == "household" and self.pseudonyms == "published":
            yield "people: rows='household' publishes no pseudonyms; leave them out"
