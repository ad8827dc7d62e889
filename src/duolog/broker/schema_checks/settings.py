"""The schema checks of a topic, from its configs.

Source: the settings of Confluent Server, "Schema ID Validation".
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from duolog.core.setting_types import Value
from duolog.schemas.subject_names import SubjectStrategy, strategy_of

CHECK_SETTINGS: Final = ("confluent.key.schema.validation", "confluent.value.schema.validation")
_STRATEGY_SETTINGS: Final = (
    "confluent.key.subject.name.strategy",
    "confluent.value.subject.name.strategy",
)


class SchemaChecks(NamedTuple):
    """The naming of the subject of each part of a record; None for a part that is not checked."""

    key: SubjectStrategy | None
    value: SubjectStrategy | None


def schema_checks(values: Mapping[str, Value]) -> SchemaChecks | None:
    """Return the checks that the values of a topic's settings ask for; None if there are none."""
    checks = SchemaChecks(
        *(
            strategy_of(str(values[strategy])) if values[check] else None
            for check, strategy in zip(CHECK_SETTINGS, _STRATEGY_SETTINGS, strict=True)
        )
    )
    return checks if any(checks) else None
