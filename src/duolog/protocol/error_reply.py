"""Build an error response for any API, with the same error code for each entity in the request.

Some responses have an error code at the top level. The others have one for each topic, partition,
group or resource, and clients expect an entry for each requested entity. In this case, the
request's arrays are copied to the response's arrays of the same name, or of the same position if
the names differ.

Source: Kafka `AbstractRequest.getErrorResponse`, one method for each API.
"""

from dataclasses import fields
from typing import Final, get_args, get_origin

from duolog.protocol.schema import Fields, Schema, is_message

_OTHER_NAMES: Final = {
    "results": ("topics", "resources", "creations", "upsertions", "deletions"),
    "filter_results": ("filters",),
    "replica_election_results": ("topic_partitions",),
    "partition_result": ("partitions",),
    "partitions": ("partition_indexes",),
    "responses": ("topics", "topic_names", "resources", "topic_data"),
    "partition_responses": ("partition_data",),
    "groups": ("groups_names",),
    "coordinators": ("coordinator_keys",),
    "members": ("members",),
}
_PLAIN_ITEM_NAMES: Final = {"coordinators": "key", "responses": "name", "groups": "group_id"}
"""Field for the name of an item if the request contains only a list of strings."""
_NOT_KNOWN: Final = {"base_offset": -1, "high_watermark": -1}
"""Fields of an error response without a default in the schema, of which 0 would be an offset."""


def mirror_error(response_type: Schema, request: object, code: int, message: str | None) -> Fields:
    """Return the fields of a response with the error `code` for the request or all its entities."""
    names = {field.name for field in fields(response_type)}
    values: dict[str, object] = {}
    if "error_code" in names:
        values["error_code"] = code
    if message is not None:
        values["error_message"] = message
    for field in fields(response_type):
        item_type = _item_type(field.type)
        if field.name in _NOT_KNOWN:
            values[field.name] = _NOT_KNOWN[field.name]
        elif field.name == "partition_index" and hasattr(request, "partition"):
            values[field.name] = request.partition
        elif field.name == "user" and hasattr(request, "name"):
            values[field.name] = request.name
        elif hasattr(request, field.name) and item_type is None:
            values[field.name] = getattr(request, field.name)
        elif is_message(item_type):
            asked = _asked(request, field.name)
            values[field.name] = [
                _item(item_type, field.name, item, code, message) for item in asked
            ]
    if "error_code" in names:
        values["error_code"] = code
    return values


def _item(
    item_type: Schema,
    array_name: str,
    item: object,
    code: int,
    message: str | None,
) -> Fields:
    if isinstance(item, str):
        values: dict[str, object] = {_PLAIN_ITEM_NAMES.get(array_name, "name"): item}
        if message is not None:
            values["error_message"] = message
        return {**values, "error_code": code}
    if isinstance(item, int):
        return {"partition_index": item, "partition_id": item, "error_code": code}
    return mirror_error(item_type, item, code, message)


def _asked(request: object, name: str) -> tuple[object, ...]:
    for candidate in (name, *_OTHER_NAMES.get(name, ())):
        found = getattr(request, candidate, None)
        if found:
            return tuple(found)
    return ()


def _item_type(type_: object) -> object:
    candidates = (type_, *get_args(type_))
    for candidate in candidates:
        if get_origin(candidate) is tuple:
            return get_args(candidate)[0]
    return None
