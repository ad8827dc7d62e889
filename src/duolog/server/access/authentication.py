"""The client of a request, by its headers Authorization and Cookie.

    no users   every client is `NOBODY` with its address; the console's token or cookie is noted
    users      Basic: a password · Bearer: a token · cookie: a session

A request with a header Authorization is judged by it alone, so that a program does not act for the
user of a browser by accident. A browser may send several cookies of one name: the first that is
valid counts.

Thread: the event loop.
"""

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from duolog.registry.access.authentication import (
    TooManyChecks,
    Unauthenticated,
    bearer_token,
    credentials_of,
)
from duolog.security.logins.authenticator import Authenticator, LoginFailed, TooManyLogins
from duolog.server.access.client import NOBODY, Client, Login
from duolog.server.access.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from duolog.security.authorization.authorizer import Authorizer
    from duolog.server.access.console_token import ConsoleToken

CHALLENGES: Final = ('Basic realm="duolog", charset="UTF-8"', 'Bearer realm="duolog"')


class Authentication(Protocol):
    """Finds the client of a request."""

    @property
    def challenges(self) -> tuple[str, ...]:
        """The headers WWW-Authenticate of a refusal; empty if there are no users."""

    async def client(
        self, authorization: str | None, cookies: "Sequence[str]", host: str
    ) -> Client:
        """Return the client of the header Authorization and of cookies, from an IP address.

        Raises:
            Unauthenticated: the headers are missing or wrong.
            TooManyChecks: too many passwords are being checked now.
        """


class NoAuthentication:
    """Lets every client do everything."""

    challenges: Final[tuple[str, ...]] = ()

    async def client(
        self, authorization: str | None, cookies: "Sequence[str]", host: str
    ) -> Client:
        del authorization, cookies
        return NOBODY._replace(identity=NOBODY.identity._replace(host=host))


class TokenAuthentication:
    """Lets every client do everything but what is guarded by the token of the console.

    A wrong token or cookie is not refused here: programs send credentials that a server without
    users ignores.
    """

    challenges: Final[tuple[str, ...]] = ()

    def __init__(self, token: "ConsoleToken") -> None:
        self._token = token

    async def client(
        self, authorization: str | None, cookies: "Sequence[str]", host: str
    ) -> Client:
        identity = NOBODY.identity._replace(host=host)
        if authorization is not None:
            given = bearer_token(authorization)
            known = given is not None and self._token.matches(given)
            return Client(identity, login=Login.TOKEN if known else Login.NONE)
        accepts = self._token.accepts
        for cookie in cookies:
            if accepts(cookie):
                return Client(identity, login=Login.SESSION, lasts=partial(accepts, cookie))
        return Client(identity)


class UserAuthentication:
    """Checks passwords, tokens and sessions of the users of a cluster.

    Args:
        authenticator: checks passwords and tokens.
        authorizer: returns the rules of now; None if users may do everything.
    """

    challenges: Final = CHALLENGES

    def __init__(
        self,
        authenticator: Authenticator,
        authorizer: "Callable[[], Authorizer | None]",
        sessions: Sessions,
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._sessions = sessions

    async def client(
        self, authorization: str | None, cookies: "Sequence[str]", host: str
    ) -> Client:
        if authorization is None and cookies:
            return self._by_session(cookies, host)
        try:
            if (token := bearer_token(authorization)) is not None:
                identity = await self._authenticator.by_token(token, host)
                return Client(identity, self._authorizer(), Login.TOKEN)
            name, password = credentials_of(authorization)
            epoch = self._sessions.epoch(name)
            identity = await self._authenticator.by_password(name, password, host)
        except LoginFailed as error:
            raise Unauthenticated from error
        except TooManyLogins as error:
            raise TooManyChecks from error
        return Client(identity, self._authorizer(), Login.PASSWORD, epoch)

    def _by_session(self, cookies: "Sequence[str]", host: str) -> Client:
        for token in cookies:
            found = self._sessions.identity(token, host)
            if found is not None:
                lasts = partial(self._sessions.lasts, token)
                return Client(found, self._authorizer(), Login.SESSION, lasts=lasts)
        raise Unauthenticated


__all__ = [
    "CHALLENGES",
    "Authentication",
    "NoAuthentication",
    "TokenAuthentication",
    "TooManyChecks",
    "Unauthenticated",
    "UserAuthentication",
]
