"""Starting a series: its policy settled once, its ledger, and its public folder."""

from __future__ import annotations

import logging
import secrets
import shutil
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all
from sfumato.models.protocol import PrivacyModel
from sfumato.policy.people import People
from sfumato.policy.policy import Policy
from sfumato.recoding import Recoding
from sfumato.release.arguments import setting_problems
from sfumato.release.folder import check_target, whole_folder
from sfumato.series.acceptable import key_of_series, published_policy, refuse, stored_policy
from sfumato.series.attesting import settle_series
from sfumato.series.description import FILE, SeriesDescription
from sfumato.series.encryption import check_key_place, cipher_of
from sfumato.series.ledger import check_ledger_place, new_ledger, remove_ledger
from sfumato.series.next_release import Running
from sfumato.series.people import mark_of_series
from sfumato.series.private_files import locked
from sfumato.series.step import Step, next_step
from sfumato.series.ways import APPEND, WAYS, refuse_unknown
from sfumato.table.schema import Schema

if TYPE_CHECKING:
    from sfumato.series.series import Series


log = logging.getLogger(__name__)


def started(
    series: Series,
    policy: Policy | Schema,
    models: Sequence[PrivacyModel] | PrivacyModel = (),
    *,
    key: str | Sequence[str] | None = None,
    table: object = None,
    way: str = APPEND,
    how: Running = Running(),  # noqa: B008 - a frozen value
) -> Step | None:
    """Make the ledger and the folder of a series, and publish the first people; see :meth:`sfumato.Series.start`.

    A kill in between leaves a series without releases, or a ledger without a series, which the next start takes away.
    """
    refuse_unknown(way, first=table is not None)
    meant = _policy(policy, models)
    refuse(meant, way)
    column = key_of_series(meant, key, way)
    stored = stored_policy(meant, several=WAYS[way].people)
    # The ledger is read by the checks of a policy file, which see more than those of a call.
    Policy.from_mapping(stored.to_mapping())
    _check_places(series)
    _made(series, stored, column, way)
    if table is None:
        return None
    try:
        return next_step(series, table, way, how, may_wait=False)
    except BaseException:
        _taken_back(series)
        raise


def _check_places(series: Series) -> None:
    # A start that was killed comes to its end before this one is refused, or begins.
    with suppress(SfumatoError):
        for line in settle_series(series):
            log.warning("%s", line)
    if (series.folder / FILE).is_file():
        raise InputError(f"{series.folder}: already holds a series; append to it with sfumato series append")
    check_target(series.folder, overwrite=False)
    check_ledger_place(series.ledger, series.folder)
    check_key_place(series.ledger_key, (series.ledger, series.folder))


def _made(series: Series, policy: Policy, column: str | tuple[str, ...], way: str) -> None:
    cipher, published = cipher_of(series.ledger_key), tomllib.loads(published_policy(policy, way))
    with new_ledger(series.ledger, secrets.token_hex(16), column, policy, way, cipher) as ledger:
        description = SeriesDescription(ledger.series, mark_of_series(ledger.series, ledger.key), published, way)
        with whole_folder(series.folder) as part:
            (part / FILE).write_text(description.text(), encoding="utf-8")


def _taken_back(series: Series) -> None:
    """Remove a series that has no release."""
    # A run that is killed here is known by the lock.
    with suppress(SfumatoError, OSError), locked(series.ledger):
        if not series.releases:
            shutil.rmtree(series.folder)
            remove_ledger(series.ledger)


def _policy(policy: Policy | Schema, models: Sequence[PrivacyModel] | PrivacyModel) -> Policy:
    listed = [models] if isinstance(models, PrivacyModel) else list(models)
    if isinstance(policy, Policy):
        if listed:
            raise PolicyError("models: the policy names them already; leave them out")
        return policy
    if not isinstance(policy, Schema):
        raise PolicyError("policy: give a Policy, or a Schema with models beside it")
    raise_all(PolicyError, setting_problems(listed, Mondrian(), Recoding(), 0.0, 0, People()))
    return Policy.of(policy, listed, Mondrian(), Recoding(), 0.0, 0, People())
