"""Users of a server in tests: ann may see the cluster, bob may do nothing."""

from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.security.logins.authenticator import LoginFailed, TooManyLogins
from duolog.server.access.authentication import UserAuthentication
from duolog.server.access.sessions import Sessions
from unit.server.memory import Access

ANN = "Basic YW5uOnNlY3JldA=="
"""ann:secret"""
BOB = "Basic Ym9iOnNlY3JldA=="
"""bob:secret"""
BUSY = "Basic YnVzeTpzZWNyZXQ="
"""busy:secret"""
TOKEN = "Bearer token-of-ann"  # noqa: S105


class Authenticator:
    """Knows ann and bob by one password, and a token of ann."""

    async def by_password(self, user: str, password: str, host: str) -> Identity:
        if user == "busy":
            raise TooManyLogins
        if user not in {"ann", "bob"} or password != "secret":  # noqa: S105
            raise LoginFailed
        return Identity(Principal(USER, user), host)

    async def by_token(self, token: str, host: str) -> Identity:
        if token != TOKEN.removeprefix("Bearer "):
            raise LoginFailed
        return Identity(Principal(USER, "ann"), host)


class Rules:
    """An authorizer: ann may do everything, others nothing."""

    epoch = 0

    def __init__(self) -> None:
        self.refused: list[tuple[str, Operation, ResourceType, str]] = []

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        del operation, resource, name
        return client.principal.name == "ann"

    def allows_any(self, client: Identity, operation: Operation, resource: ResourceType) -> bool:
        return self.allows(client, operation, resource, "")

    def operations(self, client: Identity, resource: ResourceType, name: str) -> int:
        del client, resource, name
        return 0

    def note_refusal(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> None:
        self.refused.append((client.principal.name, operation, resource, name))


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def now_ms(self) -> int:
        return int(self.now * 1000)

    def monotonic(self) -> float:
        return self.now


def access_with_users(rules: Rules | None = None, clock: Clock | None = None) -> Access:
    """Return the access of a server with users."""
    given = rules or Rules()
    sessions = Sessions(clock or Clock(), lambda _: 0)
    return Access(UserAuthentication(Authenticator(), lambda: given, sessions), sessions)
