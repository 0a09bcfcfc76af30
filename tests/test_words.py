"""The field's terms can be found by search, in code and in docs."""

import subprocess

import pytest

from tests.paths import ROOT

TERMS = (
    "confidence interval",
    "power analysis",
    "inter-annotator agreement",
    "early stopping",
    "counterbalancing",
    "multiple comparisons",
    "learning rate",
    "checkpoint",
    "rate limit",
    "cache",
    "assignment",
    "interim analysis",
)
CODE = ("*.py", ":!tests", ":!benchmarks", ":!scripts")
DOCS = ("docs/*.md", "README.md")


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("where", [CODE, DOCS], ids=["code", "docs"])
def test_a_search_finds_the_term(term: str, where: tuple[str, ...]):
    paths = subprocess.run(
        ["git", "grep", "-il", term, "--", *where], cwd=ROOT, capture_output=True, text=True
    ).stdout
    assert paths.splitlines()
