"""Read a file with a token for OAUTHBEARER, such as `duolog tokens create` prints.

Clients get the token, never the path, like certificates (`pem`). The content reaches no error.
"""

from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError
from duolog.security.clients.client_security import TOKEN_FILE

_BYTES_MAX: Final = 16 * 1024


def read_token(path: Path) -> str:
    """Return the token in a file, without the end of its line.

    Raises:
        ConfigError: the file cannot be read, is empty, or is larger than 16 KiB.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(
            f'file "{path}" of setting "{TOKEN_FILE}" cannot be read',
            name=TOKEN_FILE,
            value=str(path),
            detail=f"{error.strerror}.",
        ) from error
    text = data.decode("ascii", errors="replace").strip()
    if not text or len(data) > _BYTES_MAX:
        raise ConfigError(
            f'file "{path}" of setting "{TOKEN_FILE}" has no token',
            name=TOKEN_FILE,
            value=str(path),
            hint="Write a token there: duolog tokens create USER > FILE",
        )
    return text
