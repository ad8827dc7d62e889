"""The audit log: logins, denials and administrative changes, one JSON object per line.

    {"event":"login","host":"10.0.0.7","mechanism":"SCRAM-SHA-256","outcome":"failure",
     "principal":"User:alice","reason":"wrong password or unknown user","time":"…"}

Lines go to the logger `duolog.audit`, at level info, and those of a broker to the topic that
`audit.log.topic` names, too. They contain no password, token, salt or key. Every text is JSON, so
that a name with line breaks cannot forge a line, and it is cut after `TEXT_MAX` characters: a
stranger chooses the names of its failed logins. Of many failures from one address, some are written
and the others counted, see `failure_lines`:

    {"event":"login","host":"10.0.0.7","outcome":"failure","principal":"User:",
     "reason":"further failures of this address were not written","times":"5310","time":"…"}
"""

import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.security.logins.failure_lines import FailureLines
from duolog.security.records.records import (
    AclChange,
    BootstrapChange,
    Change,
    RoleMemberChange,
    ScramChange,
    TokenChange,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from duolog.core.clock import Clock

LOGGER: Final = logging.getLogger("duolog.audit")
LOGGER.setLevel(logging.INFO)  # Whatever the level of other lines: see `configs.logger_resource`.
TEXT_MAX: Final = 1024
_HELD: Final = "further failures of this address were not written"


class Audit:
    """Writes the events of one server."""

    def __init__(self, clock: "Clock", keep: "Callable[[int, str], None] | None" = None) -> None:
        """Write to the logger, and to `keep` with the time in ms, if it is given."""
        self._clock = clock
        self._keep = keep
        self._failures = FailureLines()

    def login(self, client: Identity, mechanism: str, listener: str, reason: str = "") -> None:
        """Record a login; with a `reason`, it failed, and the principal is only claimed."""
        fields = {"mechanism": mechanism, "listener": listener}
        if reason:
            self._report_held()
            if self._failures.admits(client.host, self._clock.monotonic()):
                self._write("login", client, outcome="failure", reason=reason, **fields)
        else:
            self._write("login", client, outcome="success", **fields)

    def denied(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> None:
        """Record an operation that was denied."""
        self._write(
            "denied",
            client,
            operation=operation.name,
            resource_type=resource.name,
            resource_name=name,
        )

    def changed(self, client: Identity, changes: "Iterable[Change]") -> None:
        """Record changes of users, rights, roles and tokens."""
        for change in changes:
            if (described := _described(change)) is not None:
                self._write("changed", client, **described)

    def _report_held(self) -> None:
        """Write how many failures of an address were not written, if its period has ended."""
        for origin, count in self._failures.due(self._clock.monotonic()):
            unknown = Identity(Principal(USER, ""), origin)
            self._line("login", unknown, outcome="failure", reason=_HELD, times=str(count))

    def _write(self, event: str, client: Identity, **fields: str) -> None:
        self._report_held()
        self._line(event, client, **fields)

    def _line(self, event: str, client: Identity, **fields: str) -> None:
        if self._keep is None and not LOGGER.isEnabledFor(logging.INFO):
            return
        now_ms = self._clock.now_ms()
        moment = datetime.fromtimestamp(now_ms / 1000, UTC)
        row = {
            "time": moment.isoformat(timespec="milliseconds"),
            "event": event,
            "principal": str(client.principal),
            "host": client.host,
            **fields,
        }
        line = json.dumps({name: _cut(text) for name, text in row.items()}, sort_keys=True)
        LOGGER.info("%s", line)
        if self._keep is not None:
            self._keep(now_ms, line)


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"


def _described(change: Change) -> dict[str, str] | None:
    match change:
        case ScramChange(user, mechanism, stored):
            what = f"{mechanism.mechanism} credential of user {user}"
            return _row(what, present=stored is not None)
        case AclChange(acl, present):
            what = (
                f"{acl.permission.name} {acl.operation.name} for {acl.principal} from {acl.host} "
                f"on {acl.pattern_type.name} {acl.resource_type.name} {acl.resource_name}"
            )
            return _row(what, present=present)
        case RoleMemberChange(role, member, present):
            return _row(f"{member} as member of {role}", present=present)
        case TokenChange(token_id, token):
            owner = "" if token is None else f" of {token.principal}"
            return _row(f"token {token_id}{owner}", present=token is not None)
        case BootstrapChange(user):
            return _row(f"first administrator {user}", present=user is not None)
        case _:
            return None


def _row(what: str, *, present: bool) -> dict[str, str]:
    return {"change": "set" if present else "removed", "object": what}
