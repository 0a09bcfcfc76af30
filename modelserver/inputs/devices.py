"""The device of a command, checked before anything is computed."""

from typing import Annotated

import torch
from cyclopts import Parameter


def check_device(_: type, name: str) -> None:
    """Refuse a device that torch cannot compute on here.

    Raises:
        ValueError: torch does not know the device or cannot use it.
    """
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"cannot be used: {reason}") from None


Device = Annotated[str, Parameter(validator=check_device)]
