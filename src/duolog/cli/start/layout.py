"""The directories and files of `duolog start`.

broker/           topics, users and settings: the broker's data directory
server/           checkpoints of queries
certificates/     with --profile team: an authority, the certificate of all three servers
admin.password    with --profile team: the password of the first administrator
admin.properties  its login, for the other commands
"""

from pathlib import Path
from typing import NamedTuple

from duolog.core.errors import ConfigError


class Layout(NamedTuple):
    """Paths below one directory."""

    root: Path

    @property
    def broker(self) -> Path:
        return self.root / "broker"

    @property
    def server(self) -> Path:
        return self.root / "server"

    @property
    def certificates(self) -> Path:
        return self.root / "certificates"

    @property
    def password(self) -> Path:
        return self.root / "admin.password"

    @property
    def login(self) -> Path:
        return self.root / "admin.properties"

    def create(self) -> None:
        """Create the directories; they are for the owner only.

        Raises:
            ConfigError: the path is a file, or cannot be created.
        """
        try:
            for path in (self.root, self.broker, self.server):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f'data directory "{self.root}" cannot be created',
                name="data",
                detail=f"{error.strerror}.",
                hint="Choose another one with --data.",
            ) from error
