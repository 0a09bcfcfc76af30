"""Staff and annotators can read every page in another language.

Every word of the program is in the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from django.apps import apps
from django.db import models
from django.test import Client
from django.utils.translation import trans_real

from accounts.models import Role as AccountRole
from accounts.models import User
from annotation.actions import assignments
from annotation.actions.projects import set_member
from annotation.models import Role
from predictions.models import PredictionRun
from studyapp.actions.correctness import judge, queue_answers
from studyapp.actions.running import write_note
from studyapp.actions.shares import share_study
from studyapp.definition.languages.builtin_translations import WORDINGS
from studyapp.definition.participation.recruitment import PLATFORMS
from studyapp.models import JudgedAnswer
from studyapp.queries.design.correctness import find_missed_answers
from tests.accounts.people import make_invitation, make_token
from tests.annotation import factories as annotation
from tests.annotation.views.test_output_pages import boxes_with_gold
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

STARTS = (
    "/staff/",
    "/staff/studio/",
    "/staff/correctness/",
    "/staff/archive/",
    "/annotate/",
    "/people/",
    "/people/site/accounts/",
    "/people/site/audit/",
    "/account/tokens/",
    "/accounts/",
    "/no/such/page/",
)
NO_PAGE = re.compile(r"/(api|admin|logout|join|images?|static)/|\.(csv|yaml|json|md)$")
SHOWN = re.compile(r'(?:aria-label|title|alt|placeholder|summary)="([^"]*)"')
WORD = re.compile(r"[^\W\d_]{2,}")


@pytest.fixture
def requested_texts(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The texts that pages request from a catalogue.

    The catalogue marks what goes through it.
    """
    texts = set()

    def mark(_self: object, text: str) -> str:
        texts.add(text)
        return f"⟦{text}⟧" if text else ""

    def mark_number(_self: object, singular: str, plural: str, count: int) -> str:
        texts.add(singular)
        return f"⟦{singular if count == 1 else plural}⟧"

    monkeypatch.setattr(trans_real.DjangoTranslation, "gettext", mark)
    monkeypatch.setattr(trans_real.DjangoTranslation, "ngettext", mark_number)
    return texts


def corpus() -> str:
    """Return all that people have written and programs have named.

    These are the texts and data of every row.
    """
    texts = ["Touchstone"]
    for app in ("accounts", "annotation", "predictions", "studyapp"):
        for model in apps.get_app_config(app).get_models():
            fields = [
                field.name
                for field in model._meta.concrete_fields
                if isinstance(field, (models.CharField, models.TextField, models.JSONField))
                and not field.choices
            ]
            texts += [str(row) for row in model._default_manager.values_list(*fields) if fields]
    return "\n".join(texts).replace("\\n", " ")  # rows show ends of lines so


def plain(text: str) -> str:
    """A text without the signs that stand around words, in lower case."""
    return " ".join(re.sub(r"[\W_]+", " ", text).split()).lower()


def unmarked(html: str, known_text: str) -> set[str]:
    """Texts of a page that went through no catalogue and are nobody's data."""
    html = re.sub(r"<(script|style|pre|code|textarea|time)\b.*?</\1>", " ", html, flags=re.DOTALL)
    html = re.sub(r'<button[^>]* lang="\w+"[^>]*>[^<]*</button>', " ", html)  # languages in their own words
    while "⟦" in html:
        html, before = re.sub(r"⟦[^⟦⟧]*⟧", "\n", html), html
        assert html != before, "half a text"
    shown = [*SHOWN.findall(html), *re.split(r"<[^>]*>", html)]
    parts = {part for text in shown for part in re.split(r"\n|: | – | · |, ", unescape(text))}
    return {part.strip() for part in parts if WORD.search(part) and plain(part) not in known_text}


def crawled(client: Client, starts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Every kind of page that links lead to, and what it says."""
    kinds, ahead = set(), list(starts)
    while ahead:
        address = ahead.pop(0)
        kind = re.sub(r"/(\d+|r\d|q\d+|[a-z]+\d+|net)(?=/)", "/x", address.partition("?")[0])
        if kind in kinds or NO_PAGE.search(address):
            continue
        kinds.add(kind)
        answer = client.get(address, follow=True)
        if "html" not in answer.headers.get("content-type", "") or answer.streaming:
            continue
        html = answer.content.decode()
        yield kind, html
        ahead += [unescape(link).partition("#")[0] for link in re.findall(r'href="(/[^"]*)"', html)]


@pytest.fixture
def manager() -> User:
    """An owner who administers the site too.

    There is something to be seen on every page.
    """
    user = factories.make_user()
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    make_token(user)
    make_invitation(user)
    study = factories.make_study(by=user)
    share_study(study=study, user=factories.make_user(None), role=AccountRole.ANALYST, by=user)
    factories.make_participant(study=study, completed=True)
    factories.make_participant(study=study, items=1)
    write_note(study=study, text="A note", by=user)
    factories.make_everything(launched=False)
    run = PredictionRun.objects.first()
    assert run
    queue_answers(answers=find_missed_answers(run), by=user)
    other = factories.make_user()
    for judged in JudgedAnswer.objects.all()[:1]:
        judge(judged=judged, is_correct=True, by=user)
        judge(judged=judged, is_correct=False, by=other)
    with_gold, _output = boxes_with_gold()
    project = annotation.make_project(annotators_per_item=2)
    annotation.make_items(project, 2)
    for _number in range(2):
        annotation.finished(assignments.assign_next_annotation(member=annotation.make_member(project)))
    for member_project in (with_gold, project):
        set_member(project=member_project, user=user, role=Role.MANAGER, by=None)
    return user


# Not translated: what stands in exported files and in commands, modules, brands, and currencies.
NAMES = [
    *(platform.label for platform in PLATFORMS.values()),
    "discard",
    "intersect",
    "with-relation",
    "GBP",
    "USD",
]
# The key of an authenticator app, the hash of a draft, and measures of a study's own questions.
MADE = re.compile(
    r"^[A-Z2-7]{32}$|^[0-9a-f]{64}$"
    r"|^(What helped you most\?|The explanations were …) – "
)


def test_every_word_of_staff_and_annotators_comes_from_the_catalogue(
    client: Client, manager: User, requested_texts: set[str]
):
    """Every shown text went through the catalogue, which has it in German."""
    client.force_login(manager)
    known_text = plain("\n".join([corpus(), *WORDINGS["de"].values(), *NAMES]))
    kinds = dict(crawled(client, STARTS))
    assert len(kinds) > 50
    unmarked_by_kind = {kind: unmarked(html, known_text) for kind, html in kinds.items()}
    unmarked_by_kind = {
        kind: {text for text in texts if not MADE.match(text)} for kind, texts in unmarked_by_kind.items()
    }
    assert {kind: texts for kind, texts in unmarked_by_kind.items() if texts} == {}
    german = trans_real.translation("de")._catalog  # type: ignore[attr-defined]
    missing = {text for text in requested_texts if text and german.get(text, german.get((text, 1))) is None}
    missing = {text for text in missing if not MADE.match(text)}
    assert {text for text in missing if WORD.search(text) and plain(text) not in known_text} == set()
