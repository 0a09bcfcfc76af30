"""Redaction of log lines: tokens and logins in addresses, query strings.

Recruitment platforms put the IDs of people into query strings.
"""

import logging
import re

from modelserver.serving import logs
from modelserver.wire.redaction import redact_logins as without_login

# The token of an entry link, a resume link or an invitation, in an address or alone as a path.
_TOKEN = re.compile(r"/(join|resume|invitations)/[^/\s\"'?<>]+")
# A query string of an address, if it holds "="; the question mark of a sentence has a space after it. All up
# to the next space is taken, so that a path of many question marks, as strangers can send, is read only once.
_QUERY = re.compile(r"(?<=[\w/])\?[^\s\"'<>]*")
# Characters that would begin a line that nobody logged, or drive the terminal of its reader.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def redact_log_text(text: str) -> str:
    """Replace each token and query string with ``…``, and leave logins out."""
    return without_login(_QUERY.sub(_drop_values, _TOKEN.sub(r"/\1/…", text)))


def _drop_values(match: re.Match[str]) -> str:
    return "?…" if "=" in match[0] else match[0]


class RedactingFormatter(logging.Formatter):
    """Redact the whole line, with its traceback."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (of logging)
        """Return the line without its traceback, control characters escaped."""
        return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line."""
        return redact_log_text(super().format(record))


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
        return {
            name: redact_log_text(text) if isinstance(text, str) else text for name, text in fields.items()
        }
