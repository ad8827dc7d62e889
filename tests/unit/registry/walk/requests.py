"""A request for each endpoint: `{s}` is a subject, `{i}` an id, `{g}` a GUID, `{r}` a resource."""

from typing import Any, Final, NamedTuple

from unit.registry.harness import string_record
from unit.registry.walk.world import World

SCHEMA: Final = {"schema": string_record("New", "f")}


class Names(NamedTuple):
    """The names of one subject and of what belongs to it."""

    s: str
    i: str
    g: str
    r: str


class Sample(NamedTuple):
    """A request.

    Attributes:
        target: with placeholders.
        body: with placeholders; None without one.
    """

    target: str
    body: Any = None

    def of(self, names: Names) -> tuple[str, Any]:
        """Return target and body for a subject."""
        filled = names._asdict()
        return self.target.format(**filled), _filled(self.body, filled)


def _filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, names) for each in value]
    if isinstance(value, str) and value.startswith("<"):
        return names[value[1:-1]]
    return value


_ITEM: Final = {"subject": "<s>", "lifecycle": "WEAK"}
_RESOURCE: Final = {"resourceName": "t", "resourceNamespace": "n", "resourceId": "<r>"}

SAMPLES: Final[dict[str, Sample]] = {
    "root": Sample("/", {}),
    "cluster_id": Sample("/v1/metadata/id"),
    "server_version": Sample("/v1/metadata/version"),
    "deployment": Sample("/v1/metadata/deployment"),
    "users_status": Sample("/v1/metadata/users"),
    "list_subjects": Sample("/subjects"),
    "look_up_schema": Sample("/subjects/{s}", SCHEMA),
    "latest_with_metadata": Sample("/subjects/{s}/metadata?key=k&value=v"),
    "list_versions": Sample("/subjects/{s}/versions"),
    "version": Sample("/subjects/{s}/versions/1"),
    "version_schema": Sample("/subjects/{s}/versions/1/schema"),
    "referenced_by": Sample("/subjects/{s}/versions/1/referencedby"),
    "list_schemas": Sample("/schemas"),
    "schema_types": Sample("/schemas/types"),
    "schema_by_id": Sample("/schemas/ids/{i}"),
    "schema_text_by_id": Sample("/schemas/ids/{i}/schema"),
    "subjects_of_id": Sample("/schemas/ids/{i}/subjects"),
    "versions_of_id": Sample("/schemas/ids/{i}/versions"),
    "schema_by_guid": Sample("/schemas/guids/{g}"),
    "ids_of_guid": Sample("/schemas/guids/{g}/ids"),
    "check_version": Sample("/compatibility/subjects/{s}/versions/1", SCHEMA),
    "check_subject": Sample("/compatibility/subjects/{s}/versions", SCHEMA),
    "config": Sample("/config"),
    "subject_config": Sample("/config/{s}?defaultToGlobal=true"),
    "mode": Sample("/mode"),
    "subject_mode": Sample("/mode/{s}?defaultToGlobal=true"),
    "list_contexts": Sample("/contexts"),
    "associations_of_subject": Sample("/associations/subjects/{s}"),
    "associations_of_resource": Sample("/associations/resources/-/topic-{s}"),
    "associations_of_resource_id": Sample("/associations/resources/{r}"),
    "associations_of_many": Sample(
        "/associations:batchGet?includeSchemas=true", {"requests": [{"resourceId": "<r>"}]}
    ),
    "register": Sample("/subjects/{s}/versions", SCHEMA),
    "delete_subject": Sample("/subjects/{s}"),
    "delete_version": Sample("/subjects/{s}/versions/1"),
    "modify_tags": Sample("/subjects/{s}/versions/1/tags", {"tagsToAdd": []}),
    "set_config": Sample("/config", {"compatibility": "NONE"}),
    "delete_config": Sample("/config"),
    "set_subject_config": Sample("/config/{s}", {"compatibility": "NONE"}),
    "delete_subject_config": Sample("/config/{s}"),
    "set_mode": Sample("/mode", {"mode": "READWRITE"}),
    "delete_mode": Sample("/mode"),
    "set_subject_mode": Sample("/mode/{s}", {"mode": "READWRITE"}),
    "delete_subject_mode": Sample("/mode/{s}"),
    "delete_context": Sample("/contexts/.hidden"),
    "create_associations": Sample(
        "/associations", {**_RESOURCE, "associations": [{**_ITEM, "associationType": "key"}]}
    ),
    "put_associations": Sample(
        "/associations/resources/{r}",
        {**_RESOURCE, "associations": [{**_ITEM, "associationType": "key"}]},
    ),
    "delete_associations": Sample("/associations/resources/{r}"),
    "change_associations": Sample(
        "/associations:batchMutate",
        {"requests": [{**_RESOURCE, "associations": [{**_ITEM, "opType": "UPSERT"}]}]},
    ),
}
"""Requests by operation of `http/routes.py`."""


async def names_of(world: World, subject: str, resource: str) -> Names:
    """Return the names of a subject that exists."""
    found = await world.must("GET", f"/subjects/{subject}/versions/1")
    guid = world.rules.schema_by_id(found["id"]).guid
    assert guid is not None
    return Names(subject, str(found["id"]), guid, resource)


MISSING: Final = Names("missing", "99", "00000000-0000-4000-8000-000000000000", "id-none")
