"""Ratings of many issues by people: reading, checking, publishing, attacking and measuring them."""

from sfumato.kinds.ratings.attack import RatingAttack as RatingAttack
from sfumato.kinds.ratings.attack import attack_ratings as attack_ratings
from sfumato.kinds.ratings.attack import hold_out_ratings as hold_out_ratings
from sfumato.kinds.ratings.check import Satisfaction as Satisfaction
from sfumato.kinds.ratings.check import check_ratings as check_ratings
from sfumato.kinds.ratings.make import RatingLoss as RatingLoss
from sfumato.kinds.ratings.make import anonymize_ratings as anonymize_ratings
from sfumato.kinds.ratings.measure import RatingUtility as RatingUtility
from sfumato.kinds.ratings.measure import rating_utility as rating_utility
from sfumato.kinds.ratings.policy import RatingPolicy as RatingPolicy
from sfumato.kinds.ratings.ratings import Ratings as Ratings
from sfumato.kinds.ratings.ratings import Scale as Scale
from sfumato.kinds.ratings.ratings import SensitiveIssues as SensitiveIssues
from sfumato.kinds.ratings.reading import read_ratings as read_ratings
from sfumato.kinds.ratings.release import RatingRelease as RatingRelease
from sfumato.kinds.ratings.release import save_ratings as save_ratings
from sfumato.models.of_kinds import RatingAnonymity as RatingAnonymity
