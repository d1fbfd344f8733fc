"""Recounting private samples; nothing here knows how they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.private.sampling import sample_verification
from sfumato.published.private_sample import SAMPLE, PrivateSample
from sfumato.release.agreement import Difference, policy_checks
from sfumato.release.policy_text import PublishedPolicy
from sfumato.release.private.sample_description import SampleDescription, read_sample_description
from sfumato.release.private.sample_release import PrivateSampleRelease
from sfumato.release.private.verify import promise_differences, read_texts
from sfumato.release.table_files import integrity, refuse_missing
from sfumato.release.text_files import text_checks


def verify_private_sample(release: PrivateSampleRelease) -> Verification:
    """Recount a release in memory anew."""
    return sample_verification(release.published, release.budget, release.model, release.series)


def verify_sample_folder(folder: Path, text: str) -> Verification:
    """Recount what can be recounted of a release folder; `text` is its ``release.json``.

    Raises
    ------
    VerificationError
        When the folder is damaged so that nothing can be counted.
    SfumatoError
        When the file cannot be read as a table.
    """
    description, facts = read_sample_description(text)
    refuse_missing(folder, {SAMPLE: facts})
    table = read_texts(folder / facts.file, facts, tuple(description.domains))
    published = PrivateSample.assemble({SAMPLE: table}, description.structure)
    verification = sample_verification(published, description.budget, description.model, description.series)
    agreement = policy_checks(PublishedPolicy.of_folder(folder), partial(sample_differences, description=description))
    files = text_checks(folder, text, [facts.file], 0.0, verification)
    whole = integrity(folder / facts.file, facts, table)
    return replace(verification, checks=(whole, *verification.checks, *agreement, *files))


def sample_differences(content: Mapping[str, Any], description: SampleDescription) -> Iterator[Difference]:
    """Compare the policy of a private sample with its description: promise, columns, and levels that are named."""
    yield from promise_differences(content, description)
    sampling = content.get("sampling", {})
    named_levels = sampling.get("levels", {})
    if any(description.levels.get(name) != level for name, level in named_levels.items()):
        yield Difference("levels", "some", "others")
    if (description.budget.scale is None) != set(description.levels).issubset(named_levels):
        yield Difference("search", *(("none", "one") if description.budget.scale is not None else ("one", "none")))
    share = sampling.get("share")
    if share is not None and description.budget.share > share:
        yield Difference("share of the records", "a smaller one", "a larger one")
