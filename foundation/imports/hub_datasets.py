"""Fetch datasets of the Hugging Face hub by name.

They come as the Parquet files that the hub makes of each. No code of a dataset runs here. No token is sent,
so only public datasets are found.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import httpx
from django.conf import settings
from pydantic import Field, RootModel, ValidationError

from foundation.errors import Conflict, NotFound
from foundation.frozen_model import FrozenModel
from foundation.imports.import_fields import Text
from foundation.messages import extract_message, say

PARTIAL = "partial-"  # before a split of which the hub has converted only a part
MOST_BYTES = 8 * 2**30
TIMEOUT = 30.0  # seconds without an answer

Part = Annotated[Text, Field(pattern=r"^[\w.-]*$", max_length=200)]


class HubDataset(FrozenModel):
    """A dataset of the hub, and which rows of it; "" is the only one."""

    name: Annotated[Text, Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)?$", max_length=200)]
    subset: Part = ""
    split: Part = ""


class _Files(RootModel[dict[str, dict[str, list[Any]]]]):
    """The addresses of the files by subset and split."""


def fetch_dataset(
    wanted: HubDataset,
    folder: Path,
    *,
    on_progress: Callable[[int, int | None], None] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Path:
    """Download the rows of a dataset, and return the folder of their files.

    Args:
        wanted: The dataset.
        folder: The folder, which does not exist yet.
        on_progress: Called with the bytes of all files so far.
        transport: Replaces the network in tests.

    Raises:
        NotFound: The hub has no such public dataset, or cannot be reached.
        Conflict: The site does not allow it, there are several subsets or splits, or the hub has only a part
            of the dataset as Parquet.
    """
    if not settings.HUB_URL:
        raise Conflict(say("this site does not fetch datasets by name; its setting HUB_URL allows it"))
    address = f"{settings.HUB_URL.rstrip('/')}/api/datasets/{wanted.name}/parquet"
    try:
        with httpx.Client(timeout=TIMEOUT, follow_redirects=True, transport=transport) as client:
            files = _Files.model_validate_json(client.get(address).raise_for_status().content).root
            subset = _choose_key(files, wanted.subset, "choose a subset of the dataset: there are %(names)s")
            split = _choose_key(
                files[subset], wanted.split, "choose a split of the dataset: there are %(names)s"
            )
            if split.startswith(PARTIAL):
                text = "the hub has converted only a part of %(name)s; download it, and upload a file"
                raise Conflict(say(text, name=wanted.name))
            folder.mkdir(parents=True)
            done = 0
            for number in range(len(files[subset][split])):
                # The address is ours, not the one that was sent: a hub must not lead into other networks.
                part = f"{address}/{subset}/{split}/{number}.parquet"
                done = _download(client, part, folder / f"{number:05}.parquet", done, on_progress)
    except (httpx.HTTPError, ValidationError) as error:
        text = "the hub gives no dataset %(name)s: %(problem)s"
        raise NotFound(say(text, name=wanted.name, problem=extract_message(error).splitlines()[0])) from error
    return folder


def fetch_upload(upload: Path, folder: Path, on_progress: Callable[[int, int | None], None]) -> Path:
    """Download the rows of the dataset that an upload names.

    As `fetch_dataset`.
    """
    wanted = HubDataset.model_validate_json(upload.read_bytes())
    return fetch_dataset(wanted, folder, on_progress=on_progress)


def _choose_key(there: Mapping[str, object], wanted: str, text: str) -> str:
    """Return the wanted key, or the only one."""
    if wanted in there:
        return wanted
    if not wanted and len(there) == 1:
        return next(iter(there))
    raise Conflict(say(text, names=", ".join(sorted(there))))


def _download(
    client: httpx.Client,
    address: str,
    path: Path,
    done: int,
    on_progress: Callable[[int, int | None], None] | None,
) -> int:
    """Write a file; return the bytes of all files so far."""
    with client.stream("GET", address) as response, path.open("wb") as file:
        response.raise_for_status()
        for block in response.iter_bytes():
            done += len(block)
            if done > MOST_BYTES:
                raise Conflict(say("the dataset has more than %(most)s GiB", most=MOST_BYTES >> 30))
            file.write(block)
            if on_progress is not None:
                on_progress(done, None)
    return done
