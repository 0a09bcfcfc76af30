"""Tests of the address and the name that limits count by."""

import pytest
from django.test import RequestFactory

from accounts.client_address import find_client_address, read_login_name


@pytest.mark.parametrize(
    ("behind_proxy", "forwarded", "remote", "expected"),
    [
        (False, "1.1.1.1", "9.9.9.9", "9.9.9.9"),
        (True, "6.6.6.6, 1.1.1.1", "9.9.9.9", "1.1.1.1"),
        (True, "6.6.6.6, 2001:db8::1", "9.9.9.9", "2001:db8::"),
        (True, "2001:db8:0:1:ffff::1", "9.9.9.9", "2001:db8:0:1::"),
        (True, "::ffff:1.1.1.1", "9.9.9.9", "1.1.1.1"),
        (True, "1.1.1.1, unknown", "9.9.9.9", "9.9.9.9"),
        (True, "1.1.1.1:4711", "9.9.9.9", "1.1.1.1"),
        (True, "[2001:db8::1]:4711", "9.9.9.9", "2001:db8::"),
        (True, "", "", ""),
    ],
)
def test_it_works(settings, behind_proxy, forwarded, remote, expected):
    settings.BEHIND_PROXY = behind_proxy
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert find_client_address(RequestFactory().get("/", REMOTE_ADDR=remote, headers=headers)) == expected


def test_the_name_of_a_login():
    request = RequestFactory().post("/", {"username": " Ada "})
    assert read_login_name(request) == "ada"
    assert read_login_name(request, {"username": "BEA", "password": "x"}) == "bea"
    assert read_login_name(RequestFactory().get("/")) == ""
