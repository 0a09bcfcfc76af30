"""Links between documents lead somewhere, and the index has every page."""

import re
import textwrap
from pathlib import Path

import pytest
import yaml

from scripts.sites.processes import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def local_links(page: Path) -> list[Path]:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [match[1] for match in LINK.finditer(text)]
    return [(page.parent / target).resolve() for target in targets if "://" not in target]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path):
    assert [str(target) for target in local_links(page) if not target.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_yaml_are_yaml(page: Path):
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^ *```ya?ml\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        yaml.safe_load(textwrap.dedent(block))


def test_every_page_can_be_reached_from_the_readme():
    reached_pages: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached_pages or page.suffix != ".md" or not page.is_file():
            continue
        reached_pages.add(page)
        todo += local_links(page)
    assert {str(page) for page in set(PAGES) - reached_pages} <= {str(ROOT / "CHANGELOG.md")}


def test_the_index_has_every_page():
    """Decisions and the generated Python API have indexes of their own."""
    index = ROOT / "docs/index.md"
    pages = {page for page in PAGES if page.is_relative_to(ROOT / "docs")}
    missing = pages - {index, *local_links(index)}
    assert {str(page) for page in missing if page.parent.name not in ("adr", "api")} == set()


def test_the_readme_names_commands_that_the_makefile_has():
    text = "\n".join(
        page.read_text(encoding="utf-8") for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    )
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"`?make ([a-z]+)`", text)) | set(
        re.findall(r"^make ([a-z]+)$", text, re.MULTILINE)
    )
    assert {"demo", "test", "check"} <= named
    assert not {name for name in named if f"\n{name}:" not in makefile}


def test_the_continuous_check_runs_the_commands_of_the_documents():
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert re.findall(r"^make (\w+)", script, re.MULTILINE) == ["check", "test"]
