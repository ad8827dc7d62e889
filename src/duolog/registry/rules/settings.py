"""Settings of the registry's rules."""

from dataclasses import dataclass

from duolog.registry.records.values import CompatibilityLevel


@dataclass(frozen=True, slots=True)
class RulesSettings:
    """Defaults and limits.

    Attributes:
        compatibility_level: the level of subjects without one, as long as no global one is set.
        validate_fields: refuse fields with reserved names, unless a configuration decides.
        validate_new_schemas: refuse schemas that only older registries accepted, unless a
            configuration decides.
        mode_changes: modes can be changed.
        schema_bytes_max: a longer schema is refused with 42209.
        schema_page_max: schemas, references and associations in one answer.
        parsed_schemas_max: parsed schemas that are kept in memory.
    """

    compatibility_level: CompatibilityLevel = CompatibilityLevel.BACKWARD
    validate_fields: bool = False
    validate_new_schemas: bool = True
    mode_changes: bool = True
    schema_bytes_max: int = 4 * 1024 * 1024
    schema_page_max: int = 1000
    parsed_schemas_max: int = 500
