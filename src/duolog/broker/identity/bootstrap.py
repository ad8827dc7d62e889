"""The first administrator: created once, and not through an API.

Its name and the file with its password come from the environment or the command line, never from
arguments that a list of processes shows. A note in `__security` records that it was created: a
removed administrator does not come back with the next start.
"""

import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.core.errors import ConfigError
from duolog.security.credentials.scram import (
    PASSWORD_CHARACTERS_MIN,
    SALT_BYTES,
    ScramMechanism,
    credential,
    salted_password,
)
from duolog.security.identity.principal import ANONYMOUS, USER, Identity, Principal
from duolog.security.records.records import (
    BootstrapChange,
    Change,
    RoleMemberChange,
    ScramChange,
)
from duolog.security.sasl.decoys import DEFAULT_ITERATIONS
from duolog.security.state.security_state import ADMINISTRATORS

if TYPE_CHECKING:
    from duolog.broker.identity.security_log import Done
    from duolog.broker.identity.security_service import SecurityService

logger = logging.getLogger(__name__)

PASSWORD_FILE: Final = "DUOLOG_ADMIN_PASSWORD_FILE"  # noqa: S105 - the name of a variable
USER_NAME: Final = "DUOLOG_ADMIN_USER"
DEFAULT_USER: Final = "admin"
_FILE_BYTES_MAX: Final = 4096


class Administrator(NamedTuple):
    """The name and the password of the first administrator."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Administrator({self.user!r}, ***)"


def administrator_of(environment: Mapping[str, str] = os.environ) -> Administrator | None:
    """Return the administrator that the environment names, if it does.

    Raises:
        ConfigError: the file cannot be read, or the password is too short.
    """
    path = environment.get(PASSWORD_FILE)
    if not path:
        return None
    user = environment.get(USER_NAME) or DEFAULT_USER
    return Administrator(user, read_password(Path(path), PASSWORD_FILE))


def read_password(path: Path, option: str) -> str:
    """Return the password in a file, without the line break at its end.

    Raises:
        ConfigError: the file cannot be read, or the password is too short.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX).decode().removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f'file "{path}" with the password of the first administrator cannot be read',
            name=option,
            detail=getattr(error, "strerror", None) or type(error).__name__,
            hint="Check the path; the user of this program must be able to read the file.",
        ) from None
    ensure_password(text, option)
    return text


def ensure_password(text: str, option: str) -> None:
    """Return if a password is long enough and on one line.

    Raises:
        ConfigError: it is not.
    """
    if len(text) < PASSWORD_CHARACTERS_MIN or not text.isprintable():
        raise ConfigError(
            "the password is too short, or has characters that cannot be printed",
            name=option,
            hint=f"Use one line of at least {PASSWORD_CHARACTERS_MIN} characters.",
        )


def bootstrap(service: "SecurityService", administrator: Administrator, done: "Done") -> bool:
    """Create the first administrator, unless there was one; return whether it is created.

    `done` is called when it is durable. Takes some milliseconds: it is called before the broker
    listens.
    """
    if service.state.bootstrapped is not None:
        logger.info(
            "the first administrator exists; another one is not created",
            extra={"user": service.state.bootstrapped},
        )
        return False
    logger.info("creating the first administrator", extra={"user": administrator.user})
    recover(service, administrator, done)
    return True


def recover(service: "SecurityService", administrator: Administrator, done: "Done") -> None:
    """Give a user a password and the role of administrators, also if there are others.

    `done` is called when it is durable. No API may do this: it is for the operator of the machine,
    who can read and write the data directory anyway.
    """
    principal = Principal(USER, administrator.user)
    changes: list[Change] = [_credential(administrator, each) for each in ScramMechanism]
    changes.append(RoleMemberChange(ADMINISTRATORS, principal, present=True))
    if service.state.bootstrapped is None:
        changes.append(BootstrapChange(administrator.user))
    service.append(Identity(ANONYMOUS, "localhost"), changes, done)


def _credential(administrator: Administrator, mechanism: ScramMechanism) -> ScramChange:
    salt = secrets.token_bytes(SALT_BYTES)
    salted = salted_password(mechanism, administrator.password, salt, DEFAULT_ITERATIONS)
    stored = credential(mechanism, salted, salt, DEFAULT_ITERATIONS)
    return ScramChange(administrator.user, mechanism, stored)
