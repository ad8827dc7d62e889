"""The function of each operation of `http/routes.py`."""

from collections.abc import Callable, Mapping
from typing import Final

from duolog.registry.operations import associations, configurations, schemas, subjects
from duolog.registry.operations.asked import AnyDecision, Asked
from duolog.registry.rules.answers import Answer

Read = Callable[[Asked], Answer]
Write = Callable[[Asked], AnyDecision]

READS: Final[Mapping[str, Read]] = {
    "list_subjects": subjects.list_subjects,
    "look_up_schema": subjects.look_up_schema,
    "latest_with_metadata": subjects.latest_with_metadata,
    "list_versions": subjects.list_versions,
    "version": subjects.version,
    "version_schema": subjects.version_schema,
    "referenced_by": subjects.referenced_by,
    "list_schemas": schemas.list_schemas,
    "schema_types": schemas.schema_types,
    "schema_by_id": schemas.schema_by_id,
    "schema_text_by_id": schemas.schema_text_by_id,
    "subjects_of_id": schemas.subjects_of_id,
    "versions_of_id": schemas.versions_of_id,
    "schema_by_guid": schemas.schema_by_guid,
    "ids_of_guid": schemas.ids_of_guid,
    "check_version": schemas.check_compatibility,
    "check_subject": schemas.check_compatibility,
    "config": configurations.config,
    "subject_config": configurations.config,
    "mode": configurations.mode,
    "subject_mode": configurations.mode,
    "list_contexts": configurations.list_contexts,
    "associations_of_subject": associations.associations_of_subject,
    "associations_of_resource": associations.associations_of_resource,
    "associations_of_resource_id": associations.associations_of_resource_id,
    "associations_of_many": associations.associations_of_many,
}
WRITES: Final[Mapping[str, Write]] = {
    "register": subjects.register,
    "delete_subject": subjects.delete_subject,
    "delete_version": subjects.delete_version,
    "modify_tags": subjects.modify_tags,
    "set_config": configurations.set_config,
    "delete_config": configurations.delete_config,
    "set_subject_config": configurations.set_config,
    "delete_subject_config": configurations.delete_config,
    "set_mode": configurations.set_mode,
    "delete_mode": configurations.delete_mode,
    "set_subject_mode": configurations.set_mode,
    "delete_subject_mode": configurations.delete_mode,
    "delete_context": configurations.delete_context,
    "create_associations": associations.create_associations,
    "put_associations": associations.put_associations,
    "delete_associations": associations.delete_associations,
    "change_associations": associations.change_associations,
}
IDEMPOTENT: Final = frozenset(
    {"register", "set_config", "set_subject_config", "set_mode", "set_subject_mode"}
)
"""Writes that may be repeated when their outcome is unknown."""
CHECKS: Final = frozenset({"check_version", "check_subject"})
"""Reads that can also report what a schema would break."""
WITH_SCHEMA: Final = CHECKS | {"register", "look_up_schema"}
"""Operations whose body is a schema."""
STATUS: Final[Mapping[str, int]] = {
    "delete_context": 204,
    "delete_associations": 204,
    "associations_of_many": 207,
    "change_associations": 207,
}
"""Statuses other than 200."""
