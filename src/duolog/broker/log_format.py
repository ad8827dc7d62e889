"""Log lines of the broker: one line each, with the values as fields.

    2026-11-21T04:30:00.123Z WARNING connection: closed connection client=127.0.0.1:4242 reason="…"

With `logging.format=json` each is an object of JSON. Whatever comes from outside is quoted, so that
a client cannot write a line of its own.
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


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON, with its `extra` values as fields of their own."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, object] = {
            "time": f"{at[:-6]}Z",
            "level": record.levelname,
            "logger": record.name.removeprefix(_PREFIX),
            "message": record.getMessage(),
        }
        for name, value in record.__dict__.items():
            if name not in _USUAL:
                # A field of the line itself is not overwritten.
                fields[f"{name}_" if name in fields else name] = value
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, ensure_ascii=False)


def log_to_stderr(form: str = "text", level: str = "info") -> logging.Handler:
    """Send Duolog's log lines of `level` and above to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else LineFormatter())
    logger = logging.getLogger("duolog")
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    return handler
