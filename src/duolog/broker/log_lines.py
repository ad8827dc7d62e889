"""Log lines of the broker: one line each, with the values as fields.

    2026-11-21T04:30:00.123Z WARNING connection: closed connection client=127.0.0.1:4242 reason="…"

Whatever comes from outside is quoted, so that a client cannot write a line of its own.
"""

import json
import logging
from datetime import UTC, datetime
from typing import Final

_USUAL: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_PREFIX: Final = "duolog."


class LineFormatter(logging.Formatter):
    """Formats a log record with its `extra` values as `name=value`."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        name = record.name.removeprefix(_PREFIX)
        line = f"{at[:-6]}Z {record.levelname} {name}: {record.getMessage()}"
        for field, value in record.__dict__.items():
            if field not in _USUAL:
                line += f" {field}={_quoted(value)}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _quoted(value: object) -> str:
    text = str(value)
    if text and text.isprintable() and not set(text) & {" ", '"', "="}:
        return text
    return json.dumps(text)


def log_to_stderr() -> logging.Handler:
    """Send Duolog's log lines to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger("duolog")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    return handler
