"""A small study on a running site, from generated questions and made-up predictions; no system is needed."""

from __future__ import annotations

import json
from typing import Any

from scripts.site import Site

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


def load_example(
    site: Site, *, slug: str = "example", questions: int = 60, items: int = 25, systems: int = 2
) -> None:
    """Bring in questions and the predictions of up to three systems; launch a study of them and the gold."""
    names = SYSTEMS[:systems]
    folder = site.var / slug
    folder.mkdir()
    site.python("modelserver", "world", "--out", str(folder), "--train", "0", "--dev", "0",
                "--test", str(questions))  # fmt: skip
    site.manage("import_dataset", "hotpot", str(folder / "test.json"), "--name", slug)
    examples = json.loads((folder / "test.json").read_text(encoding="utf-8"))
    for system in names:
        path = folder / f"{system}.json"
        path.write_text(json.dumps(predictions(examples, right=system == "right")), encoding="utf-8")
        site.manage("import_predictions", str(path), "--dataset", slug, "--system", system)
    conditions = "\n".join(f"  - system: {name}" for name in names)
    text = DEFINITION.format(slug=slug, dataset=slug, items=items, conditions=conditions)
    definition = folder / "study.yaml"
    definition.write_text(text, encoding="utf-8")
    site.manage("create_study", str(definition))
    site.manage("launch_study", slug)


def new_link(site: Site, slug: str = "example", mode: str = "live") -> str:
    """Make a shared link into a study and return its address."""
    return site.manage("study_link", slug, "--mode", mode).split()[-1]


def predictions(examples: list[dict[str, Any]], *, right: bool) -> dict[str, dict[str, Any]]:
    """Return predictions in the official form: the gold, or answers and facts that are mostly not."""
    answers = {example["_id"]: example["answer"] for example in examples}
    facts = {example["_id"]: example["supporting_facts"] for example in examples}
    if not right:
        answers = dict(zip(answers, [*list(answers.values())[1:], "no"], strict=True))
        facts = {example["_id"]: [[example["context"][0][0], 0]] for example in examples}
    return {"answer": answers, "sp": facts}
