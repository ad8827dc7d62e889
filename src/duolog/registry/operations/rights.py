"""The rights that each endpoint needs: the code checks by these rows, and a page shows them.

An endpoint without a row answers no request. `SERVER` endpoints need a login, and no right.

Users of a users file have `read` and `write` patterns instead: `read` grants READ, DESCRIBE and
DESCRIBE_CONFIGS, `write` grants everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from duolog.security.authorization.operations import Operation


class Effect(Enum):
    """The answer to a client without the right; the values are for the page."""

    ABSENT = "answered as if it did not exist"
    LEFT_OUT = "left out of the answer"
    REFUSED = "403, whether it exists or not"


@dataclass(frozen=True, slots=True)
class Right:
    """A right on a subject, or on all of them."""

    operation: Operation
    named_by: str
    effect: Effect


_READ, _WRITE, _DELETE = Operation.READ, Operation.WRITE, Operation.DELETE
_CONFIGS, _ALTER = Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS
_PATH: Final = "subject of the path"
_EACH: Final = "each subject"
_ALL: Final = "all subjects"

_NONE: Final[tuple[Right, ...]] = ()
_ABSENT: Final = (Right(_READ, _PATH, Effect.ABSENT),)
_BY_ID: Final = (Right(_READ, "any subject that has the schema", Effect.ABSENT),)
_IN_LIST: Final = (Right(_READ, _EACH, Effect.LEFT_OUT),)
_NAMES: Final = (Right(Operation.DESCRIBE, _EACH, Effect.LEFT_OUT),)
_REFERENCES: Final = Right(_READ, "subjects of references", Effect.ABSENT)
_IMPACT: Final = Right(_READ, "topics and groups, with `impact=true`", Effect.LEFT_OUT)
_WITH_SCHEMA: Final = (Right(_READ, _PATH, Effect.ABSENT), _REFERENCES)
_ASSOCIATIONS: Final = (
    Right(_WRITE, "subjects of the body, and of existing associations", Effect.REFUSED),
    _REFERENCES,
)

RIGHTS: Final[Mapping[str, tuple[Right, ...]]] = {
    "root": _NONE,
    "cluster_id": _NONE,
    "server_version": _NONE,
    "deployment": _NONE,
    "users_status": _NONE,
    "schema_types": _NONE,
    "list_subjects": _NAMES,
    "list_contexts": (Right(Operation.DESCRIBE, "any subject of the context", Effect.LEFT_OUT),),
    "list_versions": (Right(Operation.DESCRIBE, _PATH, Effect.ABSENT),),
    "look_up_schema": _WITH_SCHEMA,
    "latest_with_metadata": _ABSENT,
    "version": _ABSENT,
    "version_schema": _ABSENT,
    "referenced_by": (*_ABSENT, Right(_READ, "each subject that refers to it", Effect.LEFT_OUT)),
    "list_schemas": _IN_LIST,
    "schema_by_id": _BY_ID,
    "schema_text_by_id": _BY_ID,
    "subjects_of_id": _IN_LIST,
    "versions_of_id": _IN_LIST,
    "schema_by_guid": _BY_ID,
    "ids_of_guid": _IN_LIST,
    "check_version": (*_WITH_SCHEMA, _IMPACT),
    "check_subject": (*_WITH_SCHEMA, _IMPACT),
    "config": _NONE,
    "subject_config": (Right(_CONFIGS, _PATH, Effect.ABSENT),),
    "mode": _NONE,
    "subject_mode": (Right(_CONFIGS, _PATH, Effect.ABSENT),),
    "associations_of_subject": _ABSENT,
    "associations_of_resource": _IN_LIST,
    "associations_of_resource_id": _IN_LIST,
    "associations_of_many": _IN_LIST,
    "register": (Right(_WRITE, _PATH, Effect.REFUSED), _REFERENCES),
    "delete_subject": (Right(_DELETE, _PATH, Effect.REFUSED),),
    "delete_version": (Right(_DELETE, _PATH, Effect.REFUSED),),
    "modify_tags": (Right(_WRITE, _PATH, Effect.REFUSED),),
    "set_config": (Right(_ALTER, _ALL, Effect.REFUSED),),
    "delete_config": (Right(_ALTER, _ALL, Effect.REFUSED),),
    "set_subject_config": (
        Right(_ALTER, _PATH, Effect.REFUSED),
        Right(_READ, "subject of the alias", Effect.REFUSED),
    ),
    "delete_subject_config": (Right(_ALTER, _PATH, Effect.REFUSED),),
    "set_mode": (Right(_ALTER, _ALL, Effect.REFUSED),),
    "delete_mode": (Right(_ALTER, _ALL, Effect.REFUSED),),
    "set_subject_mode": (Right(_ALTER, _PATH, Effect.REFUSED),),
    "delete_subject_mode": (Right(_ALTER, _PATH, Effect.REFUSED),),
    "delete_context": (Right(_DELETE, "context, as `:.NAME:`", Effect.REFUSED),),
    "create_associations": _ASSOCIATIONS,
    "put_associations": _ASSOCIATIONS,
    "delete_associations": (
        Right(_DELETE, "subjects of the associations, or absent without DESCRIBE", Effect.REFUSED),
    ),
    "change_associations": (
        *_ASSOCIATIONS,
        Right(_DELETE, "subjects of associations to delete", Effect.REFUSED),
    ),
}
"""The rights of each operation of `http/routes.py`; the first is that of the path or the list."""
