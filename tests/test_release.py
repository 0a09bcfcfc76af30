"""The version is said once, and everything that shows it agrees."""

import re
import tomllib
from typing import Any

import pytest
import yaml

import analysis
from studyapp.exports.documents import build_study_version
from studyapp.exports.study_data import load_study_data
from tests.paths import ROOT
from tests.studyapp import factories


def test_the_citation_names_the_version():
    assert citation()["version"] == analysis.__version__


def test_the_newest_release_of_the_changelog_is_the_version():
    assert newest_heading()[0] == analysis.__version__


def test_the_citation_has_the_date_of_the_changelog_and_none_before_the_release():
    assert str(citation().get("date-released", "unreleased")) == newest_heading()[1]


def citation() -> dict[str, Any]:
    """The content of CITATION.cff."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    return content


def newest_heading() -> tuple[str, str]:
    """The version and the date of the changelog's first heading."""
    heading = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heading
    return heading[1], heading[2]


def test_the_distribution_holds_every_folder_of_the_analysis():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "analysis").rglob("__init__.py")}
    packages = {"touchstone." + ".".join(folder.parts) for folder in folders}
    assert set(settings["packages"]) == {"touchstone", "touchstone.client", *packages}


@pytest.mark.django_db
def test_a_bundle_names_the_version_that_wrote_it():
    data = load_study_data(factories.make_study(), public=True)
    assert build_study_version(data)["exported_by"] == f"touchstone {analysis.__version__}"
