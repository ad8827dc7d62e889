"""The limit that applies to a client, and the clients that share it.

    first match of                         limit is shared by connections of the same
    user          and client id            user and client id
    user          and default client id    user and client id
    user                                   user
    default user  and client id            user and client id
    default user  and default client id    user and client id
    default user                           user
    client id                              client id
    default client id                      client id

Source: Kafka `ClientQuotaManager.DefaultQuotaCallback`; KIP-55.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.broker.quotas.entities import CLIENT_ID, USER, Entity, Quotas

if TYPE_CHECKING:
    from collections.abc import Mapping

_ANY_USER: Final = (USER, None)
_ANY_CLIENT: Final = (CLIENT_ID, None)


class Limit(NamedTuple):
    """A limit with the clients that share it: None stands for all users, or all client ids."""

    value: float
    user: str | None
    client_id: str | None


class Limits:
    """The values of one quota, by entity."""

    def __init__(self, quota: str, quotas: Quotas) -> None:
        self._values: Mapping[Entity, float] = {
            entity: values[quota] for entity, values in quotas.items() if quota in values
        }

    def __bool__(self) -> bool:
        return bool(self._values)

    def find(self, user: str, client_id: str) -> Limit | None:
        """Return the limit of a client, or None if it has none; its id may be empty."""
        of_user, of_client = (USER, user), (CLIENT_ID, client_id)
        for entity, by_user, by_client in (
            ((of_client, of_user), True, True),
            ((_ANY_CLIENT, of_user), True, True),
            ((of_user,), True, False),
            ((of_client, _ANY_USER), True, True),
            ((_ANY_CLIENT, _ANY_USER), True, True),
            ((_ANY_USER,), True, False),
            ((of_client,), False, True),
            ((_ANY_CLIENT,), False, True),
        ):
            value = self._values.get(entity)
            if value is not None:
                return Limit(value, user if by_user else None, client_id if by_client else None)
        return None
