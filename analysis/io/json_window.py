"""Read the values of a large JSON file in bounded memory."""

import json
from collections.abc import Callable
from typing import Any, TextIO

BLOCK = 1 << 20  # characters
LONGEST_TOKEN = 16  # characters; an error nearer to the end of a block may be a token cut in two


class JsonWindow:
    """The current block of a file, the position in it, and its line.

    block: characters to read at once, -1 for all; 0 takes `BLOCK`. on_progress: called after each block with
    the number of bytes read so far. hook: makes an object of its members, as of `json.JSONDecoder`.
    """

    def __init__(
        self,
        file: TextIO,
        *,
        block: int = 0,
        on_progress: Callable[[int], None] | None = None,
        hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    ) -> None:
        self.text, self.at, self.line = "", 0, 1
        self._file, self._block, self._on_progress = file, block or BLOCK, on_progress
        self._decode = json.JSONDecoder(object_pairs_hook=hook).raw_decode

    def peek(self) -> str:
        """Return the next non-space character, or "" at the end of the file."""
        while True:
            rest = len(self.text)
            start = next((i for i in range(self.at, rest) if self.text[i] not in " \t\r\n"), rest)
            self._go(start)
            if start < rest:
                return self.text[start]
            if not self._read_more():
                return ""

    def take(self) -> str:
        """Move past the character that `peek` returns, and return it."""
        character = self.peek()
        self._go(self.at + 1)
        return character

    def seek_object(self) -> bool:
        """Move to the next line that begins an object; False if none does."""
        while (at := self.text.find("\n{", self.at)) < 0:
            self._go(max(self.at, len(self.text) - 1))
            if not self._read_more():
                return False
        self._go(at + 1)
        return True

    def value(self) -> tuple[int, Any, str]:
        """Decode the next value; return its line, itself and its text.

        Raises:
            JSONDecodeError: It is not JSON; `pos` is a position in `text`.
            ValueError: The hook refuses an object, or a number has too many digits.
            RecursionError: It is nested too deeply.
        """
        self.peek()
        while True:
            try:
                value, end = self._decode(self.text, self.at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self.text) - LONGEST_TOKEN
                if cut and self._read_more():
                    continue
                raise
            closed = self.text[end - 1] in '}]"' or self.text[end : end + 1] in tuple(" \t\r\n,]}:")
            length = end - self.at
            if not closed and end > len(self.text) - LONGEST_TOKEN and self._read_more():
                continue  # a number may go on in the next block
            line, text = self.line, self.text[self.at : self.at + length]
            self._go(self.at + length)
            return line, value, text

    def _go(self, position: int) -> None:
        self.line += self.text.count("\n", self.at, position)
        self.at = position

    def _read_more(self) -> bool:
        """Add the next block and return whether there was one."""
        # A block is at least as long as the rest, so that a long value is decoded only a few times.
        left = self.text[self.at :]
        block = self._file.read(self._block if self._block < 0 else max(self._block, len(left)))
        self.text, self.at = left + block, 0
        if self._on_progress is not None:
            self._on_progress(self._file.buffer.tell())
        return bool(block)
