"""Words for failures: every code has one, and reasons that the code gives are known."""

import inspect
from typing import get_args

import pytest
from django.utils import translation

from modelserver.wire.schema import ItemError
from predictions import scoring
from predictions.actions import scores
from predictions.views.failure_labels import KINDS, REASONS, translated_reason


def test_every_code_of_the_wire_has_a_label():
    assert KINDS.keys() == set(get_args(ItemError.model_fields["error"].annotation))


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_in_german(reason):
    assert f'"{reason}"' in inspect.getsource(scoring) + inspect.getsource(scores)
    assert translated_reason(reason) == reason
    with translation.override("de"):
        assert translated_reason(reason) != reason


def test_another_reason_stays():
    with translation.override("de"):
        assert translated_reason("the gold facts of 3 of 4 questions are unknown").startswith("the gold")
        assert translated_reason("") == ""
