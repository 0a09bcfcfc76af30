"""Theme and height of rows lead back to the page of the choice.

They lead nowhere else.
"""

import pytest
from django.test import Client


@pytest.mark.parametrize("choice", ["theme", "density"])
@pytest.mark.parametrize(
    ("sent", "leads_to"),
    [
        ("/staff/?q=1", "/staff/?q=1"),
        ("//elsewhere.example/", "/"),
        ("1e999", "/"),  # a word is no address, nor the name of a page
        ("start", "/"),
    ],
)
def test_it_leads_back(client: Client, choice: str, sent: str, leads_to: str) -> None:
    assert client.post(f"/{choice}/", {"next": sent})["Location"] == leads_to
