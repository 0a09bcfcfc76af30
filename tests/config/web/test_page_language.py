"""A page is in the chosen language, else in the browser's, and says so."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
LOGIN = "/accounts/login/"


@pytest.mark.parametrize(
    ("cookie", "browser", "language"),
    [
        ("", "de-AT,de;q=0.9", "de"),
        ("", "fr", "en"),
        ("en", "de", "en"),
        ("de", "en", "de"),
        ("xx", "de", "de"),
    ],
)
def test_it_is_the_chosen_one(cookie: str, browser: str, language: str) -> None:
    client = Client(headers={"Accept-Language": browser})
    client.cookies["django_language"] = cookie
    answer = client.get(LOGIN)
    assert f'<html lang="{language}">' in answer.content.decode()
    assert answer.headers["Content-Language"] == language
    assert {"Accept-Language", "Cookie"} <= set(answer.headers["Vary"].split(", "))


def test_a_language_in_the_address_names_none() -> None:
    answer = Client(headers={"Accept-Language": "en"}).get("/de/")
    assert answer.status_code == 404
    assert answer.headers["Content-Language"] == "en"
