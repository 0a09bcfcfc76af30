"""Recruitment platforms: the IDs they send and how participants return.

Pure: no Django. ``PLATFORMS`` is the one table of platforms. Formats: Prolific, "Integrate your study" and
researcher help article f0a9b6; CloudResearch Connect help, "Project completion"; Sona Systems, "web-based
studies: automatic credit granting"; Amazon Mechanical Turk, Requester API, "ExternalQuestion".

Exceptions: `BadArrival`, whose ``why`` is one of `Why`.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, Self, get_args
from urllib.parse import quote, urlsplit

from pydantic import Field, field_validator, model_validator

from foundation.frozen_model import FrozenModel, Growing
from foundation.messages import value_error
from studyapp.errors import StudyappError

Outcome = Literal["done", "no_consent", "screened_out", "failed_comprehension", "full"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
PlatformName = Literal["prolific", "connect", "sona", "mturk", "generic"]
Why = Literal["preview", "missing", "unfilled", "malformed", "unsigned", "badly_signed"]


class Platform(NamedTuple):
    """A platform: the parameters it fills in and its completion address.

    ``person``, ``study`` and ``session`` name parameters ("" if there is none). ``back`` is the address
    that ends a submission with ``{code}``, "" if each project has one of its own. ``preview`` is a
    parameter and the value that it has in the platform's preview.
    """

    label: str
    person: str
    study: str = ""
    session: str = ""
    back: str = ""
    preview: tuple[str, str] | None = None
    needs_person: bool = True


PLATFORMS: dict[PlatformName, Platform] = {
    "prolific": Platform(
        "Prolific",
        person="PROLIFIC_PID",
        study="STUDY_ID",
        session="SESSION_ID",
        back="https://app.prolific.com/submissions/complete?cc={code}",
    ),
    "connect": Platform(
        "CloudResearch Connect", person="participantId", study="projectId", session="assignmentId"
    ),
    "sona": Platform("Sona Systems", person="survey_code"),
    "mturk": Platform(
        "Amazon Mechanical Turk",
        person="workerId",
        study="hitId",
        session="assignmentId",
        preview=("assignmentId", "ASSIGNMENT_ID_NOT_AVAILABLE"),
    ),
    "generic": Platform(
        "another platform", person="participant", study="study", session="session", needs_person=False
    ),
}

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:-]{0,99}")
# Placeholders of values that the platform should fill in: {{%PROLIFIC_PID%}}, %SURVEY_CODE%, ${…}, XXXX.
_UNFILLED = re.compile(r"\{\{.*\}\}|%.*%|\$\{.*\}|X{4,}")
_PLACEHOLDERS = ("code", "participant", "session", "study")


class Arrival(NamedTuple):
    """The platform's own IDs of a visitor; "" if it sends none."""

    platform: PlatformName
    person: str
    study: str = ""
    session: str = ""


class BadArrival(StudyappError):
    """The address of a visitor lacks an ID that the platform should add."""

    def __init__(self, why: Why, parameter: str = "") -> None:
        super().__init__(f"{why}: {parameter}" if parameter else why)
        self.why: Why = why
        self.parameter = parameter


class WayBack(NamedTuple):
    """The code and the address shown to a participant who ends; "" for none.

    ``platform`` is where they lead to.
    """

    code: str = ""
    url: str = ""
    platform: PlatformName | None = None

    @property
    def platform_label(self) -> str:
        """The name of the platform; "" if it is not one of those known."""
        return "" if self.platform in (None, "generic") else PLATFORMS[self.platform].label


class Ending(FrozenModel):
    """The code and the address of one outcome."""

    code: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,60}$")] | None = Field(
        default=None,
        description="the platform's code for this outcome, the same for everybody; for `done`, if left out,"
        " each participant gets a random code",
    )
    url: str | None = Field(
        default=None,
        description="https address to continue to; `{code}`, `{participant}`, `{session}` and `{study}` in "
        "it become the code and the ids that came from the platform. Prolific needs none",
    )

    @field_validator("url")
    @classmethod
    def _is_a_safe_address(cls, url: str | None) -> str | None:
        return None if url is None else check_address(url, _PLACEHOLDERS)


class Pay(FrozenModel):
    """The pay that participants are promised."""

    amount: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] = Field(
        description="pay of a participant who completes, such as `3.5`"
    )
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = Field(
        description="its currency in three letters, such as `GBP`"
    )


