"""The shipped language model, here and behind a real server.

That server is OpenAI-compatible.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import torch
import yaml

from analysis.scores.hotpotqa import exact_match
from modelserver.inputs.hotpot import GoldExample, parse_gold
from modelserver.registry import WEIGHTS, load_system
from modelserver.systems.language.causal import CausalFile, CausalSystem
from modelserver.systems.language.chat import open_chat
from modelserver.systems.language.questions import InvalidAnswer, Order, build_prompt, parse_answer
from modelserver.wire.schema import QAPrediction
from modelserver.world import generate
from scripts.sites.processes import free_port
from tests.waiting import eventually

FOLDER = WEIGHTS / "world-lm"
ORDERS: tuple[Order, ...] = ("explain-first", "answer-first")
NEEDED = ("openai", "accelerate")  # by `transformers serve`


def questions(count: int) -> list[GoldExample]:
    return parse_gold(generate("test", count, 11), "world")


def share_of_facts(prediction: QAPrediction, gold: GoldExample) -> float:
    right = len(set(prediction.facts) & set(gold.supporting_facts))
    return 2 * right / (len(prediction.facts) + len(gold.supporting_facts))


@pytest.mark.parametrize(
    ("name", "answers", "facts"),
    [("world-lm", 0.5, 0.75), pytest.param("world-lm-answer-first", 0.3, 0.7, marks=pytest.mark.soak)],
)
def test_it_answers_and_cites_far_better_than_the_overlap_heuristic(name: str, answers: float, facts: float):
    examples = questions(24)
    scores = {}
    for system_name in (name, "heuristic"):
        system = load_system(system_name)
        predicted = list(zip(system.predict([gold.item for gold in examples]), examples, strict=True))
        assert all(isinstance(prediction, QAPrediction) for prediction, _ in predicted)
        right = sum(exact_match(prediction.answer, gold.answer) for prediction, gold in predicted)
        scores[system_name] = (
            right / len(examples),
            sum(share_of_facts(prediction, gold) for prediction, gold in predicted) / len(examples),
        )
    assert scores[name] > scores["heuristic"]
    assert scores[name][0] >= answers
    assert scores[name][1] >= facts


def test_an_answer_does_not_depend_on_the_items_beside_it():
    system = load_system("world-lm")
    items = [gold.item for gold in questions(4)]
    for item, beside in zip(items, system.predict(items), strict=True):
        (alone,) = system.predict([item])
        assert (alone.answer, alone.rationale, alone.facts) == (beside.answer, beside.rationale, beside.facts)


def test_the_orders_differ_in_nothing_else():
    first, other = (load_system(name) for name in ("world-lm", "world-lm-answer-first"))
    assert isinstance(first, CausalSystem)
    assert isinstance(other, CausalSystem)
    assert first.file.model_copy(update={"order": "answer-first", "folder": other.file.folder}) == other.file
    assert first.revision != other.revision
    for parameter, other_parameter in zip(first.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(parameter, other_parameter)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start `transformers serve` with the shipped weights; return its address."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} of requirements-dev.txt are not installed")
    port = free_port()
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(FOLDER)]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"

    def is_up() -> bool:
        assert process.poll() is None
        try:
            return httpx.get(f"{url}/health").is_success
        except httpx.TransportError:
            return False

    try:
        eventually(is_up, seconds=120)
        yield f"{url}/v1"
    finally:
        process.terminate()
        process.wait(30)


def test_a_real_server_gets_outputs_that_parse(server: str):
    """Nothing enforces the form there.

    `transformers serve` ignores ``response_format``.
    """
    file = CausalFile.model_validate(yaml.safe_load((FOLDER / "system.yaml").read_text()))
    examples, failed = questions(8), 0
    for order in ORDERS:
        for gold in examples:
            prompt = build_prompt(file.prompt, gold.item, order, file.numbers)
            body = {"model": str(FOLDER), "messages": [{"role": "user", "content": prompt}]}
            reply = httpx.post(
                f"{server}/chat/completions", json=body | {"temperature": 0, "max_tokens": 320}, timeout=120
            ).raise_for_status()
            try:
                answer = parse_answer(reply.json()["choices"][0]["message"]["content"])
            except InvalidAnswer:
                failed += 1
            else:
                assert answer.facts
    assert failed <= 1  # of 16: more than nine in ten parse before a retry


def test_chat_reads_the_real_server(server: str, tmp_path: Path):
    path = tmp_path / "world.yaml"
    settings = yaml.safe_load((FOLDER / "system.yaml").read_text())
    settings |= {"url": server, "model": str(FOLDER), "decoding": {"temperature": 0, "max_tokens": 320}}
    path.write_text(json.dumps(settings | {"limits": {"timeout": 120}}))
    system = open_chat(path, "world")
    try:
        predictions = system.predict([gold.item for gold in questions(4)])
    finally:
        system.unload()
    here = load_system("world-lm").predict([gold.item for gold in questions(4)])
    read = [prediction for prediction in predictions if isinstance(prediction, QAPrediction)]
    assert len(read) >= 3
    for prediction in read:
        assert prediction.usage is not None
        assert prediction.usage.output_tokens > 20
        assert prediction.answer_logprob is None  # the server answers 200 and leaves log-probabilities out
    assert (
        sum(prediction.answer == local.answer for prediction, local in zip(predictions, here, strict=True))
        >= 3
    )
