"""Values of large JSON files come one by one, in blocks of any size.

Every mistake has its line.
"""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.io import json_window
from foundation.errors import BadFile
from foundation.imports.json_stream import read_members, read_values


def written(folder: Path, text: str, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON_VALUES, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_any_array_comes_back_whatever_the_block(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[object],
    block: int,
    indent: int | None,
    ascii: bool,
):
    path = written(tmp_path_factory.mktemp("json"), json.dumps(values, indent=indent, ensure_ascii=ascii))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_window, "BLOCK", block)
        assert [element.value for element in read_values(path)] == values


@pytest.mark.parametrize("block", [1, 5, 1000])
def test_lines_are_those_on_which_values_begin(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_window, "BLOCK", block)
    path = written(tmp_path, '\n[{"a":\n1},\n\n{"b": 2}, 12,\n"x"\n]\n')
    assert [(element.line, element.value) for element in read_values(path)] == [
        (2, {"a": 1}),
        (5, {"b": 2}),
        (5, 12),
        (6, "x"),
    ]


def test_json_lines_are_taken_too(tmp_path: Path):
    path = written(tmp_path, '\ufeff{"a": 1}\n\n{"a": 2}\n')
    assert [(element.line, element.value) for element in read_values(path)] == [(1, {"a": 1}), (3, {"a": 2})]


@pytest.mark.parametrize(
    "text, line, words",
    [
        ('[{"a": 1}\n{"a": 2}]', 2, "expected a comma"),
        ('[{"a": 1},\n{"a": }]', 2, "not JSON: Expecting value"),
        ('[{"a": 1},\n', 2, "the file ends here"),
        ('[{"a": "x', 1, "Unterminated string"),
        ("[1, 2", 1, "the file ends here"),
        ('[{"a": 1}]\n[]', 2, "text after the end"),
        ("[1,]", 1, "Expecting value"),
        ('[2"]', 1, "expected a comma"),
        ('{"a": 1}\n{"a" 2}', 2, "Expecting ':'"),
        ("[" * 100_000, 1, "is nested too deeply"),
        ("[1" + "0" * 5000 + "]", 1, "digits"),
    ],
)
def test_what_is_malformed_is_told_with_its_line(tmp_path: Path, text: str, line: int, words: str):
    path = written(tmp_path, text)
    with pytest.raises(BadFile) as error:
        list(read_values(path))
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert words in str(error.value)


def test_a_mistake_at_the_beginning_of_a_large_file_is_found_at_once(tmp_path: Path):
    path = written(tmp_path, '[{"a" 1},' + '{"b": 2},' * 500_000 + '{"b": 2}]')
    read: list[int] = []
    with pytest.raises(BadFile, match="Expecting ':'"):
        list(read_values(path, on_progress=read.append))
    assert max(read) < path.stat().st_size / 2


def test_what_is_not_utf_8_is_told(tmp_path: Path):
    path = tmp_path / "latin.json"
    path.write_bytes('[{"a": "é"}]'.encode("latin-1"))
    with pytest.raises(BadFile, match="not UTF-8"):
        list(read_values(path))


def test_a_missing_file_is_told(tmp_path: Path):
    with pytest.raises(BadFile, match=r"nothing\.json: there is no such file"):
        list(read_values(tmp_path / "nothing.json"))


def test_memory_does_not_grow_with_the_file(tmp_path: Path):
    def peak(count: int) -> int:
        path = written(tmp_path, json.dumps([{"text": "x" * 5000, "number": n} for n in range(count)]))
        tracemalloc.start()
        for _ in read_values(path):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(4000) < 1.5 * peak(1000)  # 24 MB and 6 MB of file


# --- members of one object ---------------------------------------------------------------------------


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5), st.integers(1, 40), st.sampled_from([None, 1]))
def test_any_object_comes_back_whatever_the_block(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, object], block: int, indent: int | None
):
    path = written(tmp_path_factory.mktemp("json"), json.dumps(values, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_window, "BLOCK", block)
        assert {key: element.value for key, element in read_members(path)} == values


@pytest.mark.parametrize("block", [1, 5, 1000])
def test_lines_are_those_on_which_values_of_keys_begin(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(json_window, "BLOCK", block)
    path = written(tmp_path, '{"a":\n1,\n\n"b"\n: [2], "c": 12}\n')
    assert [(element.line, key, element.value) for key, element in read_members(path)] == [
        (2, "a", 1),
        (5, "b", [2]),
        (5, "c", 12),
    ]


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("[1]", 1, "expected an object"),
        ("", 1, "expected an object"),
        ('{"a": 1,\n}', 2, "expected a key in quotes"),
        ("{1: 1}", 1, "expected a key in quotes"),
        ('{"a": 1,\n"a": 2}', 2, "the key 'a' occurs twice"),
        ('{"a"\n1}', 2, "expected a colon"),
        ('{"a": 1\n"b": 2}', 2, "expected a comma"),
        ('{"a": 1', 1, "the file ends here"),
        ('{"a": 1}\n{}', 2, "text after the end"),
    ],
)
def test_what_is_malformed_in_an_object_is_told_with_its_line(
    tmp_path: Path, text: str, line: int, words: str
):
    path = written(tmp_path, text)
    with pytest.raises(BadFile) as error:
        list(read_members(path))
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert words in str(error.value)
