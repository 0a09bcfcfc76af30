"""Pages and user content never share an origin.

This holds once content has an origin of its own.
"""

import pytest
from django.test import Client

from foundation.images.image_files import build_image_response, store_image
from tests.foundation.images.test_image_files import photo

pytestmark = pytest.mark.django_db

CONTENT = {"HTTP_HOST": "content.example.org"}


@pytest.fixture
def client(settings, tmp_path):
    settings.USER_CONTENT_URL = "https://content.example.org"
    settings.ALLOWED_HOSTS = ["testserver", "content.example.org"]
    return Client()


@pytest.mark.parametrize("address", ["/", "/accounts/login/", "/api/v1/"])
def test_the_host_of_content_has_no_pages(client, address):
    response = client.get(address, **CONTENT)
    assert response.status_code == 404
    assert response.content == b""
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"].startswith("default-src 'none'")
    assert client.get(address).status_code != 404


def test_an_image_is_there_alone(client, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    address = build_image_response(store_image(photo(tmp_path / "a.gif", "GIF")))["Location"]
    path = address.removeprefix("https://content.example.org")
    image = client.get(path, **CONTENT)
    assert image.status_code == 200
    image.close()
    assert client.get(path).status_code == 404
