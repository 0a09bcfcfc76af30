"""Fetch a file of a dataset on the Hugging Face hub by its name.

Nothing is fetched unless the setting HUB_DATASETS allows it.
"""

from pathlib import Path

from django.conf import settings
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from foundation.errors import BadFile
from foundation.messages import say

PREFIX = "hub:"


def local_file(path: Path) -> Path:
    """Return the file itself, or the fetched copy of one on the hub.

    Args:
        path: A file, or ``hub:OWNER/NAME/FILE``, with ``@REVISION`` at the end for another than the newest.

    Raises:
        BadFile: The site does not allow the hub, the name is not complete, or the hub has no such file.
    """
    if not str(path).startswith(PREFIX):
        return path
    if not settings.HUB_DATASETS:
        raise BadFile(path, say("set HUB_DATASETS=true to allow fetching from the hub"))
    name, _, revision = str(path).removeprefix(PREFIX).partition("@")
    owner, dataset, file = (*name.split("/", 2), "", "")[:3]
    if not (owner and dataset and file):
        raise BadFile(path, say("write hub:OWNER/NAME/FILE"))
    try:
        return Path(
            hf_hub_download(f"{owner}/{dataset}", file, repo_type="dataset", revision=revision or None)
        )
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise BadFile(
            path, say("the hub does not give this file: %(problem)s", problem=str(error))
        ) from error
