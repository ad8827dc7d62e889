"""An error answer for any API: the same code for each entity of the request.

Some answers have an error at the top. The others say it for each topic, partition, group or
resource, and then the client expects each one that it asked for: the request's arrays are
copied into the answer's arrays of the same name, or of the same position when names differ.

Source: Kafka `AbstractRequest.getErrorResponse`, one method for each API.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, get_args, get_origin

_OTHER_NAMES: Final = {
    "results": ("topics", "resources"),
    "responses": ("topics", "topic_names", "resources", "topic_data"),
    "partition_responses": ("partition_data",),
    "groups": ("groups_names",),
    "coordinators": ("coordinator_keys",),
    "members": ("members",),
}
_PLAIN_ITEM_NAMES: Final = {"coordinators": "key", "responses": "name", "groups": "group_id"}
"""How an item is called where the request has only a list of strings."""
_NOT_KNOWN: Final = {"base_offset": -1, "high_watermark": -1}
"""What stands in an error answer where the schema has no default, and 0 would be an offset."""


def mirror_error(
    response_type: type[Any], request: Any, code: int, message: str | None
) -> Mapping[str, Any]:
    """Return the fields of the answer that gives `code` to the request or to all its parts."""
    names = {field.name for field in fields(response_type)}
    values: dict[str, Any] = {}
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
        elif hasattr(request, field.name) and item_type is None:
            values[field.name] = getattr(request, field.name)
        elif item_type is not None and is_dataclass(item_type):
            asked = _asked(request, field.name)
            values[field.name] = [
                _item(item_type, field.name, item, code, message) for item in asked
            ]
    if "error_code" in names:
        values["error_code"] = code
    return values


def _item(
    item_type: Any,
    array_name: str,
    item: Any,
    code: int,
    message: str | None,
) -> Mapping[str, Any]:
    if isinstance(item, str):
        values: dict[str, Any] = {_PLAIN_ITEM_NAMES.get(array_name, "name"): item}
        if message is not None:
            values["error_message"] = message
        return {**values, "error_code": code}
    if isinstance(item, int):
        return {"partition_index": item, "error_code": code}
    return mirror_error(item_type, item, code, message)


def _asked(request: Any, name: str) -> tuple[Any, ...]:
    for candidate in (name, *_OTHER_NAMES.get(name, ())):
        found = getattr(request, candidate, None)
        if found:
            return tuple(found)
    return ()


def _item_type(type_: Any) -> Any:
    candidates = (type_, *get_args(type_))
    for candidate in candidates:
        if get_origin(candidate) is tuple:
            return get_args(candidate)[0]
    return None
