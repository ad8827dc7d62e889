"""The users file: names, hashes of passwords, and the subjects that each may read and change.

    [users.alice]
    password = "scrypt:16384:8:1:…"       # `duolog registry --hash-password` prints it
    read = ["orders-*", ":.sales:*"]      # default: every subject
    write = ["orders-*"]                  # default: none

A pattern is a subject, or the start of one followed by `*`. A user may read what the user may
write. Global settings, contexts and modes need `write = ["*"]`. Subjects that a user may not read
do not exist for this user.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError
from duolog.registry.access.passwords import PasswordHash
from duolog.security.authorization.operations import Operation

_KEYS: Final = frozenset({"password", "read", "write"})
_READING: Final = frozenset({Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS})


class Patterns:
    """Subjects, listed or by how they start."""

    def __init__(self, texts: Iterable[str]) -> None:
        listed = tuple(texts)
        self.everything = "*" in listed
        self._exact = frozenset(text for text in listed if not text.endswith("*"))
        self._starts = tuple(text[:-1] for text in listed if text.endswith("*"))

    def include(self, subject: str) -> bool:
        """Return whether a subject is among them.

        Example:
            >>> Patterns(["a-*", "b"]).include("a-value"), Patterns(["a-*"]).include("b")
            (True, False)
        """
        return subject in self._exact or subject.startswith(self._starts)


@dataclass(frozen=True, slots=True)
class User:
    """One user, or every client if there is no users file."""

    name: str
    read: Patterns
    write: Patterns

    @property
    def administers(self) -> bool:
        """True if the user may change global settings."""
        return self.write.everything

    @property
    def reads_everything(self) -> bool:
        return self.read.everything or self.write.everything

    def may(self, operation: Operation, subject: str | None) -> bool:
        """Return whether the user may do this with a subject; see `client.Client`."""
        if subject is None:
            return self.administers
        return self.may_read(subject) if operation in _READING else self.may_write(subject)

    def may_read_topic(self, topic: str) -> bool:
        """Return True: a users file has no rights on topics."""
        del topic
        return True

    def may_see_group(self, group: str) -> bool:
        """Return True, as `may_read_topic`."""
        del group
        return True

    def note_refusal(self, operation: Operation, subject: str | None) -> None:
        """Do nothing: there is no audit log."""

    def may_read(self, subject: str) -> bool:
        return self.read.include(subject) or self.write.include(subject)

    def may_write(self, subject: str) -> bool:
        return self.write.include(subject)


ANONYMOUS: Final = User("", Patterns(["*"]), Patterns(["*"]))
"""The user of every request if there is no users file."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user and the hash of the password."""

    user: User
    password: PasswordHash


def read_users(path: Path) -> dict[str, Account]:
    """Return the accounts of a users file, by name.

    Raises:
        ConfigError: the file cannot be read, or an entry is invalid.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f'cannot read the users file "{path}"', name="users", detail=str(error)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f'the users file "{path}" is not TOML', name="users", detail=str(error)
        ) from error
    users = content.pop("users", {})
    if content or not isinstance(users, dict) or not users:
        raise ConfigError(
            f'the users file "{path}" has no users, or something else',
            name="users",
            detail=f"found {', '.join(content) or 'no table [users.NAME]'}",
            hint="Write a table [users.NAME] with password, read and write for each user.",
        )
    return {name: _account(path, name, entry) for name, entry in users.items()}


def _account(path: Path, name: str, entry: object) -> Account:
    where = f'user "{name}" of the users file "{path}"'
    if ":" in name or not name.isprintable() or not name:
        raise ConfigError(
            f"{where} has an invalid name",
            name="users",
            hint="Basic authentication does not allow a colon in a name.",
        )
    if not isinstance(entry, dict) or not isinstance(entry.get("password"), str):
        raise ConfigError(f"{where} has no password", name="users")
    if unknown := sorted(entry.keys() - _KEYS):
        raise ConfigError(
            f'{where} has an unknown key "{unknown[0]}"',
            name="users",
            hint="The keys are password, read and write.",
        )
    try:
        password = PasswordHash(entry["password"])
    except ConfigError as error:
        raise ConfigError(
            f"the password of {where} is not a hash",
            name="users",
            detail=error.detail,
            hint=error.hint,
        ) from error
    user = User(name, _patterns(entry, "read", ["*"], where), _patterns(entry, "write", [], where))
    return Account(user, password)


def _patterns(entry: Mapping[str, object], key: str, default: list[str], where: str) -> Patterns:
    texts = entry.get(key, default)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"{where}: {key} is not a list of subjects", name="users")
    if wrong := [text for text in texts if "*" in text[:-1]]:
        raise ConfigError(
            f'{where}: pattern "{wrong[0]}" has a * before its end',
            name="users",
            hint="Write a subject, or the start of one followed by *.",
        )
    return Patterns(texts)
