"""The page of commands is the one that the programs give."""

import re

from analysis.__main__ import COMMANDS as ANALYSIS
from modelserver.__main__ import COMMANDS as MODEL_SERVER
from scripts.pages.commands import PAGE, build_page


def test_the_page_is_the_generated_one():
    assert PAGE.read_text("utf-8") == build_page(), (
        "write it again: .venv/bin/python -m scripts.pages.commands"
    )


def test_it_names_the_commands_of_every_program():
    text = build_page()
    for name in (*(name for name, *_ in ANALYSIS), *(name for name, *_ in MODEL_SERVER)):
        assert f"| `{name}` |" in text
    for name in ("train qi2019", "faithfulness boxes", "create_study", "export_gold"):
        assert f"| `{name}` |" in text
    assert "`looks`" not in text  # a hidden name of interim
    assert "`runserver`" not in text  # Django's own


def test_it_lists_commands_by_their_json():
    (with_json,) = re.findall(r"These commands have it: (.+)\.\n", build_page())
    assert {"`agreement`", "`interim`", "`list`"} <= set(with_json.split(", "))
    (always_json,) = re.findall(r"These always print JSON, and accept `--json` too: (.+)\.\n", build_page())
    assert {"`alignment`", "`evaluate`", "`search`", "`visual-evaluate`"} <= set(always_json.split(", "))
    assert not set(with_json.split(", ")) & set(always_json.split(", "))
    assert "`predict`" not in (*with_json.split(", "), *always_json.split(", "))
