"""Files of datasets on the hub: only where a setting allows it, and by their whole name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from foundation.errors import BadFile
from predictions import hub_files
from predictions.hub_files import local_file


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[tuple[Any, ...]]:
    """What the hub is asked for, in a site that allows it."""
    requests: list[tuple[Any, ...]] = []

    def download(repository: str, file: str, *, repo_type: str, revision: str | None) -> str:
        requests.append((repository, file, repo_type, revision))
        return "/cache/file.parquet"

    monkeypatch.setattr(hub_files, "hf_hub_download", download)
    settings.HUB_DATASETS = True
    return requests


def test_it_works(asked: list[tuple[Any, ...]]) -> None:
    assert local_file(Path("hub:hotpotqa/hotpot_qa/distractor/val.parquet@v1")) == Path("/cache/file.parquet")
    assert asked == [("hotpotqa/hotpot_qa", "distractor/val.parquet", "dataset", "v1")]
    local_file(Path("hub:a/b/c.parquet"))
    assert asked[1] == ("a/b", "c.parquet", "dataset", None)


def test_nothing_is_fetched_unless_allowed(asked: list[tuple[Any, ...]], settings: Any) -> None:
    settings.HUB_DATASETS = False
    with pytest.raises(BadFile, match="HUB_DATASETS"):
        local_file(Path("hub:a/b/c.parquet"))
    assert local_file(Path("file.json")) == Path("file.json")
    assert asked == []


@pytest.mark.parametrize("name", ["hub:", "hub:a", "hub:a/b"])
def test_a_name_has_three_parts(asked: list[tuple[Any, ...]], name: str) -> None:
    with pytest.raises(BadFile, match="OWNER/NAME/FILE"):
        local_file(Path(name))
    assert asked == []


def test_a_hub_that_is_away_is_said(asked: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_arguments: Any, **_options: Any) -> str:
        raise LocalEntryNotFoundError("no connection")

    monkeypatch.setattr(hub_files, "hf_hub_download", away)
    with pytest.raises(BadFile, match=r"hub:a/b/c\.parquet.*no connection"):
        local_file(Path("hub:a/b/c.parquet"))