class Recruitment(Growing):
    """The platform of a study, and its codes by outcome."""

    FIRST = frozenset({"parameter", "signed_urls", "outcomes"})

    platform: PlatformName = Field(
        description="recruitment platform: " + ", ".join(f"`{name}`" for name in PLATFORMS)
    )
    parameter: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,60}$")] | None = Field(
        default=None,
        description="address parameter with the participant's ID, if it is not the platform's usual one, "
        "the only one that `signed_urls` takes",
    )
    signed_urls: bool = Field(
        default=False, description="Prolific only: require a valid signature of Prolific"
    )
    pay: Pay | None = Field(
        default=None, description="the pay that participants are promised; for the report, it pays nobody"
    )
    outcomes: dict[Outcome, Ending] = Field(
        default={},
        description="a `code`, a `url` or both for each of " + ", ".join(f"`{name}`" for name in OUTCOMES),
    )

    @model_validator(mode="after")
    def _check_platform(self) -> Self:
        platform = PLATFORMS[self.platform]
        if self.signed_urls and self.platform != "prolific":
            raise value_error("signed_urls: only Prolific signs its addresses")
        done = self.outcomes.get("done", Ending())
        if platform.back and not (done.code or done.url):
            raise value_error(
                "outcomes: %(platform)s needs a code or a url for done", platform=platform.label
            )
        for outcome, ending in self.outcomes.items():
            if ending.code is None and outcome != "done" and "{code}" in (ending.url or ""):
                raise value_error("outcomes: %(outcome)s has {code} in its url, but no code", outcome=outcome)
        return self

    @property
    def person_parameter(self) -> str:
        """The address parameter that holds a person's ID.

        With signed addresses it is the platform's own, which alone is signed.
        """
        own = PLATFORMS[self.platform].person
        return own if self.signed_urls else self.parameter or own

    def way_back(self, outcome: Outcome, arrival: Arrival | None, own_code: str = "") -> WayBack:
        """Return the code and the address for a participant who ends.

        ``own_code`` is the participant's own, for an outcome without a code. An address that needs a
        missing ID is left out.
        """
        ending = self.outcomes.get(outcome, Ending())
        code = ending.code or own_code
        address = ending.url or (PLATFORMS[self.platform].back if ending.code else "")
        values = {"code": code}
        if arrival is not None:
            values |= {"participant": arrival.person, "session": arrival.session, "study": arrival.study}
        for name in _PLACEHOLDERS:
            if f"{{{name}}}" in address:
                if not values.get(name):
                    return WayBack(code, platform=self.platform)
                address = address.replace(f"{{{name}}}", quote(values[name], safe=""))
        return WayBack(code, address, self.platform)


def check_address(url: str, placeholders: tuple[str, ...]) -> str:
    """Check an https address with placeholders outside the host name.

    A placeholder is ``{name}``, for one of ``placeholders``.

    Raises:
        ValueError: says what is wrong with it.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise value_error("is not an address: %(error)s", error=str(error)) from error
    if parts.scheme != "https" or not parts.hostname or parts.username is not None:
        raise value_error("must be a full address that begins with https://")
    allowed = ", ".join(f"{{{name}}}" for name in placeholders)
    if any(f"{{{name}}}" in parts.netloc for name in placeholders):
        raise value_error("%(places)s may not be part of the host name", places=allowed)
    plain = url
    for name in placeholders:
        plain = plain.replace(f"{{{name}}}", "")
    if not plain.isascii() or any(sign in plain for sign in "{}<>\"'\\^`| ") or not plain.isprintable():
        raise value_error(
            "contains a character that an address may not have; allowed placeholders: %(places)s",
            places=allowed,
        )
    return url


def read_arrival(recruitment: Recruitment, sent: Mapping[str, str]) -> Arrival | None:
    """Return the IDs in the parameters of an address.

    Returns None if there are none and the platform needs none.

    Raises:
        BadArrival: the platform's preview, or a parameter is missing, was not filled in, or is malformed.
    """
    platform = PLATFORMS[recruitment.platform]
    if platform.preview is not None and sent.get(platform.preview[0]) == platform.preview[1]:
        raise BadArrival("preview")
    person = _read_id(sent, recruitment.person_parameter)
    if not person:
        if platform.needs_person:
            raise BadArrival("missing", recruitment.person_parameter)
        return None
    return Arrival(
        recruitment.platform, person, _read_id(sent, platform.study), _read_id(sent, platform.session)
    )


def _read_id(sent: Mapping[str, str], parameter: str) -> str:
    value = sent.get(parameter, "").strip() if parameter else ""
    if not value:
        return ""
    if _UNFILLED.fullmatch(value):
        raise BadArrival("unfilled", parameter)
    if not _ID.fullmatch(value):
        raise BadArrival("malformed", parameter)
    return value
