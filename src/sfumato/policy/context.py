"""For whom a release is made: recipient, controls, and how likely somebody tries, as a section of the policy.

Every probability is an assumption that somebody states and answers for. Nothing here can be counted from data.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from sfumato.errors import PolicyError, raise_all
from sfumato.policy.entries import PolicyPart, problems_reported

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
WAYS = {
    "attempt": "somebody at the recipient tries on purpose",
    "recognition": "somebody recognizes a person without meaning to",
    "breach": "the file gets into other hands",
}
"""How it may come to an attack where the recipient is named, as the policy calls it."""


class Assumption(PolicyPart):
    """A probability that was not counted.

    Attributes
    ----------
    probability
        Above 0, at most 1: nobody can state that something never happens.
    owner
        Who states it: name and office.
    source
        What it rests on.
    """

    probability: Annotated[float, Field(gt=0, le=1)]
    owner: Words
    source: Words


class OwnThreshold(PolicyPart):
    """The risk that the steward accepts.

    Attributes
    ----------
    value
        The highest risk that is accepted.
    quantity
        Whether the person most at risk is meant, or the average.
    attempt
        Whether success is first multiplied with the probability that somebody tries.
    owner
        Who decided it: name and office.
    source
        What it rests on.
    """

    value: Annotated[float, Field(gt=0, le=1)]
    quantity: Literal["maximum", "average"]
    attempt: Literal["with", "without"]
    owner: Words
    source: Words


class Controls(PolicyPart):
    """What keeps the recipient from trying; say ``none`` where there is nothing.

    Attributes
    ----------
    access
        Who may open the file, and where.
    contract
        What the recipient has signed.
    training
        What people who open it have learned.
    audit
        Who looks at what they do.
    """

    access: Words
    contract: Words
    training: Words
    audit: Words


class Context(PolicyPart):
    """For whom a release is made, and what is assumed of them.

    Attributes
    ----------
    recipient
        Who gets the release.
    purpose
        What for.
    public
        Whether everybody may have it. An attempt is then certain, and no control counts.
    other_data
        What else they may hold about the same people.
    controls
        What keeps the recipient from trying.
    attempt
        How likely somebody at the recipient tries on purpose.
    recognition
        How likely somebody recognizes a person without meaning to.
    breach
        How likely the file gets into other hands.
    threshold
        The risk that is accepted, if none of the usual thresholds is meant.
    """

    recipient: Words
    purpose: Words
    public: bool = False
    other_data: Words
    controls: Controls | None = None
    attempt: Assumption | None = None
    recognition: Assumption | None = None
    breach: Assumption | None = None
    threshold: OwnThreshold | None = None

    @model_validator(mode="after")
    def _states_what_it_must(self) -> Self:
        stated = {name: getattr(self, name) is not None for name in ("controls", *WAYS)}
        with problems_reported(self.keys()):
            if self.public:
                wrong = [f"{name} means nothing for the public; leave it out" for name in stated if stated[name]]
            else:
                wrong = [f"{name} is missing; or say public = true" for name in stated if not stated[name]]
            raise_all(PolicyError, wrong)
        return self

    def assumptions(self) -> dict[str, Assumption]:
        """Return what is assumed of each way it may come to an attack; none where the recipient is the public."""
        stated = {name: getattr(self, name) for name in WAYS}
        return {name: one for name, one in stated.items() if one is not None}


FORM = """\
# For whom the release is made. Take away the # before a line, and fill it in. What is missing is asked for by name.
# The release holds nothing of this section: it goes into the evidence alone. Another recipient, another file.
[context]
# recipient = "…"         # who gets the release
# purpose = "…"           # what for
# other-data = "…"        # what else they may hold about the same people
# public = true           # if everybody may have it: an attempt is then certain; leave out all tables but the last

# What keeps the recipient from trying. Say "none" where there is nothing.
[context.controls]
# access = "…"            # who may open the file, and where
# contract = "…"          # what the recipient has signed
# training = "…"          # what people who open it have learned
# audit = "…"             # who looks at what they do

# How likely is it that somebody at the recipient tries on purpose? A usual scale, by controls and by motives and means:
#                         motives low   middle   high
#   controls strong              0.05      0.1    0.2
#   controls middle               0.2      0.3    0.4
#   controls weak                 0.4      0.5    0.6
# K. El Emam, Guide to the De-Identification of Personal Health Information, 2013: read it before you cite it. These are
# judgements of experts. Nobody counted them.
[context.attempt]
# probability = 0.3
# owner = "…"             # who states it: name and office
# source = "…"            # what it rests on

# How likely is it that somebody recognizes a person without meaning to? A usual way: 1 - (1 - p)^m, where p is the
# share of the population that is in the table, and m the number of people somebody knows, often 150.
[context.recognition]
# probability = 0.1
# owner = "…"
# source = "…"

# How likely is it that the file gets into other hands? Of health care organizations, a quarter had a breach in a year
# by surveys of about 2010; yours may differ.
[context.breach]
# probability = 0.27
# owner = "…"
# source = "…"

# The risk that you accept. Without this section: 0.09 for the public, 0.2 for a named recipient, both of the person
# most at risk and of success alone, as if somebody tries.
# [context.threshold]
# value = 0.09
# quantity = "maximum"    # of the person most at risk; or "average"
# attempt = "with"        # success × probability of an attempt; or "without"
# owner = "…"
# source = "…"
"""
"""The section as a form: as it stands, every line that is needed is missing."""
