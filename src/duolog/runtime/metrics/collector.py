"""Send spans to an OpenTelemetry collector: OTLP over HTTP, as JSON. Needs no other package.

    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces   target URL, or
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318                    URL before /v1/traces
    OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20x,tenant=a         headers of each request
    OTEL_SERVICE_NAME=sales                                              default: application id
    OTEL_SDK_DISABLED=true, OTEL_TRACES_EXPORTER=none                    send no spans

Threads: that of one query. Source: OpenTelemetry's protocol (OTLP 1.x in JSON: ids in hexadecimal,
64-bit numbers as
strings) and its environment variables.
"""

import json
import logging
import os
import secrets
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Self

logger = logging.getLogger(__name__)

_TIMEOUT_S: Final = 3.0
_PATH: Final = "/v1/traces"
_INTERNAL: Final = 1
_SPOKEN: Final = ("http/json", "http/protobuf", "")
"""Collectors that accept Protobuf over HTTP also accept JSON."""


class Span(NamedTuple):
    """A span; times in nanoseconds since 1970."""

    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str | int]


class Collector:
    """Sends spans to a collector.

    Args:
        url: full URL.
        headers: headers of each request.
        service: service name; None: the id of each application.
    """

    def __init__(self, url: str, headers: Mapping[str, str], service: str | None = None) -> None:
        self.url = url
        self._headers = headers
        self._service = service
        self._fails = False

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Self | None:
        """Return the collector of the environment, or None; invalid values are logged."""
        url = _url(environment)
        if url is None:
            return None
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            logger.warning("spans are not sent: not an HTTP address", extra={"endpoint": url})
            return None
        protocol = _either(environment, "PROTOCOL")
        if protocol not in _SPOKEN:
            logger.warning(
                "spans are not sent: only http/json is supported",
                extra={"endpoint": url, "protocol": protocol},
            )
            return None
        headers = dict(_headers(_either(environment, "HEADERS")))
        return cls(url, headers, environment.get("OTEL_SERVICE_NAME") or None)

    def take(self, application_id: str, traces: Sequence[Sequence[Span]]) -> bool:
        """Send traces, each with its root span first.

        Return true if the collector has accepted them.

        Logs once that the collector does not accept them, and once that it does again.
        """
        if not traces:
            return True
        fields = {"application": application_id, "endpoint": self.url}
        try:
            self._post(self._body(application_id, traces))
        except (OSError, ValueError) as error:
            if not self._fails:
                logger.warning(
                    "the collector does not accept spans; the last ones are kept and sent again",
                    extra={**fields, "reason": str(error)},
                )
            self._fails = True
            return False
        if self._fails:
            logger.info("the collector accepts spans again", extra=fields)
        self._fails = False
        return True

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json", **self._headers}
        request = urllib.request.Request(self.url, body, headers, method="POST")  # noqa: S310 - HTTP, as checked
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - as above
            answer.read()

    def _body(self, application_id: str, traces: Sequence[Sequence[Span]]) -> bytes:
        spans = [one for trace in traces for one in _as_json(trace)]
        resource = {"service.name": self._service or application_id}
        return json.dumps(
            {
                "resourceSpans": [
                    {
                        "resource": {"attributes": _attributes(resource)},
                        "scopeSpans": [{"scope": {"name": "duolog"}, "spans": spans}],
                    }
                ]
            }
        ).encode()


def _url(environment: Mapping[str, str]) -> str | None:
    disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if disabled or environment.get("OTEL_TRACES_EXPORTER", "otlp") not in {"otlp", ""}:
        return None
    if url := environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        return url
    base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return base.rstrip("/") + _PATH if base else None


def _either(environment: Mapping[str, str], name: str) -> str:
    """Return a variable for traces, or else the one for all signals."""
    of_all = environment.get(f"OTEL_EXPORTER_OTLP_{name}", "")
    return environment.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}", of_all)


def _headers(text: str) -> Iterable[tuple[str, str]]:
    """Parse headers from the environment.

    Example:
        >>> list(_headers("authorization=Bearer%20x, tenant=a,"))
        [('authorization', 'Bearer x'), ('tenant', 'a')]
    """
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals and name.strip():
            yield name.strip(), urllib.parse.unquote(value.strip())


def _as_json(trace: Sequence[Span]) -> Iterable[dict[str, object]]:
    of_trace = secrets.token_hex(16)
    outermost = secrets.token_hex(8)
    for place, span in enumerate(trace):
        inside = {"parentSpanId": outermost} if place else {}
        yield {
            "traceId": of_trace,
            "spanId": secrets.token_hex(8) if place else outermost,
            **inside,
            "name": span.name,
            "kind": _INTERNAL,
            "startTimeUnixNano": str(span.start_ns),
            "endTimeUnixNano": str(span.end_ns),
            "attributes": _attributes(span.attributes),
        }


def _attributes(of: Mapping[str, str | int]) -> list[dict[str, object]]:
    return [
        {
            "key": key,
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for key, value in of.items()
    ]
