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
        record_bytes_max: a schema whose record would be longer is refused with 42209.
        schema_page_max: schemas, references and associations in one answer.
        parsed_chars_max: characters of schemas that are kept parsed in memory, at about ten bytes
            each.
    """

    compatibility_level: CompatibilityLevel = CompatibilityLevel.BACKWARD
    validate_fields: bool = False
    validate_new_schemas: bool = True
    mode_changes: bool = True
    record_bytes_max: int = 1_000_000
    schema_page_max: int = 1000
    parsed_chars_max: int = 1_000_000
