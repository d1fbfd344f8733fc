"""Ratings of many issues by people: reading, checking, publishing, attacking and measuring them."""

from sfumato.anonymizers.ratings.loss import RatingLoss as RatingLoss
from sfumato.evaluation.attacks.ratings import RatingAttack as RatingAttack
from sfumato.evaluation.attacks.ratings import attack_ratings as attack_ratings
from sfumato.evaluation.attacks.ratings import hold_out_ratings as hold_out_ratings
from sfumato.evaluation.utility.ratings import RatingUtility as RatingUtility
from sfumato.evaluation.utility.ratings import rating_utility as rating_utility
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity as RatingAnonymity
from sfumato.policy.rating_policy import RatingPolicy as RatingPolicy
from sfumato.published.checks.ratings.check import check_ratings as check_ratings
from sfumato.published.checks.ratings.satisfaction import Satisfaction as Satisfaction
from sfumato.release.ratings.anonymize import anonymize_ratings as anonymize_ratings
from sfumato.release.ratings.folder import save_ratings as save_ratings
from sfumato.release.ratings.release import RatingRelease as RatingRelease
from sfumato.table.ratings.ratings import Ratings as Ratings
from sfumato.table.ratings.reading import read_ratings as read_ratings
from sfumato.table.ratings.scale import Scale as Scale
from sfumato.table.ratings.sensitive import SensitiveIssues as SensitiveIssues
