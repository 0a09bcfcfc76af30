"""Forms: the questions of a timed page, the key of a rendered page, and the staff's link form."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

from django import forms
from django.core.signing import BadSignature, Signer
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from studyapp.definition.freezing import FrozenStudy
from studyapp.definition.questionnaires import Kind, Question, Scale
from studyapp.models import Mode, StudyVersion
from studyapp.queries.studies import localised
from studyapp.rules.page_timing import PageTiming
from studyapp.web.posted_answers import Sent

# The pages with a form: an item, the survey at the end, or a stage before the items.
PageName = Literal["item", "survey", "screening", "instructions", "comprehension", "pre_survey"]

CLOCK_FIELDS = tuple(field.name for field in fields(PageTiming))
_PAGE = Signer(sep=".", salt="studyapp.page")


@dataclass(frozen=True)
class Row:
    """One question as the form shows it, with what was chosen and what is wrong with it."""

    key: str
    text: str
    kind: Kind
    choices: tuple[tuple[str, str], ...]
    required: bool
    scale: Scale
    chosen: tuple[str, ...] = ()
    error: str = ""

    @property
    def first_id(self) -> str:
        """The id of the first field: where the summary of errors leads to."""
        return f"{self.key}-1" if self.choices else self.key

    @property
    def written(self) -> str:
        """What a person had written into the field."""
        return self.chosen[-1] if self.chosen else ""

    @property
    def css(self) -> str:
        """The layout of the choices."""
        if self.kind == "likert":
            return "likert" if len(self.choices) <= 7 else "likert many"
        return "yes-no" if self.kind == "yes_no" else "list"


def rows(questions: Sequence[Question], sent: Sent, errors: Mapping[str, str]) -> list[Row]:
    """The questions with what a person had sent and the errors in it."""
    return [
        Row(
            key=question.key,
            text=question.text,
            kind=question.kind,
            choices=_labelled(question),
            required=question.required,
            scale=question.scale,
            chosen=_texts(sent.get(question.key, [])),
            error=errors.get(question.key, ""),
        )
        for question in questions
    ]


def _labelled(question: Question) -> tuple[tuple[str, str], ...]:
    """The choices; yes and no are the site's own words, in the language of the page."""
    return (("yes", _("Yes")), ("no", _("No"))) if question.kind == "yes_no" else question.choices


def _texts(sent: str | list[str]) -> tuple[str, ...]:
    return (sent,) if isinstance(sent, str) else tuple(sent)


def questions_of(version: StudyVersion, page: PageName, language: str = "") -> Sequence[Question]:
    """The frozen questions of a page, in one of the languages of the study."""
    return questions_on(localised(version, language), page)


def questions_on(content: FrozenStudy, page: PageName) -> Sequence[Question]:
    """The questions of a page."""
    asked: dict[PageName, Sequence[Question]] = {
        "item": content.item_questionnaire,
        "survey": content.post_survey,
        "screening": content.screening,
        "instructions": [],
        "comprehension": content.comprehension_questions,
        "pre_survey": content.pre_survey,
    }
    return asked[page]


def questions_html(filled: Sequence[Row]) -> SafeString:
    """One fieldset per question."""
    return render_to_string("studyapp/participant/questions.html", {"rows": filled})


def empty_questions_html(version: StudyVersion, page: PageName, language: str = "") -> SafeString:
    """The fieldsets with nothing chosen, rendered once per process and language, which is the active one."""
    return _empty_questions_html(version.hash, version.pk, page, language)


@lru_cache(maxsize=128)
def _empty_questions_html(version_hash: str, version_pk: int, page: PageName, language: str) -> SafeString:
    version = StudyVersion(pk=version_pk, hash=version_hash)
    return questions_html(rows(questions_of(version, page, language), {}, {}))


def page_key(page: PageName, pk: int) -> str:
    """Name the rendered page, so that what is sent cannot be taken for another page."""
    return _PAGE.sign(f"{page}-{pk}")


def new_consent_key() -> str:
    """Name one rendered consent page: sent twice, it makes one participant."""
    return _PAGE.sign(f"consent-{secrets.token_hex(10)}")


def consent_public_id(key: str) -> str | None:
    """The public id of the participant whom a consent page makes; None where the key is not ours."""
    try:
        kind, _dash, public_id = _PAGE.unsign(key).partition("-")
    except BadSignature:
        return None
    return public_id if kind == "consent" else None


class LinkForm(forms.Form):
    """A new entry link."""

    label = forms.CharField(
        max_length=100, required=False, help_text="Where you will share it. It is exported with the data."
    )
    mode = forms.ChoiceField(choices=Mode.choices)
    single_use = forms.BooleanField(required=False, label="For one person only")
    quota = forms.IntegerField(min_value=1, max_value=100_000, required=False, label="How many at most")
