import math
import re
import subprocess
import sys

import pytest
from pydantic import ValidationError

from modelserver.wire.errors import ON_THE_WIRE
from modelserver.wire.schema import (
    SCHEMA_VERSION,
    AnswerLocation,
    Execution,
    NodeOutput,
    PredictRequest,
    PredictResponse,
    QAItem,
    QAPrediction,
)
from tests.paths import ROOT

ITEM = QAItem(id="a", question="Who?", context=[("Title", ["One.", " Two."])])


def test_it_survives_the_wire():
    request = PredictRequest(system="s", items=[ITEM])
    assert PredictRequest.model_validate_json(request.model_dump_json()) == request


def test_an_unknown_field_is_an_error():
    with pytest.raises(ValidationError, match="Extra inputs"):
        QAItem.model_validate({"id": "a", "question": "Who?", "context": [], "answer": "leaked gold"})


@pytest.mark.parametrize(
    "broken",
    [{"question": "\ud800"}, {"context": [("\ud800", [])]}, {"context": [("Title", ["a \ud800"])]}],
)
def test_half_a_character_is_no_text(broken):
    """It would pass here and break where the text is written as JSON.

    There it would break for every item of the request.
    """
    with pytest.raises(ValidationError, match="valid string"):
        QAItem.model_validate(ITEM.model_dump() | broken)


def test_ids_of_a_request_are_unique():
    with pytest.raises(ValidationError, match="two items have the id 'a'"):
        PredictRequest(system="s", items=[ITEM, ITEM])


@pytest.mark.parametrize("kind", [PredictRequest, PredictResponse])
def test_another_version_is_named_as_such(kind):
    with pytest.raises(ValidationError) as caught:
        kind.model_validate({"schema_version": SCHEMA_VERSION + 1, "system": "s"})
    assert "schema_mismatch" in {error["type"] for error in caught.value.errors()}


@pytest.mark.parametrize(
    "broken",
    [
        {"start": 1},
        {"start": 1, "end": 3, "last": ("Title", 1)},
        {"start": 3, "end": 1},
        {"start": -1, "end": 1},
    ],
)
def test_an_answer_location_is_whole_and_in_one_sentence(broken):
    with pytest.raises(ValidationError):
        AnswerLocation.model_validate({"first": ("Title", 0), "last": ("Title", 0)} | broken)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_is_one(probability):
    with pytest.raises(ValidationError):
        QAPrediction(id="a", answer="x", facts=[], threshold=probability)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_value_that_json_cannot_hold_is_none(number):
    with pytest.raises(ValidationError, match="finite number"):
        Execution(id="a", program="find", answer=number, modules=[])
    with pytest.raises(ValidationError, match="finite number"):
        NodeOutput(index=0, module="find", value=number)


def test_the_reference_lists_every_error():
    page = (ROOT / "docs" / "reference" / "model-server.md").read_text()
    rows = set(re.findall(r"^\| ([\d, ]+) \| `(\w+)` \| `(\w+)` \|", page, re.MULTILINE))
    listed = {(code, name, int(status)) for statuses, code, name in rows for status in statuses.split(",")}
    expected = {(code, kind.__name__, kind.status) for code, kind in ON_THE_WIRE.items()}
    assert listed == expected | {("invalid_request", "InvalidRequest", 400)}


def test_client_fake_and_errors_never_reach_torch():
    code = (
        "import sys, modelserver.wire.schema, modelserver.wire.client, modelserver.serving.fake_server\n"
        "import modelserver.wire.errors\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'django')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
