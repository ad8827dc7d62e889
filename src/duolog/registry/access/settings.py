"""The settings of a registry with the users of a cluster, under Kafka's names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from duolog.core.setting_types import Settings, Value
from duolog.security.authorization.super_users import super_users
from duolog.security.logins.inner import INNER_PRINCIPAL
from duolog.security.logins.issuer_settings import has_issuer
from duolog.security.logins.setting_rows import AUTHORIZER_ROWS, ISSUER_ROWS
from duolog.security.state.security_state import ADMINISTRATORS

if TYPE_CHECKING:
    from duolog.security.identity.principal import Principal
    from duolog.security.sasl.jwt import Rules

ACCESS_SETTINGS: Final = Settings((*ISSUER_ROWS, *AUTHORIZER_ROWS))


class AccessSettings:
    """Checked settings.

    Raises:
        ConfigError: one is unknown, or cannot be used.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._values: dict[str, Value] = ACCESS_SETTINGS.parse(
            {"authorizer.class.name": "acl", **given}
        )
        self.super_users: tuple[Principal, ...] = (
            *super_users(self.text("super.users")),
            ADMINISTRATORS,
            INNER_PRINCIPAL,
        )
        self.issuer_rules = self._issuer_rules()

    @property
    def authorizes(self) -> bool:
        """True if users need rights."""
        return bool(self.text("authorizer.class.name"))

    @property
    def everyone_if_no_acl(self) -> bool:
        return bool(self._values["allow.everyone.if.no.acl.found"])

    def text(self, name: str) -> str:
        return str(self._values[name])

    def integer(self, name: str) -> int:
        value = self._values[name]
        assert isinstance(value, int), name
        return value

    def _issuer_rules(self) -> "Rules | None":
        if not has_issuer(self):
            return None
        # Loaded here: other registries need no JSON Web Tokens.
        from duolog.security.logins.jwks import rules_of  # noqa: PLC0415

        return rules_of(self)
