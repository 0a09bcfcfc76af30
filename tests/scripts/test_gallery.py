"""Pictures of every page: which addresses are one kind of page, and that the page shows what is there."""

import re

import pytest

from scripts.gallery import kind
from scripts.picture_texts import sentence
from scripts.processes import ROOT

FOLDER = ROOT / "docs/images/pages"
MOST_BYTES = 6_000_000


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/staff/", "staff"),
        ("/staff/studies/world-facts/log/?page=2", "staff-studies-x-log"),
        ("/staff/studio/all-of-it/step/items/", "staff-studio-x-step-items"),
        ("/annotate/work/17/", "annotate-work-x"),
        ("/annotate/scenes/outputs/visual-nmn/1f3a9c2b77aa/", "annotate-x-outputs-x-x"),
    ],
)
def test_names_of_things_do_not_count(address, name):
    assert kind(address) == name


def test_the_page_shows_the_pictures_that_are_there():
    text = (ROOT / "docs/reference/pages.md").read_text(encoding="utf-8")
    shown = set(re.findall(r'src="\.\./images/pages/([^"]+)"', text))
    there = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.png")}
    assert shown == there
    assert len(there) > 40
    for part in ("participants", "staff", "annotation"):
        assert any(name.startswith(f"{part}/") for name in there)


def test_they_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.png")) < MOST_BYTES


def test_every_picture_says_in_a_sentence_what_it_shows():
    page = (ROOT / "docs/reference/pages.md").read_text(encoding="utf-8")
    pictures = re.findall(r'/([^/"]+)\.png" width="\d+" alt="([^"]*)"', page)
    assert len(pictures) > 60
    assert [name for name, words in pictures if words != sentence(name) or not words.endswith(".")] == []
