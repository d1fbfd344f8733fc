"""Sorts of values that identify people: the eighteen of HIPAA's safe harbor, and three that it has no letter for."""

from __future__ import annotations

from enum import Enum

PARAGRAPH = "45 CFR 164.514(b)(2)(i)"
"""The rule that lists the eighteen, by letters."""


class Sort(Enum):
    """One sort: its letter in the rule, what its values are called, and what the rule, or prudence, asks for.

    Attributes
    ----------
    letter : str or None
    called : str
    advice : str
    """

    NAMES = "A", "names of people", "remove them"
    POSTCODES = "B", "postcodes", "keep the first three digits, and 000 for those where 20,000 people or fewer live"
    PLACES = "B", "addresses or small places", "keep the state, or another place with many people in it"
    COORDINATES = "B", "coordinates", "turn them into districts with many people, or remove them"
    BIRTHS = "C", "dates of birth", "keep the year, and one group for everybody above 89"
    DATES = "C", "exact dates", "keep the year"
    AGES = "C", "ages", "put all above 89 into one group"
    TELEPHONES = "D", "telephone or fax numbers", "remove them"
    MAIL = "F", "e-mail addresses", "remove them"
    SOCIAL = "G", "social security, tax or passport numbers", "remove them"
    RECORDS = "H", "numbers of people, records or cases", "remove them, or name them as the person column"
    INSURANCE = "I", "insurance numbers", "remove them"
    ACCOUNTS = "J", "account or card numbers", "remove them"
    LICENCES = "K", "licence or certificate numbers", "remove them"
    VEHICLES = "L", "vehicle or plate numbers", "remove them"
    DEVICES = "M", "device or serial numbers", "remove them"
    LINKS = "N", "web addresses", "remove them"
    ADDRESSES = "O", "IP addresses", "remove them"
    BODIES = "P", "biometric data", "remove them"
    PICTURES = "Q", "pictures", "remove them"
    CODES = "R", "identifying codes", "remove them, or name them as the person column"
    FREE_TEXT = None, "free text", "remove it, or code what it says into categories"
    NEARLY_UNIQUE = None, "values that hardly two records share", "remove them, or make them coarser"

    def __init__(self, letter: str | None, called: str, advice: str) -> None:
        self.letter, self.called, self.advice = letter, called, advice

    @property
    def is_direct(self) -> bool:
        """Whether one value is enough to reach or look up one person."""
        return self in _DIRECT

    def hint(self) -> str:
        """Say what the rule asks for, with its letter; without one, what to do."""
        return self.advice if self.letter is None else f"HIPAA ({self.letter}): {self.advice}"


_DIRECT = {
    Sort.TELEPHONES, Sort.MAIL, Sort.SOCIAL, Sort.ACCOUNTS, Sort.VEHICLES, Sort.DEVICES, Sort.LINKS, Sort.ADDRESSES,
    Sort.PICTURES,
}  # fmt: skip
