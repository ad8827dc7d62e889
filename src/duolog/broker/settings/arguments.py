"""Settings that are arguments of a program: all users of a machine can see them."""

from collections.abc import Iterable

from duolog.broker.settings.broker_settings import SETTINGS
from duolog.core.errors import ConfigError
from duolog.core.setting_types import Kind


def ensure_no_secrets(names: Iterable[str]) -> None:
    """Return if none of the settings is a password or a key; names may be unknown.

    Raises:
        ConfigError: one is.
    """
    for name in names:
        if name in SETTINGS and SETTINGS.row(name).kind is Kind.PASSWORD:
            raise ConfigError(
                f'setting "{name}" is a secret, and is not taken from the command line',
                name=name,
                detail="All users of this machine can see the arguments of programs.",
                hint="Write it into a file that only you can read, and give --config FILE.",
            )
