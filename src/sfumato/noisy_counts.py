"""Counts with noise under differential privacy, and what releases of the same people spend."""

from sfumato.models.differential_privacy import DifferentialPrivacy as DifferentialPrivacy
from sfumato.policy.private_policy import PrivatePolicy as PrivatePolicy
from sfumato.release.private.folder import save_private as save_private
from sfumato.release.private.ledger import PrivacyLedger as PrivacyLedger
from sfumato.release.private.publish import publish_privately as publish_privately
from sfumato.release.private.release import PrivateRelease as PrivateRelease
