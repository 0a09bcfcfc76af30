"""Checks of a definition before a launch, beyond its form.

Pure: no Django. A draft may fail these checks while it is being written; participants may not see it then.
"""

import re
from collections.abc import Iterator
from datetime import date
from textwrap import shorten
from typing import NamedTuple

from foundation.messages import say
from studyapp.definition.conditions import find_undecided_systems
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.yaml_document import Location

# Text in brackets, a line to fill in, or a word that writers leave for later.
_PLACEHOLDER = re.compile(r"\[[^\[\]]+\]|_{3,}|\b(?:TODO|TBD|XXX|lorem ipsum)\b")
# A heading such as "Contact:" with nothing behind it before the next one or the end.
_EMPTY_PART = re.compile(r"^([^\n:]{1,60}):[ \t]*+(?=\n[ \t]*\n[^\n]*:[ \t]*$|\s*\Z)", re.MULTILINE)

SHORTEST_REASON = 5  # characters: "ok" explains nothing to a reader of the report
LONGEST_REASON = 2000

# The checks that refuse a launch, with the fields whose problems they collect; "definition" has the others.
REFUSING: dict[str, tuple[str, ...]] = {
    "definition": (),
    "consent": ("consent", "translations"),
    "retention": ("privacy",),
    "completion": ("completion", "recruitment"),
    "places": ("participants", "closes"),
}


class LaunchRefusal(NamedTuple):
    """A field that keeps a study from being launched, and why."""

    location: Location
    message: str


def check_of(location: Location) -> str:
    """Return the check that collects the problems of a field."""
    first = location[0] if location else ""
    return next((name for name, fields in REFUSING.items() if first in fields), "definition")


def launch_refusals(definition: StudyDefinition, today: date) -> Iterator[LaunchRefusal]:
    """Yield what has to change before participants may see the study.

    Args:
        definition: A complete definition.
        today: The day of the launch.
    """
    yield from _check_consent(definition)
    for system, index in find_undecided_systems(definition.conditions):
        message = say(
            "several conditions show %(system)r; mark the one that stands for it in rankings of systems",
            system=system,
        )
        yield LaunchRefusal(("conditions", index, "represents"), message)
    yield from _check_quotas(definition)
    yield from _check_days(definition, today)
    yield from _check_addresses(definition)


def _check_consent(definition: StudyDefinition) -> Iterator[LaunchRefusal]:
    consents: list[tuple[Location, str]] = [(("consent",), definition.consent)]
    for language, words in definition.translations.items():
        consents.append((("translations", language, "consent"), words.consent or ""))
    for location, text in consents:
        if placeholder := _PLACEHOLDER.search(text):
            message = say(
                "the consent still holds the placeholder %(text)r",
                text=shorten(placeholder[0], 80, placeholder=" …]"),
            )
            yield LaunchRefusal(location, message)
        if heading := _EMPTY_PART.search(text):
            message = say("the consent says nothing after %(heading)r", heading=f"{heading[1]}:")
            yield LaunchRefusal(location, message)
    if not definition.consent.strip():
        yield LaunchRefusal(("consent",), say("the consent is empty"))


def _check_quotas(definition: StudyDefinition) -> Iterator[LaunchRefusal]:
    """Yield quotas of answers that keep the study from ever being complete."""
    for question in definition.screening:
        most = question.most_admitted
        if most is not None and definition.participants is not None and most < definition.participants:
            message = say(
                "the quotas of %(key)s admit %(most)s of the %(n)s participants at most",
                key=question.key,
                most=most,
                n=definition.participants,
            )
            yield LaunchRefusal(("participants",), message)


def _check_days(definition: StudyDefinition, today: date) -> Iterator[LaunchRefusal]:
    """Yield days in the past, and a retention shorter than the study."""
    closes, retained = definition.closes, definition.privacy.retain_until
    if closes is not None and closes < today:
        message = say("nobody would be admitted: %(day)s is in the past", day=str(closes))
        yield LaunchRefusal(("closes",), message)
    if retained is None:
        return
    if retained <= today:
        message = say(
            "personal data would be removed at once: %(day)s is not in the future", day=str(retained)
        )
        yield LaunchRefusal(("privacy", "retain_until"), message)
    elif closes is not None and retained <= closes:
        message = say(
            "personal data would be removed while participants still come: %(day)s is not after the last "
            "day of admission, %(closes)s",
            day=str(retained),
            closes=str(closes),
        )
        yield LaunchRefusal(("privacy", "retain_until"), message)


def _check_addresses(definition: StudyDefinition) -> Iterator[LaunchRefusal]:
    """Yield addresses by which the panel would not learn who completed."""
    lacks = say("the address lacks {code}, so the panel would not learn who completed the study")
    address = definition.completion.redirect_url
    if address is not None and "{code}" not in address:
        yield LaunchRefusal(("completion", "redirect_url"), lacks)
    done = definition.recruitment.outcomes.get("done") if definition.recruitment else None
    if done is not None and done.url is not None:
        names = ("{code}", "{participant}", "{session}", *([done.code] if done.code else []))
        if not any(name in done.url for name in names):
            yield LaunchRefusal(("recruitment", "outcomes", "done", "url"), lacks)
