"""Redaction of log lines: tokens and logins in addresses, query strings.

Recruitment platforms put the IDs of people into query strings.
"""

import logging
import re

from modelserver.serving import logs
from modelserver.wire.redaction import redacted as without_login

# The token of an entry link, a resume link or an invitation, in an address or alone as a path.
_TOKEN = re.compile(r"/(join|resume|invitations)/[^/\s\"'?<>]+")
# The query string of an address. The question mark of a sentence has a space after it.
_QUERY = re.compile(r"(?<=[\w/])\?[^\s\"'<>]*=[^\s\"'<>]*")


def redacted(text: str) -> str:
    """Replace each token and query string with ``…``, and leave logins out."""
    return without_login(_QUERY.sub("?…", _TOKEN.sub(r"/\1/…", text)))


class RedactingFormatter(logging.Formatter):
    """Redact the whole line, with its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line."""
        return redacted(super().format(record))


class JsonLines(logs.JsonLines):
    """One JSON object per line, in the form of the model server's log.

    It has the name of the logger, the request id and the traceback besides.
    """

    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        """Return the fields of a line."""
        fields = super().fields(record)
        fields |= {"logger": record.name, "request_id": getattr(record, "request_id", "-")}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        # Before they are encoded: a redaction could cut an escaped character in two.
        return {name: redacted(text) if isinstance(text, str) else text for name, text in fields.items()}
