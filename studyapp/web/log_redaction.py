"""What log lines may not hold: tokens in addresses, and query strings, where platforms put people's ids."""

import logging
import re

# The token of an entry or resume link, in an address or alone as a path.
_TOKEN = re.compile(r"/(join|resume)/[^/\s\"'?<>]+")
# What follows the question mark of an address. A question mark at the end of a sentence has a space after it.
_QUERY = re.compile(r"(?<=[\w/])\?[^\s\"'<>]*=[^\s\"'<>]*")


def redacted(text: str) -> str:
    """The text with ``…`` for each token and query string."""
    return _QUERY.sub("?…", _TOKEN.sub(r"/\1/…", text))


class RedactingFormatter(logging.Formatter):
    """Redacts the whole line, with its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
