"""The reviewers' pages name tests and settings that exist.

They are the checklist, the threat model and the page on testing.
"""

import re

import pytest
from django.conf import settings

from tests.paths import ROOT

PAGES = ["docs/reference/asvs.md", "docs/reference/threat-model.md", "docs/reference/how-tested.md"]
NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`")
SETTING = re.compile(r"`([A-Z][A-Z_]{4,})`")
LINE = re.compile(r"^\| (\d+\.\d+\.\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
# Variables of the environment, of which settings of other names are made; and the file NOTICE.
OTHER = {"SITE_URL", "DATABASE_URL", "NOTICE", "HSTS_SECONDS", "HSTS_SUBDOMAINS", "HSTS_PRELOAD"}


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_named_test_exists(page: str):
    named = NAMED.findall(text(page))
    assert named
    assert [path for path, _name in named if not (ROOT / path).exists()] == []
    missing = [f"{path}::{name}" for path, name in named if name and f"def {name}(" not in text(path)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_named_setting_exists(page: str):
    named = set(SETTING.findall(text(page))) - OTHER
    assert [name for name in named if not hasattr(settings, name)] == []


def test_every_line_has_a_state_and_what_is_behind_it():
    lines = LINE.findall(text(PAGES[0]))
    assert len(lines) == len({number for number, *_rest in lines}) > 80
    assert {state for _number, _requirement, state, _behind in lines} == {"met", "partly", "not met"}
    assert all(behind.strip() for *_rest, behind in lines)
