"""A release of any kind, read against its original, and what can be measured on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.errors import InputError, SfumatoError
from sfumato.evaluation.attacks.posterior import posterior_blocks, sensitive_of
from sfumato.evaluation.utility.answers import QueryErrors, Questions, summarize
from sfumato.evaluation.utility.classifiers import LEARNERS, Accuracy, Encoding, Learner, TrainedOnce, accuracies
from sfumato.evaluation.utility.correlations import guessing_accuracy, privacy_losses
from sfumato.evaluation.utility.domains import AttributeDomain
from sfumato.evaluation.utility.joint import Joint
from sfumato.evaluation.utility.queries import AGGREGATES
from sfumato.evaluation.utility.views import Original, Rows, drawn_records, read_joint, read_release_rows
from sfumato.published import Published, PublishedTable, RandomizedTable
from sfumato.published.protocol import order_by_content
from sfumato.recoding import Recoding
from sfumato.release.opening import open_release
from sfumato.release.release import Release
from sfumato.table.row_order import order_rows as settled_table
from sfumato.table.table import Table


@dataclass(frozen=True)
class _AttackerView:
    """What a release tells attackers about one sensitive attribute.

    `baseline`, `adversary`: as in :class:`~sfumato.evaluation.utility.correlations.DirectComparison`. `privacy_loss`:
    as in :class:`~sfumato.evaluation.utility.correlations.TradeOff`.
    """

    sensitive: str
    baseline: float
    adversary: float
    privacy_loss: float


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseView:
    """A release and its original, both read.

    `original`: Read once, and shared by all releases of it. `recoding`: How a generalized table was published. `after`:
    The release's joint distribution of all attributes, by records. `weighted`: The same by the people whom they stand
    for.
    """

    published: Published
    original: Original
    recoding: Recoding
    after: Joint
    weighted: Joint

    @classmethod
    def of(
        cls,
        release: Release | Published | str | Path,
        original: Original,
        recoding: Recoding | None = None,
        weights: str | None = None,
    ) -> ReleaseView:
        """Read a release, and its column of weights if one is named.

        Raises InputError when it cannot be read against the original.
        """
        opened = open_release(release)
        chosen, published = recoding or opened.policy.recoding(), order_by_content(opened.published)

        def read(rows: Published) -> tuple[Joint, Joint]:
            after = read_joint(rows, original.domains, chosen)
            return after, after if weights is None else read_joint(rows, original.domains, chosen, weights)

        try:
            return cls(published, original, chosen, *read(published))
        except SfumatoError:
            # A message names rows as they stand in the release.
            read(opened.published)
            raise

    @property
    def domains(self) -> Mapping[str, AttributeDomain]:
        """Attributes of the original."""
        return self.original.domains

    @property
    def having_values(self) -> list[str]:
        """Return the published attributes of which the original has at least one value."""
        return [name for name in self.after.spreads if self.domains[name].attribute.size]

    def learnt(
        self,
        holdout: Table,
        targets: Sequence[str] | None = None,
        learners: Sequence[Learner] = LEARNERS,
        encoding: Encoding = "midpoint",
        seed: int | None = None,
        trained: TrainedOnce | None = None,
    ) -> tuple[Accuracy, ...]:
        """Train classifiers on release and original, and test them on held-out records; None: the usual targets."""
        return accuracies(
            self.original.joint,
            self.after,
            settled_table(holdout),
            self.domains,
            targets=self._usual_targets() if targets is None else targets,
            learners=learners,
            encoding=encoding,
            seed=seed,
            trained=trained,
        )

    def attacker_views(self) -> tuple[list[_AttackerView], str]:
        """Return what attackers gain by asking the release about every person, or why that is unknown."""
        names = [name for name in sensitive_of(self.published) if name in self.domains]
        if not names:
            return [], "the release has no sensitive attribute"
        if isinstance(self.published, RandomizedTable):
            return [], "a randomized table says nothing certain about single people"
        try:
            return [self._attacker_view(name) for name in names], ""
        except InputError as error:
            return [], "; ".join(error.problems)

    def rows(self, weights: str | None = None, seed: int | None = None) -> Rows:
        """Return the release's records one by one; where its rows are none, they are put together at random."""
        if isinstance(self.published, (PublishedTable, RandomizedTable)):
            return read_release_rows(self.published, self.domains, self.recoding, weights)
        labels = drawn_records(self.after, np.random.default_rng(seed))
        return Rows(self.after.spreads, labels, np.ones(len(next(iter(labels.values())))))

    def _attacker_view(self, sensitive: str) -> _AttackerView:
        right, most, table = 0.0, 0.0, self.original.table
        for rows, beliefs in posterior_blocks(self.published, table, sensitive=sensitive, recoding=self.recoding):
            truth = beliefs.codes_of(table.frame[sensitive][rows])
            right += float(guessing_accuracy(beliefs.shares, truth).sum())
            most = max(most, float(privacy_losses(beliefs.shares, beliefs.prior).max()))
        frequent = int(np.bincount(self.domains[sensitive].codes).max())
        return _AttackerView(sensitive, frequent / table.height, right / table.height, most)

    def _usual_targets(self) -> list[str]:
        schema = self.original.table.schema
        quasi = [name for name in schema.quasi_identifying if self.domains[name].numbers is None]
        return [name for name in [*schema.sensitive, *quasi[:1]] if name in self.after.spreads]


def error_figures(questions: Questions, published: Joint) -> tuple[dict[str, QueryErrors], dict[str, str]]:
    """Return the errors of each aggregate, and why some have none."""
    errors = questions.errors(published)
    aggregates = np.array([query.aggregate for query in questions.workload])
    found: dict[str, QueryErrors] = {}
    unmeasured: dict[str, str] = {}
    for aggregate in AGGREGATES:
        own = errors[aggregates == aggregate]
        if not np.all(np.isnan(own)):
            found[aggregate] = summarize(own)
        elif len(own):
            unmeasured[f"{aggregate} queries"] = "none has an answer in the original"
    return found, unmeasured
