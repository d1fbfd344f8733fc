"""All attacks by name, and linking with a register that names people."""

from sfumato.evaluation.attacks import ATTACKS as ATTACKS
from sfumato.evaluation.attacks.linking_attack import fits as fits
from sfumato.evaluation.attacks.linking_attack import linking_attack as linking_attack
