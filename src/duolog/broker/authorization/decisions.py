"""Decisions that a connection keeps, so that Produce and Fetch ask the authorizer once a topic.

They are valid for one epoch of the authorizer and one identity of the client: when rights change,
or the client authenticates again, the next request asks again.
"""

from typing import TYPE_CHECKING, Final

from duolog.security.authorization.acl_authorizer import REMEMBERED_CHARACTERS_MAX

if TYPE_CHECKING:
    from duolog.broker.authorization.checks import Check
    from duolog.security.authorization.authorizer import Authorizer
    from duolog.security.identity.principal import Identity

KEPT_MAX: Final = 10_000
"""A client may name any number of topics: above this, what is kept is forgotten."""


class Decisions:
    """The decisions of one check for one connection."""

    __slots__ = ("_authorizer", "_check", "_client", "_epoch", "_kept")

    def __init__(self, check: "Check") -> None:
        self._check = check
        self._authorizer: Authorizer | None = None
        self._client: Identity | None = None
        self._epoch = -1
        self._kept: dict[str, bool] = {}

    def allows(self, authorizer: "Authorizer", client: "Identity", name: str) -> bool:
        """Return whether the client has the right to the resource of this name."""
        epoch = authorizer.epoch
        if (
            epoch != self._epoch
            or client is not self._client
            or authorizer is not self._authorizer
            or len(self._kept) >= KEPT_MAX
        ):
            self._authorizer, self._client, self._epoch = authorizer, client, epoch
            self._kept = {}
        found = self._kept.get(name)
        if found is None:
            found = self._check.allowed_by(authorizer, client, name)
            if len(name) <= REMEMBERED_CHARACTERS_MAX:
                self._kept[name] = found
        return found
