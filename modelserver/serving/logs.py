"""Log lines of the model server: JSON, on stderr."""

from __future__ import annotations

import json
import logging
import sys
import time

from modelserver.wire.redaction import redact_logins

_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode  # json.dumps would make one for each line


class JsonLines(logging.Formatter):
    """One JSON object per line: time (UTC), level, event and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        return redact_logins(_encode(self.fields(record)))

    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        """Return the fields of a line."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            # The type alone: the message of an error may quote a participant's text.
            line["error"] = getattr(record.exc_info[0], "__name__", None)
        return line


def log_to_stderr(level: str) -> None:
    """Write this process's log as JSON lines, of uvicorn's only warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # a line with the whole address for each request
