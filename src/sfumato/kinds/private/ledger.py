"""What all releases about the same people have spent together: a file of the steward's own."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError, SfumatoError, UnsatisfiableError, raise_all
from sfumato.kinds.private.check import SeriesSpent
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.numbers import counted
from sfumato.release.description import unambiguous
from sfumato.release.transaction import SPENT, alone, settle
from sfumato.table.schema import is_finite_number
from sfumato.whole_files import read_regular_text, write_whole

FORMAT = 1
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PrivacyLedger:
    """The total that releases may spend, and what each has spent; budgets add up (basic composition).

    Attributes
    ----------
    epsilon, delta : float
        What all releases together may spend.
    releases : tuple of DifferentialPrivacy
        What each has promised, in order.

    Raises
    ------
    PolicyError
        When the total is none.
    """

    epsilon: float
    delta: float = 0.0
    releases: tuple[DifferentialPrivacy, ...] = ()

    def __post_init__(self) -> None:
        """Check the total."""
        problems = []
        if not is_finite_number(self.epsilon) or self.epsilon <= 0:
            problems.append("total epsilon: must be a number above 0")
        if not is_finite_number(self.delta) or not 0 <= self.delta < 1:
            problems.append("total delta: must be a number from 0 to below 1")
        raise_all(PolicyError, problems)

    @property
    def spent(self) -> SeriesSpent:
        """What all releases have spent together."""
        return SeriesSpent(
            len(self.releases),
            float(sum(Decimal(repr(each.epsilon)) for each in self.releases)),
            float(sum(Decimal(repr(each.delta)) for each in self.releases)),
        )

    @classmethod
    def start(cls, path: str | os.PathLike[str], epsilon: float, delta: float = 0.0) -> PrivacyLedger:
        """Write a ledger of no releases; nothing that is there is replaced.

        Raises
        ------
        PolicyError
            When the total is none.
        InputError
            When there is a file already, or it cannot be written.
        """
        ledger = cls(epsilon, delta)
        with _alone(Path(path)) as real:
            if real.exists():
                raise InputError(f"{path}: is there already; a ledger is never started anew over another one")
            ledger._write(real)
        return ledger

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PrivacyLedger:
        """Read a ledger.

        Raises
        ------
        InputError
            When it cannot be read, or is none.
        """
        try:
            content = unambiguous(read_regular_text(path))
            if content["format"] != FORMAT:
                raise ValueError
            releases = tuple(DifferentialPrivacy(**_settings(each)) for each in content["releases"])
            return cls(content["total"]["epsilon"], content["total"]["delta"], releases)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); start a ledger first") from None
        except (SfumatoError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(f"{path}: is no ledger of privacy budgets, or is damaged") from None

    @classmethod
    def spend(cls, path: str | os.PathLike[str], model: DifferentialPrivacy) -> SeriesSpent:
        """Write down what a release will spend, before anything is drawn.

        Raises
        ------
        InputError
            When the ledger cannot be read or written.
        PolicyError
            When its releases are about another unit.
        UnsatisfiableError
            When the release would go beyond the total.
        """
        with _alone(Path(path)) as real:
            ledger = cls.read(path)
            after = cls(ledger.epsilon, ledger.delta, (*ledger.releases, model))
            if any((each.max_records is None) != (model.max_records is None) for each in ledger.releases):
                raise PolicyError(
                    f"{path}: some of its releases are about people with all of their records, others about records; "
                    "these do not add up, so keep a ledger for each"
                )
            spent = after.spent
            if Decimal(repr(spent.epsilon)) > Decimal(repr(float(ledger.epsilon))) or spent.delta > ledger.delta:
                raise UnsatisfiableError(
                    f"{path}: this release would bring the series to ε = {spent.epsilon:g}, δ = {spent.delta:g}. That "
                    f"is more than its total of ε = {ledger.epsilon:g}, δ = {ledger.delta:g}; nothing was drawn"
                )
            after._write(real)
            SPENT.append(str(path))
        return spent

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "format": FORMAT,
            "total": {"epsilon": self.epsilon, "delta": self.delta},
            "releases": [dict(each.parameters()) for each in self.releases],
        }

    def __str__(self) -> str:
        """Return what was spent, and by which promises."""
        spent, many = self.spent, len(self.releases) != 1
        total = (
            f"{counted(spent.release, 'release')} {'have' if many else 'has'} spent ε = {spent.epsilon:g} of "
            f"{self.epsilon:g}, δ = {spent.delta:g} of {self.delta:g}"
        )
        return "\n".join([total, *(f"  {each}" for each in self.releases)])

    def _write(self, path: Path) -> None:
        """Replace the file once the new one is on the disk: what is spent is never forgotten."""
        try:
            write_whole(path, json.dumps(self.to_dict(), indent=2) + "\n")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def _settings(entry: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise TypeError
    return dict(entry)


@contextmanager
def _alone(path: Path) -> Iterator[Path]:
    """Keep other runs out of a ledger's folder, which could forget what this one spends, and give its one place."""
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise InputError(f"{path}: its folder is not there")
    with alone(real.parent):
        if real.exists() and real.stat().st_nlink > 1:
            raise InputError(f"{path}: the file has a second name (a hard link), which would not learn what is spent")
        for line in settle(real):
            log.warning("%s", line)
        yield real
