"""Small uploads: NLVR2 examples, their programs and pictures."""

import json
import zipfile
from collections.abc import Iterable
from io import BytesIO

import PIL.Image

PROGRAM = "equal(count(filter[black](find[dogs])), 2)"


def picture(width: int = 40, height: int = 30, colour: str = "navy") -> bytes:
    file = BytesIO()
    PIL.Image.new("RGB", (width, height), colour).save(file, "PNG")
    return file.getvalue()


def example(number: int) -> dict[str, str]:
    return {
        "identifier": f"dev-{number}-0-0",
        "sentence": f"There are {number} black dogs.",
        "label": "True" if number % 2 else "False",
    }


def zipped(files: dict[str, bytes]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def lines(values: Iterable[object]) -> bytes:
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


def pictures(number: int) -> dict[str, bytes]:
    return {
        f"pictures/dev-{index}-0-img{side}.png": picture(colour=("navy", "teal")[side])
        for index in range(number)
        for side in (0, 1)
    }


def pairs(number: int) -> dict[str, bytes]:
    """The files of a zip file with this number of image pairs."""
    programs = "".join(f"dev-{index}-0-0\t{PROGRAM}\n" for index in range(number))
    examples = lines(example(index) for index in range(number))
    return {"items.jsonl": examples, "programs.tsv": programs.encode(), **pictures(number)}
