"""Tests of definition files: errors name the file, readable or not."""

import pytest

from studyapp.definition.definition_file import load_definition
from studyapp.definition.yaml_document import DefinitionError


def test_the_file_is_named(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text("items: {count: 0}", encoding="utf-8")
    with pytest.raises(DefinitionError) as caught:
        load_definition(path)
    assert f"{path}:1: items.count: " in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(DefinitionError, match=r"none\.yaml: there is no such file"):
        load_definition(tmp_path / "none.yaml")
    with pytest.raises(DefinitionError, match="Is a directory"):
        load_definition(tmp_path)


def test_no_text(tmp_path):
    path = tmp_path / "latin.yaml"
    path.write_bytes("title: Prüfung".encode("latin-1"))
    with pytest.raises(DefinitionError, match=r"latin\.yaml: is not UTF-8 text"):
        load_definition(path)
