"""``sfumato evidence``: for whom a release is made, as a form, and the page about it that is signed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Overwrite, PolicyFile, ReleasePlace
from sfumato.cli.outcome import say
from sfumato.cli.report import report
from sfumato.errors import InputError

HELP = """The evidence for a named recipient: what is assumed of them, what was counted, what was attacked.

init writes a form for the recipient. write makes the page, as sfumato report does.
task writes a package for a person who is to look for people; score holds the answers against the key.
"""
EXAMPLE = """\b
Example:
  sfumato evidence init --policy policy.toml --out for-institute.toml
  sfumato evidence write patients-release/ --original patients.csv \\
      --policy for-institute.toml --out evidence.html
  sfumato evidence task patients-release/ --original patients.csv \\
      --control others.csv --policy policy.toml --out task/ --key task.key.json
  sfumato evidence score task/answers.csv --key task.key.json --out intruder.json
"""

write = report


FORM = """\
# For whom the release is made. Take away the # before a line, and fill it in. What is missing is asked for by name.
# The release holds nothing of this section: it goes into the evidence alone. Another recipient, another file.
[context]
# recipient = "…"         # who gets the release
# purpose = "…"           # what for
# other-data = "…"        # what else they may hold about the same people
# review = "…"            # when the release is looked at again, and after which events
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
# Information and Privacy Commissioner of Ontario, De-identification Guidelines for Structured Data, 2016, step 5, after
# K. El Emam, Guide to the De-Identification of Personal Health Information, 2013. Experts judged; nobody counted.
[context.attempt]
# probability = 0.3
# owner = "…"             # who states it: name and office
# source = "…"            # what it rests on

# How likely is it that somebody recognizes a person without meaning to? A usual way: 1 - (1 - p)^m, where p is the
# share of the population with the condition that the table is about, and m the number of people somebody knows: 150 to
# 190 (the same guidelines, step 5).
[context.recognition]
# probability = 0.1
# owner = "…"
# source = "…"

# How likely is it that the file gets into other hands? Take what was published on breaches in the recipient's branch;
# no figure fits all. A breach then counts as an attempt.
[context.breach]
# probability = …
# owner = "…"
# source = "…"

# Of how many people may the table speak? Risks of who does not know who is in it are estimated at both ends.
# [context.population]
# least = 40000
# most = 60000
# owner = "…"
# source = "…"            # a census, and what is uncertain about it

# The risk that you accept. Without this section: 0.09 for the public, 0.2 for a named recipient, both of the person
# most at risk and of success alone, as if somebody tries.
# [context.threshold]
# value = 0.09
# quantity = "maximum"    # of the person most at risk; or "average"
# attempt = "with"        # success × probability of an attempt; or "without"
# attacker = "prosecutor" # who knows that somebody is in the table; or "journalist", who does not
# owner = "…"
# source = "…"

# Who stands for what this section says. Without it, nothing of it counts as answered in the list of what standards ask.
# [context.author]
# name = "…"
# role = "…"
# day = "2026-11-30"

# What the evidence lists as not answered, a person may answer. One entry for each question, by the name that is listed.
# [[context.answers]]
# question = "iso-27559 9.4"
# answer = "…"
# name = "…"
# role = "…"
# day = "2026-11-30"
"""
"""The section as a form: as it stands, every line that is needed is missing."""


def init(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Policy file to write; - for standard output, the form alone.")
    ] = Path("-"),
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Policy of the release, which the form is added to.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a form: who gets the release, under which controls, and how likely somebody tries.

    It is the section [context] of a policy. Lines that are not filled in are asked for by name. A policy file for each
    recipient serves one release folder: the release holds nothing of this section.
    """
    from sfumato.policy.file import read_policy
    from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

    text = FORM
    if policy is not None:
        if "context" in read_policy(policy):
            raise InputError(f"{policy}: has a section [context] already; edit it, or name another policy")
        if str(out) != "-" and out.absolute().parent != policy.absolute().parent:
            raise InputError(f"--out: name a file beside {policy}; hierarchies that it names are looked for there")
        text = f"{read_regular_text(policy).rstrip()}\n\n{FORM}"
    if str(out) == "-":
        return say(text.rstrip("\n"))
    if out.exists() and not overwrite:
        raise InputError(f"{out}: already exists; name another file or add --overwrite")
    try:
        write_whole(out, text, PRIVATE)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    say(f"Form written to {out}. Fill it in, then: sfumato evidence write RELEASE --original TABLE --policy {out}")


def task(
    release: ReleasePlace,
    original: Annotated[str, typer.Option(metavar="FILE", help="The table that the release was made from.")],
    control: Annotated[str, typer.Option(metavar="FILE", help="People who are not in the data.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The package to hand over; a new folder.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="Who is who, for you alone; a new file.")],
    people: Annotated[int, typer.Option(metavar="COUNT", help="People in the register; half are in the data.")] = 40,
    sources: Annotated[str, typer.Option(metavar="TEXT", help="What else the person may use, in words.")] = "none",
    policy: PolicyFile = None,
    seed: Annotated[int | None, typer.Option(help="Draws the same people; for tests.")] = None,
) -> None:
    """Write a package for somebody who is to look for people in a release, and the key to the answers.

    The package holds the release, a register of people with the values that others may know, a form, and rules. The
    policy is the release's own unless --policy names the one that made it.
    """
    from sfumato.cli.released import policy_file, release_problem
    from sfumato.cli.words import Words, policy_of
    from sfumato.evidence.intruder import make_task
    from sfumato.table.reading import read_table

    if problem := release_problem(release):
        raise InputError(problem)
    meant = policy_of(Words(policy=policy_file(release, policy)))
    tables = read_table(original, meant), read_table(control, meant.beside(control))
    say(make_task(release, *tables, out, key, people=people, sources=sources, seed=seed))


def score(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="The form of a package, filled in.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="The key of the package.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result, for sfumato evidence write --intruder.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Hold the answers of somebody who looked for people against the key, with intervals."""
    from sfumato.evidence.intruder import score_answers
    from sfumato.whole_files import PRIVATE, write_whole

    if out is not None and out.exists() and not overwrite:
        raise InputError(f"{out}: already exists; name another file or add --overwrite")
    found = score_answers(answers, key)
    text = json.dumps(found, indent=2, ensure_ascii=False)
    if out is not None:
        try:
            write_whole(out, text + "\n", PRIVATE)
        except OSError as error:
            raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    say(text if as_json else "\n".join(found["sentences"]))
