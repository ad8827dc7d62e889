"""The page of the rights that each API needs, from the table that the broker checks by."""

from collections.abc import Iterator

from duolog.broker.authorization.checks import Check, Instead, Named
from duolog.broker.authorization.table import TABLE
from duolog.broker.router import find_apis
from duolog.security.authorization.operations import ResourceType

INTRO = """\
The rights that a client needs for each API of the broker, once an authorizer is configured. They
follow Apache Kafka 4.1. The broker checks by the table from which this page is written, and a test
denies each right alone and compares the answers.

- *The request fails:* the answer has the error for the request, or for each of its items.
- *The item fails:* only the topic, group or other resource without the right gets the error.
- *Left out of the answer:* a list does not contain what the client may not see.

A resource that the client may not use is answered like one that does not exist. A topic id is not a
secret, as in Kafka: an unknown id is UNKNOWN_TOPIC_ID, a known one TOPIC_AUTHORIZATION_FAILED, and
the name of the topic is left out."""
UNCHECKED = "every client may use it"


def authorization_page() -> str:
    """Return the page."""
    rows = [row for api in find_apis() for row in _rows(int(api.key), api.name)]
    head = (
        "| key | API | operation | resource | name from | without the right | error |",
        "|---|---|---|---|---|---|---|",
    )
    return "\n\n".join(("# Rights that each API needs", INTRO, "\n".join((*head, *rows))))


def _rows(key: int, name: str) -> Iterator[str]:
    checks = TABLE[key]
    if not checks:
        yield f"| {key} | {name} | none | | | {UNCHECKED} | |"
    for check in checks:
        right = f"{_operation(check)} | {_kind(check.resource)} | {check.named_by}"
        yield f"| {key} | {name} | {right} | {_effect(check)} | {_error(check)} |"


def _operation(check: Check) -> str:
    return ", or ".join((check.operation.name, *(_instead(right) for right in check.instead)))


def _instead(right: Instead) -> str:
    which = {
        Named.SAME: "",
        Named.CLUSTER: " on the cluster",
        Named.ANY: f" on any {_kind(right.resource)}",
    }
    return f"{right.operation.name}{which[right.named]}"


def _kind(resource: ResourceType) -> str:
    return resource.name.lower().replace("_", " ")


def _effect(check: Check) -> str:
    return f"{check.effect.value}; {check.note}" if check.note else check.effect.value


def _error(check: Check) -> str:
    return check.code.name if check.shows_code else ""
