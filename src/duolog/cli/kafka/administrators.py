"""Refuse to remove the last administrator: no user could add another one.

An administrator is a user with a password and the role `administrators`. Super users of the
settings, and those who log in by certificates or tokens of an issuer, are not known here: `--force`
is for clusters that have them.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import click

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.security_topic import read_state
from duolog.core.errors import KafkaError
from duolog.runtime.administration.users import is_last_administrator

_LAST: Final = 92
_UNKNOWN_TOPIC: Final = 3

Command = TypeVar("Command", bound=Callable[..., object])


def force_option(command: Command) -> Command:
    """Add `--force` to a command that may remove an administrator."""
    return click.option("--force", is_flag=True, help="Also remove the last administrator.")(
        command
    )


def ensure_another_administrator(cluster: Cluster, user: str) -> None:
    """Return if the cluster has an administrator besides a user, or the user is not one.

    Raises:
        KafkaError: the user is the last administrator, or no broker answers.
    """
    try:
        state = read_state(cluster)
    except KafkaError as error:
        if error.code == _UNKNOWN_TOPIC:
            return  # Apache Kafka, or a user who may not see roles: the broker decides.
        raise
    if is_last_administrator(state, user):
        raise KafkaError(
            f'user "{user}" is the last administrator with a password',
            code=_LAST,
            hint="Make another user an administrator first: `duolog users roles add NAME "
            "administrators`. If there are others, such as super users, give --force.",
        )
