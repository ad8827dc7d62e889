"""Settings of the schema registry that the broker asks about the schema ids of records.

Source: the settings of Confluent Server, under its names.
"""

from typing import Final

from duolog.core.setting_types import Kind, Setting, Value


def _without_user(value: Value) -> str | None:
    if "@" in str(value):
        return "must not contain a user; set confluent.basic.auth.user.info"
    return None


REGISTRY_ROWS: Final = (
    Setting(
        "confluent.schema.registry.url",
        default="",
        kind=Kind.STRING,
        doc="The addresses of a schema registry, separated by commas. Topics with "
        "confluent.value.schema.validation need it, unless the broker runs with --registry.",
        check=_without_user,
    ),
    Setting(
        "confluent.basic.auth.user.info",
        default="",
        kind=Kind.PASSWORD,
        doc="The user at the schema registry, as NAME:PASSWORD.",
    ),
)
