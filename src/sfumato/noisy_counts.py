"""Counts with noise under differential privacy, and what releases of the same people spend."""

from sfumato.kinds.noisy_counts.make import publish_privately as publish_privately
from sfumato.kinds.noisy_counts.policy import PrivatePolicy as PrivatePolicy
from sfumato.kinds.noisy_counts.release import PrivateRelease as PrivateRelease
from sfumato.kinds.noisy_counts.release import save_private as save_private
from sfumato.kinds.private.ledger import PrivacyLedger as PrivacyLedger
from sfumato.models.of_kinds import DifferentialPrivacy as DifferentialPrivacy
