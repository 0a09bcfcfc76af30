"""The system ``chat`` and a server that fails in each documented way."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelserver.systems.language import chat_requests
from modelserver.systems.language.chat import ChatSystem, open_chat
from modelserver.systems.language.paid_requests import STORES
from modelserver.wire.errors import BudgetSpent, Unavailable, UnusableSystem
from modelserver.wire.schema import ItemError, QAItem, QAPrediction, Usage
from tests import fake_openai
from tests.fake_openai import REFUSAL, STREAM_CUT, TOOL_CALL, FakeOpenAI, Plan, content, error

KEY = "sk-very-secret-0815"


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


_systems: list[ChatSystem] = []


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(chat_requests, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(chat_requests, "_gates", {})
    monkeypatch.delenv(STORES, raising=False)
    yield
    while _systems:
        _systems.pop().unload()


def written(folder: Path, server: FakeOpenAI, **fields: Any) -> Path:
    path = folder / "model.yaml"
    path.write_text(yaml.safe_dump({"url": server.url, "model": "fake"} | fields))
    return path


def opened(folder: Path, server: FakeOpenAI, **fields: Any) -> ChatSystem:
    _systems.append(open_chat(written(folder, server, **fields), "fake"))
    return _systems[-1]


def item(number: int = 0, **fields: Any) -> QAItem:
    context = [("Ada", [f"Ada was born in Bonn{number}.", "She likes rain."]), ("Bo", ["Bo is tall."])]
    return QAItem(id=str(number), question="Where was Ada born?", context=context, **fields)


def only(system: ChatSystem, question: QAItem | None = None) -> QAPrediction | ItemError:
    (outcome,) = system.predict([question or item()])
    return outcome


def test_it_works(tmp_path: Path, server: FakeOpenAI) -> None:
    prediction = only(opened(tmp_path, server))

    assert isinstance(prediction, QAPrediction)
    assert (prediction.answer, prediction.type, prediction.facts) == (
        "Ada was born in Bonn0",
        "span",
        [("Ada", 0)],
    )
    assert prediction.rationale == "The first sentence says so."
    assert prediction.location is not None
    assert prediction.location.first == ("Ada", 0)
    assert [fact.probability for fact in prediction.fact_probabilities or []] == [1.0, 0.0, 0.0]
    # 9 words and spaces, and the quotes before and after: 11 tokens of -0.01.
    assert prediction.answer_logprob == pytest.approx(-0.11)
    assert prediction.usage is not None
    assert prediction.usage.input_tokens > 50
    assert prediction.unknown_citations == []


def test_the_request_asks_for_the_schema_in_the_order_of_writing(tmp_path: Path, server: FakeOpenAI) -> None:
    first = opened(tmp_path, server, order="explain-first")
    second = opened(tmp_path, server, order="answer-first")
    only(first)
    only(second)

    orders = [
        list(body["response_format"]["json_schema"]["schema"]["properties"]) for body in server.requests
    ]
    assert orders == [["rationale", "facts", "type", "answer"], ["answer", "type", "facts", "rationale"]]
    assert first.revision != second.revision
    explain, answer = (body.pop("messages")[0]["content"].splitlines() for body in server.requests)
    for body in server.requests:
        del body["response_format"]
    assert server.requests[0] == server.requests[1]  # nothing else differs
    assert len(set(explain) ^ set(answer)) == 2  # the sentence that says the order, and the fields' order


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"decoding": {"temperature": 1}}, True),
        ({"relevance": "leave-one-out"}, True),
        ({"model": "other"}, True),
        ({"limits": {"concurrency": 1}}, False),
        ({"prices": {"input": 1, "output": 1}}, False),
        ({"key_env": "SOME_KEY"}, False),
    ],
)
def test_the_revision_names_what_changes_answers(
    changed: dict[str, Any],
    differs: bool,
    tmp_path: Path,
    server: FakeOpenAI,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    before = opened(tmp_path, server).revision
    assert (opened(tmp_path, server, **changed).revision != before) is differs


def test_numbers_out_of_range_are_kept_and_reported(tmp_path: Path) -> None:
    def answer(prompt: str) -> dict[str, Any]:
        return fake_openai.first_sentence(prompt) | {"facts": [3, 99, 1, 3, 0]}

    with FakeOpenAI(answer=answer) as server:
        prediction = only(opened(tmp_path, server))
    assert isinstance(prediction, QAPrediction)
    assert prediction.facts == [("Bo", 0), ("Ada", 0)]  # in the order cited
    assert [fact.probability for fact in prediction.fact_probabilities or []] == [0.75, 0.0, 1.0]
    assert prediction.unknown_citations == [99, 0]


def test_an_answer_in_own_words_lies_in_no_sentence(tmp_path: Path) -> None:
    def answer(prompt: str) -> dict[str, Any]:
        return fake_openai.first_sentence(prompt) | {"answer": "In the city of Bonn"}

    with FakeOpenAI(answer=answer) as server:
        prediction = only(opened(tmp_path, server))
    assert isinstance(prediction, QAPrediction)
    assert prediction.location is not None
    assert (prediction.location.first, prediction.location.start) == (None, None)


def test_braces_of_texts_are_no_placeholders(tmp_path: Path, server: FakeOpenAI) -> None:
    only(
        opened(tmp_path, server),
        QAItem(id="1", question="{order}?", context=[("{fields}", ["a {question}"])]),
    )
    prompt = server.requests[0]["messages"][0]["content"]
    assert "Question: {order}?" in prompt
    assert "Article: {fields}\n[1] a {question}" in prompt


# --- failures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plan",
    [
        error(429, Retry_After="0.05"),
        error(429),
        error(500),
        error(503),
        Plan(status=502, body="<html>bad gateway</html>"),
        Plan(cut=True),
        Plan(body='{"choices": [{"mess'),
        STREAM_CUT,
        Plan(delay=3),
    ],
    ids=["429 with", "429 without", "500", "503", "502", "cut", "half JSON", "stream cut", "timeout"],
)
def test_a_passing_failure_costs_no_item(plan: Plan, tmp_path: Path) -> None:
    with FakeOpenAI([plan]) as server:
        # Short only for the answer that comes late: a slow machine needs longer for the others.
        timeout = plan.delay / 2 if plan.delay else 60
        prediction = only(opened(tmp_path, server, limits={"timeout": timeout}))
        assert isinstance(prediction, QAPrediction)
        assert len(server.requests) == 2


def test_retry_after_closes_the_server_for_all_requests(tmp_path: Path) -> None:
    with FakeOpenAI([error(429, Retry_After="0.3")]) as server:
        system = opened(tmp_path, server, limits={"concurrency": 1})
        assert all(
            isinstance(outcome, QAPrediction) for outcome in system.predict([item(1), item(2), item(3)])
        )
        assert len(server.requests) == 4
        assert server.times[1] - server.times[0] >= 0.3


@pytest.mark.parametrize(
    ("plan", "kind", "message"),
    [
        (content("The answer is Bonn."), "invalid_answer", "not the JSON asked for"),
        (content('{"answer": "Bo', finish="length"), "invalid_answer", "cut at the most tokens"),
        (content('{"answer": 3, "type": "span", "facts": [], "rationale": ""}'), "invalid_answer", "answer:"),
        (
            content('{"answer": "x", "type": "span", "facts": [true], "rationale": ""}'),
            "invalid_answer",
            "facts",
        ),
        (content('{"answer": "x"}'), "invalid_answer", "is missing"),
        (content(""), "invalid_answer", "no content"),
        (TOOL_CALL, "invalid_answer", "called a tool"),
        (REFUSAL, "refused", "I cannot help"),
        (content("", finish="content_filter"), "refused", "content_filter"),
        (Plan(body='{"choices": []}'), "invalid_answer", "no choices"),
    ],
)
def test_an_invalid_answer_gets_one_retry_then_an_error_of_its_item(
    plan: Plan, kind: str, message: str, tmp_path: Path
) -> None:
    with FakeOpenAI([plan]) as server:
        system = opened(tmp_path, server)
        assert isinstance(only(system), QAPrediction)
        assert "That was not valid" in server.requests[1]["messages"][-1]["content"]
    with FakeOpenAI([plan, plan]) as server:
        (tmp_path / "other").mkdir()
        system = opened(tmp_path / "other", server, limits={"concurrency": 1})
        failed, other = system.predict([item(1), item(2)])
        assert isinstance(failed, ItemError)
        assert failed.error == kind
        assert message in failed.message
        assert isinstance(other, QAPrediction)
        assert len(server.requests) == 3


@pytest.mark.parametrize("plan", [error(500), Plan(cut=True), Plan(delay=0.3)])
def test_a_request_that_fails_each_time_is_an_error_of_its_item(plan: Plan, tmp_path: Path) -> None:
    with FakeOpenAI([plan] * chat_requests.ATTEMPTS) as server:
        failed = only(opened(tmp_path, server, limits={"timeout": 0.2}))
        assert isinstance(failed, ItemError)
        assert failed.error == "prediction_failed"
        assert len(server.requests) == chat_requests.ATTEMPTS


def test_a_request_that_the_server_refuses_is_not_sent_again(tmp_path: Path) -> None:
    with FakeOpenAI([error(400, message="the context is too long")]) as server:
        failed = only(opened(tmp_path, server))
        assert isinstance(failed, ItemError)
        assert "too long" in failed.message
        assert len(server.requests) == 1


@pytest.mark.parametrize("plan", [error(429), error(429, Retry_After="60"), error(503)])
def test_a_server_that_stays_busy_is_away(plan: Plan, tmp_path: Path) -> None:
    with FakeOpenAI([plan] * 1_000) as server, pytest.raises(Unavailable, match=r"answered (429|503)"):
        only(opened(tmp_path, server, limits={"patience": 0.05}))


def test_a_server_that_is_not_there_is_away(tmp_path: Path, server: FakeOpenAI) -> None:
    server.close()
    with pytest.raises(Unavailable, match="cannot be reached"):
        only(opened(tmp_path, server, limits={"patience": 0}))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_ends_the_run(status: int, tmp_path: Path) -> None:
    wrong = pytest.raises(UnusableSystem, match=f"{status}.*no such model")
    with FakeOpenAI([error(status, message="no such model")]) as server, wrong:
        only(opened(tmp_path, server))


# --- keys, budget, store ----------------------------------------------------------------------------------


def test_the_key_goes_into_the_header_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    caplog.set_level("DEBUG")
    echo = error(400, message=f"the key {KEY} may not do that")
    with FakeOpenAI([Plan(), echo, error(401, message=f"bad key {KEY}")]) as server:
        system = opened(tmp_path, server, key_env="FAKE_KEY", limits={"concurrency": 1})
        good, bad = only(system, item(1)), only(system, item(2))
        with pytest.raises(UnusableSystem) as refused:
            only(system, item(3))
        assert server.keys[0] == f"Bearer {KEY}"
        text = f"{good}{bad}{refused.value}{system.language_model}{caplog.text}"
        assert "[key]" in text
        assert KEY not in text
        assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_a_key_that_is_not_set_is_an_error(tmp_path: Path, server: FakeOpenAI) -> None:
    with pytest.raises(UnusableSystem, match="no UNSET_KEY"):
        opened(tmp_path, server, key_env="UNSET_KEY")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"key": KEY}, "key: "),
        ({"url": f"http://me:{KEY}@localhost/v1"}, "url: holds more"),
        ({"url": "localhost"}, "url: is not an address"),
        ({"prompt": "{question}"}, "prompt: has no {sentences}"),
        ({"decoding": {"stream": True}}, r"decoding\.stream"),
        ({"relevance": "leave-one-out", "logprobs": False}, "needs logprobs"),
        ({"limits": {"budget_money": 1}}, "needs prices"),
    ],
)
def test_a_wrong_file_names_the_field_and_no_key(
    fields: dict[str, Any], message: str, tmp_path: Path, server: FakeOpenAI
) -> None:
    with pytest.raises(UnusableSystem, match=message) as error:
        opened(tmp_path, server, **fields)
    assert "model.yaml" in str(error.value)
    assert KEY not in str(error.value)


def test_a_file_that_is_not_yaml_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text("url: http://x\nmodel: [\n")
    with pytest.raises(UnusableSystem, match="line 3"):
        open_chat(path, "fake")


def test_a_stored_answer_is_not_asked_again(tmp_path: Path, server: FakeOpenAI) -> None:
    before = only(opened(tmp_path, server))
    assert only(opened(tmp_path, server)) == before  # after a restart
    assert len(server.requests) == 1


def test_failures_are_asked_again(tmp_path: Path) -> None:
    with FakeOpenAI([REFUSAL, REFUSAL]) as server:
        system = opened(tmp_path, server)
        assert isinstance(only(system), ItemError)
        assert isinstance(only(system), QAPrediction)


def test_equal_requests_at_once_are_sent_once(tmp_path: Path) -> None:
    with FakeOpenAI(delay=0.05) as server:
        first, second = item(1), item(1).model_copy(update={"id": "again"})
        assert len(opened(tmp_path, server).predict([first, second])) == 2
        assert len(server.requests) == 1


def test_the_budget_is_never_exceeded_and_can_be_raised(tmp_path: Path) -> None:
    items = [item(number) for number in range(20)]
    with FakeOpenAI(delay=0.01) as server:
        decoding = {"max_tokens": 100}
        system = opened(tmp_path, server, decoding=decoding, limits={"budget_tokens": 1_500})
        with pytest.raises(BudgetSpent, match=r"of 1500 tokens"):
            system.predict(items)
        language_model, request_count = system.language_model, len(server.requests)
        assert 1_000 < language_model.spent_tokens <= 1_500
        raised = opened(tmp_path, server, decoding=decoding, limits={"budget_tokens": 100_000})
        assert raised.revision == system.revision
        assert len(raised.predict(items)) == 20
        assert request_count < 20
        assert len(server.requests) == 20


@pytest.mark.parametrize(
    "plan",
    [Plan(delay=0.5), Plan(cut=True), Plan(body='{"choices": [{"mess'), Plan(body="[]")],
    ids=["timeout", "cut", "half JSON", "no object"],
)
def test_requests_that_may_be_paid_count_although_no_reply_came(plan: Plan, tmp_path: Path) -> None:
    with FakeOpenAI([plan] * 60) as server:
        limits = {"timeout": 0.2, "budget_tokens": 1_000, "concurrency": 1}
        system = opened(tmp_path, server, decoding={"max_tokens": 100}, limits=limits)
        with pytest.raises(BudgetSpent, match=r"of 1000 tokens"):
            system.predict([item(number) for number in range(20)])
        tokens_per_request, remainder = divmod(system.language_model.spent_tokens, len(server.requests))
        assert (remainder, tokens_per_request > 100) == (0, True)
        assert 1_000 - tokens_per_request < system.language_model.spent_tokens <= 1_000


@pytest.mark.parametrize("plan", [error(500), error(503), error(400)])
def test_requests_that_the_server_refused_do_not_count(plan: Plan, tmp_path: Path) -> None:
    with FakeOpenAI([plan]) as server:
        system = opened(tmp_path, server, limits={"budget_tokens": 1_000})
        only(system)
        assert len(server.requests) == 1 + (plan.status >= 500)
        answered = only(system)
        assert isinstance(answered, QAPrediction)
        assert answered.usage is not None
        assert (
            system.language_model.spent_tokens == answered.usage.input_tokens + answered.usage.output_tokens
        )


def test_requests_that_reach_no_server_do_not_count(tmp_path: Path, server: FakeOpenAI) -> None:
    server.close()
    system = opened(tmp_path, server, limits={"patience": 0})
    with pytest.raises(Unavailable):
        only(system)
    assert system.language_model.spent_tokens == 0


def test_money_is_bounded_too(tmp_path: Path, server: FakeOpenAI) -> None:
    prices = {"input": 10.0, "output": 20.0, "currency": "EUR"}
    system = opened(tmp_path, server, prices=prices, limits={"budget_money": 0.02, "concurrency": 1})
    with pytest.raises(BudgetSpent, match=r"of 0\.02 EUR"):
        system.predict([item(number) for number in range(20)])
    assert 0 < system.language_model.spent_money <= 0.02


def test_an_account_without_money_pauses(tmp_path: Path) -> None:
    plans = [error(429, "insufficient_quota")]
    with FakeOpenAI(plans) as server, pytest.raises(BudgetSpent, match="top up"):
        only(opened(tmp_path, server))


# --- bounds -----------------------------------------------------------------------------------------------


def test_systems_of_one_server_share_its_bounds(tmp_path: Path) -> None:
    with FakeOpenAI(delay=0.02) as server:
        system = opened(tmp_path, server, limits={"concurrency": 3})
        system.predict([item(number) for number in range(12)])
        assert server.most == 3


def test_tokens_per_minute_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_requests, "MINUTE", 0.5)
    with FakeOpenAI() as server:
        limits = {"tokens_per_minute": 1_100, "concurrency": 8}
        system = opened(tmp_path, server, decoding={"max_tokens": 300}, limits=limits)
        system.predict([item(number) for number in range(3)])
        assert server.times[2] - server.times[0] >= 0.4


# --- relevance and targets --------------------------------------------------------------------------------


def _unless_left_out(prompt: str) -> dict[str, Any]:
    has_sentence = "likes rain" in prompt
    answer = "rain" if has_sentence else "sun"
    return {"rationale": "So.", "facts": [1], "type": "span", "answer": answer}


def test_leave_one_out_asks_without_each_sentence(tmp_path: Path) -> None:
    with FakeOpenAI(answer=_unless_left_out, logprob=-0.1) as server:
        prediction = only(opened(tmp_path, server, relevance="leave-one-out"))
        assert len(server.requests) == 4
    assert isinstance(prediction, QAPrediction)
    assert prediction.usage is not None
    chances = [fact.probability for fact in prediction.fact_probabilities or []]
    # Three tokens with the quotes, so p = exp(-0.3). Without sentence 2 the answer is another, of equal
    # probability, so that the first has at most 1 - p left.
    p = math.exp(-0.3)
    assert chances == [0.0, pytest.approx(1 - (1 - p) / p), 0.0]


def test_a_target_is_asked_for_once_with_leave_one_out(tmp_path: Path, server: FakeOpenAI) -> None:
    only(opened(tmp_path, server, relevance="leave-one-out"), item(1, target="rain"))
    assert len(server.requests) == 1


def test_leave_one_out_needs_logprobs(tmp_path: Path) -> None:
    with FakeOpenAI(logprob=None) as server:
        failed = only(opened(tmp_path, server, relevance="leave-one-out"))
    assert isinstance(failed, ItemError)
    assert "no log-probabilities" in failed.message


def test_a_target_gets_the_probability_that_the_answer_leaves(tmp_path: Path) -> None:
    with FakeOpenAI(answer=_unless_left_out, logprob=-0.1) as server:
        system = opened(tmp_path, server)
        same, other = only(system, item(1, target="Rain")), only(system, item(2, target="snow"))
    assert isinstance(same, QAPrediction)
    assert isinstance(other, QAPrediction)
    assert same.target_logprob == pytest.approx(-0.3)
    assert other.target_logprob == pytest.approx(math.log(1 - math.exp(-0.3)))


def test_a_server_without_usage_is_estimated(tmp_path: Path) -> None:
    body = '{"choices": [{"message": {"content": "{\\"answer\\": \\"a\\", \\"type\\": \\"span\\", \\"facts\\": [], \\"rationale\\": \\"\\"}"}}]}'  # noqa: E501
    with FakeOpenAI([Plan(body=body)]) as server:
        prediction = only(opened(tmp_path, server))
    assert isinstance(prediction, QAPrediction)
    assert prediction.usage != Usage()
    assert prediction.answer_logprob is None


def _verdict(prompt: str) -> dict[str, Any]:
    return {"rationale": "", "facts": [1], "type": "label", "answer": "REFUTES"}


def test_an_item_with_labels_is_asked_for_one_of_them(tmp_path: Path) -> None:
    question = item(labels=("SUPPORTS", "REFUTES"))
    with FakeOpenAI(answer=_verdict) as server:
        prediction = only(opened(tmp_path, server), question)
    assert isinstance(prediction, QAPrediction)
    assert (prediction.answer, prediction.type, prediction.location) == ("REFUTES", "label", None)
    (request,) = server.requests
    assert 'one of "SUPPORTS", "REFUTES"' in request["messages"][0]["content"]
    fields = request["response_format"]["json_schema"]["schema"]["properties"]
    assert (fields["answer"]["enum"], fields["type"]["enum"]) == (["SUPPORTS", "REFUTES"], ["label"])


@pytest.mark.parametrize(
    ("changes", "labels", "message"),
    [
        ({"answer": "MAYBE"}, ("SUPPORTS",), "answer: 'MAYBE' is none of the labels"),
        ({"type": "yes"}, ("REFUTES",), "type: it is 'yes', and the item has labels"),
        ({}, (), "type: it is 'label', and the item has no labels"),
    ],
)
def test_an_answer_that_is_no_label_is_an_error_of_its_item(
    changes: dict[str, str], labels: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with FakeOpenAI(answer=lambda prompt: _verdict(prompt) | changes) as server:
        outcome = only(opened(tmp_path, server), item(labels=labels))
    assert isinstance(outcome, ItemError)
    assert outcome.error == "invalid_answer"
    assert message in outcome.message
    assert len(server.requests) == 2  # it was asked again
