import re
from pathlib import Path

import pytest

from modelserver.serving.system_spec import ClassSpec, RemoteSpec, ShippedSpec, parse


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("qi2019", ShippedSpec("qi2019", "qi2019")),
        ("qi2019=runs/mine", ShippedSpec("qi2019", "qi2019", Path("runs/mine"))),
        ("bert=extractive-qa:runs/bert", ShippedSpec("bert", "extractive-qa", Path("runs/bert"))),
        ("bert=extractive-qa:some/hub-id", ShippedSpec("bert", "extractive-qa", Path("some/hub-id"))),
        ("mine=here/my_system.py:MySystem", ClassSpec("mine", Path("here/my_system.py"), "MySystem")),
        ("far=http://127.0.0.1:9000/answer", RemoteSpec("far", "http://127.0.0.1:9000/answer")),
        ("far=https://host/a?b=c#v2", RemoteSpec("far", "https://host/a?b=c", "v2")),
    ],
)
def test_each_form(text, choice):
    assert parse(text) == [choice]


def test_a_list_keeps_its_order_and_empty_parts_are_nothing():
    assert [spec.name for spec in parse("b=x, a ,c=f.py:C,")] == ["b", "a", "c"]


def test_a_folder_that_is_there_may_have_a_colon(tmp_path):
    folder = tmp_path / "a:b"
    folder.mkdir()
    assert parse(f"qi2019={folder}") == [ShippedSpec("qi2019", "qi2019", folder)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no system is named"),
        ("a=", "'a=' has nothing after '='"),
        ("=folder", "'' in '=folder' is not a valid name"),
        ("a b", "'a b' in 'a b' is not a valid name"),
        ("a,a=folder", "two systems have the name 'a'"),
        ("mine=my_system.py", "names a file without a class; write mine=my_system.py:Class"),
        ("far=http://", "'http://' is not the address of a server"),
        ("far=http://[::1", "is not the address of a server"),
        ("bert=extractive-qa:", "names no folder after 'extractive-qa'"),
    ],
)
def test_what_is_malformed_says_so(text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        parse(text)
