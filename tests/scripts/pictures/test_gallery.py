"""The gallery has a picture of every kind of page, and shows it.

Names of things in an address do not make another kind.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from scripts.pictures.gallery import NO_PAGE, name_page_kind
from scripts.pictures.texts import describe_picture
from scripts.sites.processes import ROOT

FOLDER = ROOT / "docs/images/pages"
MOST_BYTES = 6_000_000
OF_PEOPLE = ("annotate/", "data/", "systems/", "staff/", "jobs/", "people/")
PARTS = {  # of other pages, or files
    *("annotate-x-runs", "jobs-x-progress", "systems-runs-x-progress", "staff-studies-x-progress"),
    *("staff-sample-size-x-progress", "staff-studies-x-preview-page", "staff-studio-x-preview-x"),
    "staff-studies-x-results-reports-x-files-x",
}
BY_NAME = {"staff-studio-x-step-x", "people-x-shares-x-x-x-x-end"}  # a picture for each step, and of one kind


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/staff/", "staff"),
        ("/staff/studies/world-facts/log/?page=2", "staff-studies-x-log"),
        ("/staff/studio/all-of-it/step/items/", "staff-studio-x-step-items"),
        ("/annotate/annotation/17/", "annotate-annotation-x"),
        ("/annotate/scenes/outputs/visual-nmn/1f3a9c2b77aa/", "annotate-x-outputs-x-x"),
    ],
)
def test_names_of_things_do_not_count(address, name):
    assert name_page_kind(address) == name


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
    assert [
        name for name, words in pictures if words != describe_picture(name) or not words.endswith(".")
    ] == []


def views(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every address of the site with its view."""
    for pattern in resolver.url_patterns:
        address = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLPattern):
            yield address, pattern.callback
        else:
            yield from views(pattern, address)


def opens(address: str, view: Callable[..., Any]) -> bool:
    """True if a browser may open the address: it takes more than forms."""
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    names = re.findall(r"<(?:\w+:)?(\w+)>", address)
    return view(request, **dict.fromkeys(names, "1")).status_code != 405


def test_every_page_of_staff_and_annotators_has_a_picture():
    pictured = {path.stem for path in FOLDER.rglob("*.png")}
    pages = {
        "-".join(part for part in named.split("/") if part)
        for address, view in views(get_resolver())
        if address.startswith(OF_PEOPLE)
        and not NO_PAGE.search("/" + (named := re.sub("<[^>]+>", "x", address)))
        and opens(address, view)
    }
    assert len(pages) > 80
    assert pages - pictured - PARTS - BY_NAME == set()
