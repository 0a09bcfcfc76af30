"""The logs of both apps have a label for every kind.

Every kind that an action records has one, in German too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext

from annotation import event_labels as of_projects
from annotation.actions import audit
from annotation.models import AuditEvent
from foundation.pages.event_labels import EventLabels
from predictions.actions import events
from studyapp.models import Event
from studyapp.web import event_labels as of_studies
from tests.annotation.factories import make_project

TABLES = {"annotation": of_projects.EVENT_LABELS, "studyapp": of_studies.EVENT_LABELS}


def recorded(app: str, argument: str) -> Iterator[ast.expr]:
    """Yield what every call of ``record`` gives for an argument."""
    for path in sorted((Path(settings.BASE_DIR) / app).rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("events.record", "audit.record"):
                yield from (word.value for word in call.keywords if word.arg == argument)


@pytest.mark.parametrize("app", TABLES)
def test_it_works(app: str):
    written = {
        constant.value
        for kind in recorded(app, "kind")
        if not isinstance(kind, ast.JoinedStr)
        for constant in ast.walk(kind)
        if isinstance(constant, ast.Constant)
    }
    assert len(written) > 15
    assert written - TABLES[app].kinds.keys() == set()


@pytest.mark.parametrize("app", TABLES)
def test_the_details_have_names(app: str):
    names = {
        key.value
        for expression in recorded(app, "data")
        for node in ast.walk(expression)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    }
    assert len(names) > 15
    assert names - TABLES[app].details.keys() == set()


@pytest.mark.parametrize("app", TABLES)
def test_every_word_is_there_in_german(app: str):
    words = TABLES[app]
    labels = {*map(str, words.kinds.values()), *map(str, words.details.values())}
    labels |= {str(word) for table in words.values.values() for word in table.values()}
    with translation.override("de"):
        same = {text for text in labels if gettext(text) == text}
    assert same <= {"Bot", "Items", "Plan"}


@pytest.mark.django_db
def test_a_kind_without_words_is_not_recorded():
    with pytest.raises(KeyError, match="coffee_made"):
        events.record(kind="coffee_made")
    with pytest.raises(KeyError, match="coffee_made"):
        audit.record(project=make_project(), kind="coffee_made", by=None)
    assert not Event.objects.filter(kind="coffee_made").exists()
    assert not AuditEvent.objects.filter(kind="coffee_made").exists()


def test_details_have_labels():
    words = EventLabels(
        kinds={"made": "Made"},
        details={"quota": "quota", "before": "before", "is_open": "open"},
        values={"mode": {"bot": "Bot"}},
    )
    details = {"before": {"is_open": True, "quota": None}, "mode": "bot", "annotations": [], "list": [1, "a"]}
    assert words.detail_labels(details) == [
        ("Before", "Open: yes, Quota: –"),
        ("mode", "Bot"),
        ("annotations", "–"),
        ("list", "1, a"),
    ]
    assert words.kind_label("made") == "Made"
    assert words.kind_label("of_an_older_release") == "of_an_older_release"
