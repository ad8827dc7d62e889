"""Hints for a user who lacks a right: the command that grants exactly this right.

A Duolog broker names the right in its error message. Apache Kafka does not, and librdkafka drops
the message of some responses: the hint then has words in capitals for what is not known.

Source: the message of `broker.authorization.checks.NotAuthorized`.
"""

import re
from typing import Any, Final

from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode

_NAMED: Final = re.compile(
    # librdkafka puts words of its own, a colon and a space before the message.
    r"(?P<principal>\w+:\S.*?) has no right to (?P<operation>\w+) on "
    r'(?:(?P<cluster>cluster)|(?P<kind>topic|group|transactional id) "(?P<name>[^"]+)")'
)
_PLAIN: Final = re.compile(r"[\w.:/-]+", re.ASCII)
_GENERAL: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "--operation OPERATION --topic TOPIC",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "--operation read --group GROUP",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "--operation OPERATION --cluster",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "--operation write --transactional-id ID",
}
_PRODUCERS: Final = " A producer without --operation write on any topic gets this error, too."


def rights_hint(code: int, message: str = "") -> str:
    """Return the hint for an error code of Kafka; empty if the code is not about rights.

    Args:
        code: Kafka's code.
        message: the text of the error, which may name the right.

    Example:
        >>> rights_hint(29, 'User:ann has no right to READ on topic "a"').partition(": ")[2]
        '`duolog acls add --allow User:ann --operation read --topic a`, or kafka-acls.sh.'
    """
    general = _GENERAL.get(ErrorCode(code)) if code in _GENERAL else None
    if general is None:
        return ""
    named = _NAMED.search(message)
    principal, rule = ("User:NAME", general) if named is None else _exactly(named)
    hint = (
        "The user lacks a right. An administrator grants it: `duolog acls add --allow "
        f"{principal} {rule}`, or kafka-acls.sh."
    )
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED and named is None:
        hint += _PRODUCERS
    return hint


def _exactly(named: re.Match[str]) -> tuple[str, str]:
    """Return principal and options of the rule that grants the right that a message names."""
    option = "--cluster"
    if named["cluster"] is None:
        option = f"--{named['kind'].replace(' ', '-')} {_quoted(named['name'])}"
    return _quoted(named["principal"]), f"--operation {named['operation'].lower()} {option}"


def _quoted(text: str) -> str:
    """Quote a word for a shell: names come from elsewhere, and the hint is there to be copied."""
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def ensure_answered(answer: Any, doing: str) -> None:
    """Return if a response, or a part of it, has no error.

    Args:
        answer: an entity of kio with `error_code` and `error_message`.
        doing: the action, such as `list the quotas`.

    Raises:
        KafkaError: it has one; the code is Kafka's.
    """
    code = int(answer.error_code)
    if code:
        name = ErrorCode(code).name
        message = answer.error_message or ""
        raise KafkaError(
            f"could not {doing}",
            code=code,
            detail=f"{name}: {message}" if message else name,
            hint=rights_hint(code, message),
        )
