"""Users, rules and settings as objects of JSON; secrets are never among them."""

from collections.abc import Mapping, Sequence
from typing import Any

from duolog.ksql import settings
from duolog.ksql.settings import HIDDEN, Settings, is_secret
from duolog.runtime.administration.rules import ShownRule
from duolog.runtime.administration.settings import ClusterSetting
from duolog.runtime.administration.users import Credential, roles_of
from duolog.security.state.security_state import SecurityState
from duolog.server.administration.property_docs import DOCS


def user_json(
    user: str, credentials: Sequence[Credential], state: SecurityState | None
) -> dict[str, Any]:
    """Return a user; its roles are null if the cluster does not keep roles."""
    return {
        "user": user,
        "mechanisms": [
            {"mechanism": one.mechanism.mechanism, "iterations": one.iterations}
            for one in credentials
        ],
        "roles": None if state is None else roles_of(state, user),
    }


def rule_json(rule: ShownRule) -> dict[str, str]:
    """Return a rule, in the form in which a client sends one."""
    return dict(rule._asdict())


def setting_json(setting: ClusterSetting) -> dict[str, Any]:
    """Return a setting of a broker or a topic."""
    return {
        "name": setting.name,
        "value": setting.value,
        "default": None if setting.is_sensitive else setting.default,
        "changed": setting.changed,
        "source": setting.source,
        "type": setting.type,
        "documentation": setting.documentation,
        "sensitive": setting.is_sensitive,
        "dynamic": setting.is_dynamic,
        "places": [one._asdict() for one in setting.places],
    }


def properties_json(given: Settings, of_start: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the properties of the SQL server: those that have a default, and those of its start.

    They are given at the start. A client changes them for its own statements, with SET.
    """
    found: list[dict[str, Any]] = []
    for name, _, value in given.rows():
        secret = is_secret(name)
        default = settings.DEFAULTS.get(name)
        changed = name in of_start and value != default
        found.append(
            {
                "name": name,
                "value": HIDDEN if secret else value,
                "default": None if secret else default,
                "changed": changed,
                "source": "start" if changed else "default",
                "type": "string",
                "documentation": DOCS.get(name, ""),
                "sensitive": secret,
                "dynamic": False,
                "places": [],
            }
        )
    return found
