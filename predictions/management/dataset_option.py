"""The option by which commands name a dataset."""

import argparse
from typing import Any

from accounts.models import User
from accounts.policy_table import Act
from jobs.commands.base import add_workspace, read_workspace_option
from predictions.models import Dataset
from predictions.queries.data import find_dataset


def add_dataset(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--dataset``, with a help text, and ``--workspace``."""
    parser.add_argument("--dataset", required=True, help=text)
    add_workspace(parser)


def read_dataset_option(options: dict[str, Any]) -> tuple[Dataset, User | None]:
    """Return the dataset, and the user of ``--as``, who may change its runs.

    Raises:
        NotFound: There is no such workspace or dataset.
        NotAllowed: The roles of the user do not allow it.
    """
    workspace, user = read_workspace_option(options, Act.DATA_MANAGE)
    return find_dataset(options["dataset"], workspace), user
