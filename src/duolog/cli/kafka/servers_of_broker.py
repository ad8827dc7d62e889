"""The schema registry and the SQL server of a broker, for the commands that start them."""

import functools
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from duolog.broker.schema_checks.registered import OpenRegistry
    from duolog.runtime.registry_process import RegistryOfBroker
    from duolog.runtime.sql_server_process import SqlServerOfBroker
    from duolog.schemas.subjects import SubjectsSource

REGISTRY_URL: Final = "confluent.schema.registry.url"
"""The broker's setting for a registry that it does not run itself."""
_REGISTRY_USER: Final = "confluent.basic.auth.user.info"


def registry_of(
    listen: str | None,
    log_format: str | None,
    settings: "Mapping[str, str]",
    more: tuple[str, ...] = (),
) -> "RegistryOfBroker | None":
    """Return the registry of a broker with these settings; None without an address.

    `more` are further arguments of `duolog registry`.

    Raises:
        ConfigError: the address cannot be used, or is beyond loopback without TLS.
    """
    if listen is None:
        return None
    from duolog.core.errors import ConfigError  # noqa: PLC0415 - keeps `--help` fast
    from duolog.core.listening import (  # noqa: PLC0415 - as above
        is_address,
        is_loopback,
        parse_address,
    )
    from duolog.runtime.registry_process import RegistryOfBroker  # noqa: PLC0415 - as above

    host = parse_address(listen, option="registry").host
    if settings.get("allow.insecure.listen", "").strip().lower() == "true":
        more += ("--insecure",)
    elif "--tls-cert" not in more and is_address(host) and not is_loopback(host):
        raise ConfigError(
            f'the registry of a broker cannot listen on "{listen}"',
            name="registry",
            value=listen,
            detail="The address is beyond loopback, and this registry does not speak TLS.",
            hint="Give a certificate, to `duolog broker` as --registry-tls-cert FILE; or listen on "
            "127.0.0.1; or accept the risk with --insecure.",
        )
    arguments = (*(("--log-format", log_format) if log_format else ()), *more)
    return RegistryOfBroker(listen, arguments, _say, _of_users(settings))


def settings_of_registry(
    addresses: str, environment: "Mapping[str, str]" = os.environ
) -> dict[str, str]:
    """Return the broker's settings for another registry, with the user that `duolog server` has.

    Example:
        >>> settings_of_registry("http://a:8081", {"DUOLOG_REGISTRY_USER": "ann"})
        {'confluent.schema.registry.url': 'http://a:8081', 'confluent.basic.auth.user.info': 'ann:'}
    """
    user = environment.get("DUOLOG_REGISTRY_USER", "")
    login = f"{user}:{environment.get('DUOLOG_REGISTRY_PASSWORD', '')}"
    return {REGISTRY_URL: addresses, **({_REGISTRY_USER: login} if user else {})}


def server_of(
    listen: str,
    arguments: tuple[str, ...],
    registry: "RegistryOfBroker | None",
    settings: "Mapping[str, str]",
) -> "SqlServerOfBroker":
    """Return the SQL server of a broker with these settings.

    Raises:
        ConfigError: the address cannot be used.
    """
    from duolog.core.listening import parse_address  # noqa: PLC0415 - keeps `--help` fast
    from duolog.runtime.sql_server_process import SqlServerOfBroker  # noqa: PLC0415 - as above

    parse_address(listen, option="listen")
    return SqlServerOfBroker(listen, arguments, _say, registry, _of_users(settings))


def registry_opener(
    settings: "Mapping[str, str]",
    own: "RegistryOfBroker | None",
    authorities: "Path | None" = None,
) -> "OpenRegistry | None":
    """Return what opens the registry that knows the schema ids of records; None if none does.

    `authorities` is the file of those that have signed the certificate of the broker's own one.
    """
    url = settings.get(REGISTRY_URL, "").strip()
    user = settings.get(_REGISTRY_USER, "")
    if not url and own is None:
        return None
    from duolog.registry.client.requests import Requests, addresses_of, send  # noqa: PLC0415
    from duolog.registry.client.subjects import (  # noqa: PLC0415
        TIMEOUT_S,
        HttpSubjects,
        with_user,
    )
    from duolog.schemas.source import RegistryAwayError  # noqa: PLC0415

    if url:
        addresses_of(url)  # An address that cannot be used stops the start.

    @functools.cache
    def opened(address: str, user: str) -> "SubjectsSource":
        found = addresses_of(address)
        if not url:
            found = tuple(replace(one, authorities=authorities) for one in found)
        ask = functools.partial(send, timeout_s=TIMEOUT_S)
        return HttpSubjects(address, user, Requests(with_user(found, user), ask, rounds=1))

    def open_registry() -> "SubjectsSource":
        address = url or (own.url if own is not None else None)
        if address is None:
            raise RegistryAwayError("the schema registry of this broker is starting")
        return opened(address, user or (own.user_info if own is not None and not url else ""))

    return open_registry


def _of_users(settings: "Mapping[str, str]") -> dict[str, str]:
    """Return the settings that servers with the broker's users need, too."""
    from duolog.registry.access.settings import ACCESS_SETTINGS  # noqa: PLC0415 - as above

    return {name: value for name, value in settings.items() if name in ACCESS_SETTINGS}


def _say(line: str) -> None:
    # One write, also with PYTHONUNBUFFERED: the servers log to the same terminal or file.
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
