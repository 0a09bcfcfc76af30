"""Open text files of strangers, and name the line that is not UTF-8."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from analysis.io.errors import describe_os_error
from foundation.errors import BadFile
from foundation.messages import Message, say

UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def open_text(path: Path, *, newline: str | None = None) -> Iterator[TextIO]:
    """Open a file in UTF-8, with or without a byte order mark.

    Raises:
        BadFile: It cannot be read, or a line is not UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            yield file
    except OSError as error:
        raise BadFile(path, say(describe_os_error(error))) from error
    except UnicodeDecodeError as error:
        raise _build_encoding_error(path) from error


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8.

    Raises:
        BadFile: It cannot be read, or a line is not UTF-8.
    """
    with open_text(path) as file:
        return file.read()


def refuse_utf_16(path: Path, start: bytes) -> None:
    """Refuse a file by its first bytes if they are the mark of UTF-16.

    Raises:
        BadFile: They are.
    """
    if start.startswith(UTF_16):
        raise BadFile(path, say("is UTF-16 text; save it as UTF-8"), line=1)


def say_not_utf_8(error: UnicodeDecodeError) -> Message:
    """Return the sentence about a line that does not decode."""
    return say(
        "not UTF-8 text: byte %(byte)s at position %(position)s; save the file as UTF-8",
        byte=f"{error.object[error.start]:#04x}",
        position=error.start,
    )


def _build_encoding_error(path: Path) -> BadFile:
    # A second pass, because the decoder counts from the start of a block.
    with path.open("rb") as file:
        refuse_utf_16(path, file.read(2))
        file.seek(0)
        number = 0
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return BadFile(path, say_not_utf_8(error), line=number)
    return BadFile(path, say("not UTF-8 text"), line=number)
