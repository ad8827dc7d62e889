"""Users of schema registries, kept in this process and nowhere else.

    http://name:password@host:8081  ─▶  http://host:8081  in settings, plans, commands and logs
                                    └▶  name:password     in the table of this process

The engine copies `known_users()` to its JVM before a query starts. One lock-free table per process:
each call replaces or reads one entry, which is atomic.
"""

import base64
import re
from typing import Final
from urllib.parse import unquote, urlsplit

from duolog.core.errors import ConfigError

_BETWEEN: Final = re.compile(r",\s*(?=[A-Za-z][A-Za-z0-9+.-]*://)|,(?=[^@]*$)")
"""A comma between addresses; one inside a password is followed by the rest of that address."""
_USERS: Final[dict[str, str]] = {}


def parts_of(addresses: str) -> list[str]:
    """Return the addresses of a list that is separated by commas.

    Example:
        >>> parts_of("http://u:p,w@a:1, http://b")
        ['http://u:p,w@a:1', 'http://b']
    """
    return [one.strip() for one in _BETWEEN.split(addresses) if one.strip()]


def without_user(address: str) -> tuple[str, str | None]:
    """Return an address without its user, and the user as `name:password` if it has one.

    Raises:
        ConfigError: the user cannot be separated from the rest. The error does not repeat it.

    Example:
        >>> without_user("https://ann:s%40fe@host:8081/path")
        ('https://host:8081/path', 'ann:s@fe')
    """
    if "@" not in address:
        return address, None
    scheme, slashes, rest = address.partition("://")
    try:
        netloc = urlsplit(address).netloc
    except ValueError:  # brackets that do not match
        netloc = ""
    given, at, _ = netloc.rpartition("@")
    if not slashes or not at or "@" in rest[len(netloc) :]:
        raise ConfigError(
            "the address of a schema registry has a user that cannot be read",
            hint="Write it as http://name:password@host:8081, and the characters : / ? # @ of name "
            "and password as %3A %2F %3F %23 %40.",
        )
    name, _, password = given.partition(":")
    return f"{scheme}://{rest[len(given) + 1 :]}", f"{unquote(name)}:{unquote(password)}"


def keep_users(addresses: str, user: str | None = None) -> str:
    """Keep the users of addresses in this process, and return the addresses without them.

    Args:
        addresses: one address, or several that are separated by commas.
        user: `name:password` for each of them, in place of a user in the address.

    Raises:
        ConfigError: a user cannot be separated from its address.
    """
    if user is None and "@" not in addresses:
        return addresses
    found = [without_user(one) for one in parts_of(addresses)]
    for address, own in found:
        if given := user if user is not None else own:
            _USERS[_key(address)] = given
    return ",".join(address for address, _ in found)


def user_of(address: str) -> str | None:
    """Return the user of one address as `name:password`, or None."""
    return _USERS.get(_key(address))


def known_users() -> dict[str, str]:
    """Return the table: users as `name:password`, by address without a slash at the end."""
    return dict(_USERS)


def forget_users(addresses: str) -> None:
    """Remove addresses, without users, from the table."""
    for address in parts_of(addresses):
        _USERS.pop(_key(address), None)


def authorization(user: str | None) -> str:
    """Return the header of a user, or an empty text.

    Example:
        >>> authorization("a:b")
        'Basic YTpi'
    """
    return f"Basic {base64.b64encode(user.encode()).decode()}" if user else ""


def _key(address: str) -> str:
    return address.rstrip("/")
