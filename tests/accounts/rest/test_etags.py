"""Edits name the state that they were made on."""

import pytest
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from accounts.rest.etags import format_etag, require_match
from accounts.rest.problems import Refused


def request(**headers: str) -> Request:
    return Request(APIRequestFactory().put("/", headers=headers))


def test_the_current_state_passes() -> None:
    for sent in ('"draft-3"', '"draft-2", "draft-3"', "*"):
        require_match(request(**{"If-Match": sent}), format_etag("draft", 3))


@pytest.mark.parametrize(("headers", "status"), [({}, 428), ({"If-Match": '"draft-2"'}, 412)])
def test_an_older_state_is_refused(headers: dict[str, str], status: int) -> None:
    with pytest.raises(Refused) as refused:
        require_match(request(**headers), format_etag("draft", 3))
    assert refused.value.status_code == status
