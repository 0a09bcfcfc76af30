"""Compare saliency with the bare passes that it needs.

Run ``python -m benchmarks.models.saliency``.

The bare passes are the system's forward passes, for methods with gradients with a backward pass to the
embeddings, in batches of the same items and sizes, with tensors that lie ready: no masks are made, nothing is
read from text, summed up or written. For Select & Forget the pass over the whole item counts, which selects
what is read. Both take turns in one process with one thread, and the figure is the median of the ratios.

Bar: at most 1.5 times as long, for each system and method.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeGuard

import torch
from torch import Tensor

from modelserver.inputs.encoders import create_encoder, save
from modelserver.inputs.hotpot import GoldExample, parse_gold
from modelserver.registry import load_system
from modelserver.saliency.attribution import PASS_TOKENS, Explainable, Subject
from modelserver.systems import extractive
from modelserver.systems.batches import collate
from modelserver.systems.extractive import ExtractiveSystem
from modelserver.systems.extractive_saliency import ExtractiveSaliency
from modelserver.systems.reader import RecurrentSystem
from modelserver.systems.recurrent import Qi2019, SelectAndForget
from modelserver.systems.recurrent_saliency import RecurrentSaliency
from modelserver.training.recurrent import list_example_texts
from modelserver.wire.schema import QAItem, SaliencyMethod, SaliencyOptions
from modelserver.world import generate

BAR = 1.5
METHODS: tuple[SaliencyMethod, ...] = ("integrated-gradients", "occlusion", "gradient-x-input")


def shorten_item(example: GoldExample) -> QAItem:
    """Return the item with the articles of its facts alone."""
    titles = {title for title, _ in example.supporting_facts}
    context = [article for article in example.item.context if article[0] in titles]
    return example.item.model_copy(update={"context": context})


def build_encoder(folder: Path, examples: Sequence[GoldExample]) -> ExtractiveSystem:
    """Return an untrained encoder, which is as slow as a trained one."""
    torch.manual_seed(1)
    device = torch.device("cpu")
    model, tokenizer = create_encoder(
        list_example_texts(examples), device, hidden=128, layers=2, heads=2, pieces=2000
    )
    save(folder, model, tokenizer, {})
    return extractive.load(folder, device, name="extractive-qa", description="")


def list_batch_sizes(subject: Subject, passes: int) -> list[int]:
    """Return how many copies of a subject run together in each batch."""
    most = max(1, PASS_TOKENS // subject.cost)
    return [most] * (passes // most) + ([passes % most] if passes % most else [])


def prepare_bare_pass(
    system: RecurrentSystem | ExtractiveSystem, subject: Subject, copies: int
) -> Callable[[bool], None]:
    """Return the bare, prepared pass of many copies of a subject."""
    run: Callable[[Tensor], Tensor]
    if isinstance(system, ExtractiveSystem):
        inputs = system.reader.inputs([subject.inner.window] * copies, system.model.device)
        tensors = dict(inputs.tensors)
        vectors = system.model.get_input_embeddings()(tensors.pop("input_ids")).detach()

        def run(rows: Tensor) -> Tensor:
            return system.model(inputs_embeds=rows, **tensors).start_logits[:, inputs.offset[0]].sum()
    else:
        features = subject.inner.features
        batch = collate([features] * copies, system.device)
        asked = len(features.question_word)
        question = subject.rows[:asked].expand(copies, -1, -1)
        vectors = subject.rows[asked:].repeat(copies, 1)
        model = system.model

        def run(rows: Tensor) -> Tensor:
            if isinstance(model, Qi2019):
                return model.from_vectors(question, rows, batch).start.sum()
            encoded = model.read_for_answer(question, rows, batch.context, batch)
            return model.answer(encoded, batch.context)[0].sum()

    def go(backward: bool) -> None:
        if backward:
            rows = vectors.clone().requires_grad_()
            torch.autograd.grad(run(rows), rows)
        else:
            with torch.no_grad():
                run(vectors)

    return go


def is_selective(system: RecurrentSystem | ExtractiveSystem) -> TypeGuard[RecurrentSystem]:
    """Return if the system reads a selection and so needs no answer."""
    return isinstance(system, RecurrentSystem) and isinstance(system.model, SelectAndForget)


def prepare_whole_pass(system: RecurrentSystem, item: QAItem) -> Callable[[bool], None]:
    """Return the bare, prepared pass over a whole item."""
    batch = collate([system.features(item)], system.device)

    def go(backward: bool) -> None:
        with torch.no_grad():
            system.model(batch)

    return go


def compare_passes(
    system: RecurrentSystem | ExtractiveSystem, items: Sequence[QAItem], method: SaliencyMethod, rounds: int
) -> tuple[float, float]:
    """Return the median seconds of bare passes and the median ratio."""
    options = SaliencyOptions(method=method)
    view: Explainable = (
        ExtractiveSaliency(system) if isinstance(system, ExtractiveSystem) else RecurrentSaliency(system)
    )
    work: list[tuple[Callable[[bool], None], bool]] = []
    for subject in view.explainable(items, options):
        forward = {"integrated-gradients": 2, "occlusion": 1 + len(subject.rows), "gradient-x-input": 0}[
            method
        ]
        backward = {"integrated-gradients": options.steps, "occlusion": 0, "gradient-x-input": 1}[method]
        for passes, back in ((forward, False), (backward, True)):
            work += [
                (prepare_bare_pass(system, subject, copies), back)
                for copies in list_batch_sizes(subject, passes)
            ]
        if is_selective(system):  # the pass over the whole item that selects the facts
            work.append((prepare_whole_pass(system, subject.item), False))
        elif method != "occlusion":  # the pass that finds the answer, whose logit is explained
            work.append((prepare_bare_pass(system, subject, 1), False))
    seconds, ratios = [], []
    for _ in range(rounds):
        started = time.process_time()
        for go, back in work:
            go(back)
        passed = time.process_time()
        system.explain(items, options)
        ratios.append((time.process_time() - passed) / (passed - started))
        seconds.append(passed - started)
    return statistics.median(seconds), statistics.median(ratios)


def main() -> int:
    """Print the table; return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=4, help="questions")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    examples = parse_gold(generate("dev", 4 * arguments.items, 1), "world")
    items = [shorten_item(example) for example in examples]
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        systems = [
            load_system("qi2019"),
            load_system("select-and-forget"),
            build_encoder(Path(folder), examples),
        ]
        for system in systems:
            assert isinstance(system, RecurrentSystem | ExtractiveSystem)
            # One that selects facts has nothing to explain if it selected none.
            with_facts = [item for item in items if system.predict([item])[0].facts][: arguments.items]
            for method in METHODS:
                seconds, ratio = compare_passes(system, with_facts, method, arguments.rounds)
                worst = max(worst, ratio)
                bare_ms = 1000 * seconds / len(with_facts)
                print(
                    f"{system.name:<18} {method:<21} bare {bare_ms:8.1f} ms an item, {ratio:5.2f} times",
                    flush=True,
                )
    print(f"largest ratio {worst:.2f}; bar {BAR}")
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
