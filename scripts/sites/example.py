"""Make a small study from generated questions on a running site.

Its predictions are made up, so that no system is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from modelserver.world import Example, generate
from scripts.sites.site import Site

SYSTEMS = ("right", "wrong", "also-wrong")
DEFINITION = """
study: {slug}
title: Do the explanations help?
dataset: {dataset}
conditions:
{conditions}
  - ground_truth: true
items: {{count: {items}, seed: 2020}}
consent: I take part of my own will.
instructions: Judge whether the answer is correct.
"""

LOAD = """
from django.core.management import call_command
call_command("import_dataset", "hotpot", {folder!r} + "/questions.json", name={slug!r})
for system in {systems!r}:
    call_command("import_predictions", {folder!r} + f"/{{system}}.json", dataset={slug!r}, system=system)
call_command("create_study", {folder!r} + "/study.yaml")
call_command(
    "launch_study", {slug!r}, accept=[("judging", "made-up answers"), ("rehearsal", "a made-up study")]
)
"""


def load_example(
    site: Site,
    *,
    slug: str = "example",
    questions: int = 60,
    items: int = 25,
    systems: int = 2,
    more: str = "",
) -> None:
    """Import questions and predictions, and launch a study of them.

    There are up to three systems beside the gold. ``more`` is YAML with further fields of the definition.
    """
    names = SYSTEMS[:systems]
    folder = site.var / slug
    folder.mkdir()
    examples = list(generate("test", questions, 1))
    write(folder / "questions.json", examples)
    for name in names:
        write(folder / f"{name}.json", make_predictions(examples, right=name == "right"))
    conditions = "\n".join(f"  - system: {name}" for name in names)
    text = DEFINITION.format(slug=slug, dataset=slug, items=items, conditions=conditions) + more
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    # One process: each that starts takes a second or two, and tests load many examples.
    site.manage(
        "shell", "--no-imports", "--command", LOAD.format(folder=str(folder), slug=slug, systems=names)
    )


def write(path: Path, content: object) -> None:
    """Write a value as JSON."""
    path.write_text(json.dumps(content), encoding="utf-8")


def make_link(site: Site, slug: str = "example", mode: str = "live") -> str:
    """Make a shared link into a study and return its address."""
    return site.manage("study_link", slug, "--mode", mode).split()[-1]


def make_predictions(examples: Sequence[Example], *, right: bool) -> Mapping[str, Mapping[str, Any]]:
    """Return predictions in the official form: gold, or mostly wrong."""
    answers = {example["_id"]: example["answer"] for example in examples}
    facts: dict[str, Any] = {example["_id"]: example["supporting_facts"] for example in examples}
    if not right:
        answers = dict(zip(answers, [*list(answers.values())[1:], "no"], strict=True))
        facts = {example["_id"]: [[example["context"][0][0], 0]] for example in examples}
    return {"answer": answers, "sp": facts}
