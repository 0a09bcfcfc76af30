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

from studyapp.models import Mode, StudyVersion
from studyapp.queries.studies import frozen
from studyapp.questionnaires import Question
from studyapp.timing import PageTiming

PageName = Literal["item", "survey"]

CLOCK_FIELDS = tuple(field.name for field in fields(PageTiming))
_PAGE = Signer(sep=".", salt="studyapp.page")


@dataclass(frozen=True)
class Row:
    """One question as the form shows it, with what was chosen and what is wrong with it."""

    key: str
    text: str
    choices: tuple[tuple[str, str], ...]
    is_yes_no: bool
    required: bool
    chosen: str = ""
    error: str = ""


def rows(questions: Sequence[Question], sent: Mapping[str, str], errors: Mapping[str, str]) -> list[Row]:
    """The questions with what a person had sent and the errors in it."""
    return [
        Row(
            key=question.key,
            text=question.text,
            choices=question.choices,
            is_yes_no=question.scale == "yes_no",
            required=question.required,
            chosen=sent.get(question.key, ""),
            error=errors.get(question.key, ""),
        )
        for question in questions
    ]


def questions_of(version: StudyVersion, page: PageName) -> list[Question]:
    """The frozen questions of a page."""
    content = frozen(version)
    return content.item_questionnaire if page == "item" else content.post_survey


def questions_html(filled: Sequence[Row]) -> SafeString:
    """One fieldset per question."""
    return render_to_string("studyapp/participant/questions.html", {"rows": filled})


def empty_questions_html(version: StudyVersion, page: PageName) -> SafeString:
    """The fieldsets with nothing chosen, rendered once per process."""
    return _empty_questions_html(version.hash, version.pk, page)


@lru_cache(maxsize=128)
def _empty_questions_html(version_hash: str, version_pk: int, page: PageName) -> SafeString:
    version = StudyVersion(pk=version_pk, hash=version_hash)
    return questions_html(rows(questions_of(version, page), {}, {}))


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
