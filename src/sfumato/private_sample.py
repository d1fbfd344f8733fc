"""Generalized records of a random sample under differential privacy."""

from sfumato.kinds.private_sample.make import publish_private_sample as publish_private_sample
from sfumato.kinds.private_sample.policy import PrivateSamplePolicy as PrivateSamplePolicy
from sfumato.kinds.private_sample.release import PrivateSampleRelease as PrivateSampleRelease
from sfumato.kinds.private_sample.release import save_private_sample as save_private_sample
