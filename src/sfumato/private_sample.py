"""Generalized records of a random sample under differential privacy."""

from sfumato.policy.private_policy import PrivateSamplePolicy as PrivateSamplePolicy
from sfumato.release.private.folder import save_private_sample as save_private_sample
from sfumato.release.private.publish import publish_private_sample as publish_private_sample
from sfumato.release.private.release import PrivateSampleRelease as PrivateSampleRelease
