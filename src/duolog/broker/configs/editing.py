"""Compute the configs of a resource after a list of operations.

    0 SET    1 DELETE (back to the default)    2 APPEND, 3 SUBTRACT (of lists)

Source: Kafka `ConfigurationControlManager.incrementalAlterConfigResource`, KIP-339.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from duolog.core.errors import ConfigError, KafkaError
from duolog.protocol.error_codes import ErrorCode

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3


class Operation(Protocol):
    """One change of one config, as a request brings it."""

    @property
    def name(self) -> str: ...
    @property
    def config_operation(self) -> int: ...
    @property
    def value(self) -> str | None: ...


class Assignment(Protocol):
    """One config of a request that replaces all."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str | None: ...


def edited(
    configs: Mapping[str, str],
    operations: Iterable[Operation],
    base_of_list: Callable[[str], str | None],
) -> dict[str, str]:
    """Return `configs` after `operations`.

    `base_of_list` returns the value that operations on an unset list start from, or None if the
    config is not a list. It may raise for an unknown name.

    Raises:
        KafkaError: a config is named twice or has no value, or the operation does not exist.
        ConfigError: an element is appended to or subtracted from a config that is not a list.
    """
    operations = list(operations)
    _check_names([operation.name for operation in operations])
    result = dict(configs)
    for operation in operations:
        name, kind, value = operation.name, operation.config_operation, operation.value
        if kind == DELETE:
            result.pop(name, None)  # An unknown name is not an error.
        elif value is None:
            raise _no_value(name)
        elif kind == SET:
            result[name] = value
        elif kind in {APPEND, SUBTRACT}:
            base = base_of_list(name)
            if base is None:
                raise ConfigError(f'setting "{name}" is not a list', name=name)
            result[name] = _edited_list(configs.get(name, base), value, kind)
        else:
            raise KafkaError(f"unknown operation {kind}", code=ErrorCode.INVALID_REQUEST)
    return result


def replaced(assignments: Iterable[Assignment]) -> dict[str, str]:
    """Return what is set when all is replaced by `assignments`.

    Raises:
        KafkaError: a config is named twice, or has no value.
    """
    assignments = list(assignments)
    _check_names([assignment.name for assignment in assignments])
    result = {}
    for assignment in assignments:
        if assignment.value is None:
            raise _no_value(assignment.name)
        result[assignment.name] = assignment.value
    return result


def _check_names(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise KafkaError("a setting is changed twice", code=ErrorCode.INVALID_REQUEST)


def _no_value(name: str) -> KafkaError:
    return KafkaError(f'setting "{name}" has no value', code=ErrorCode.INVALID_REQUEST)


def _edited_list(current: str, value: str, operation: int) -> str:
    items = [item for item in current.split(",") if item]
    named = [item.strip() for item in value.split(",")]
    if operation == APPEND:
        items += [item for item in dict.fromkeys(named) if item not in items]
    else:
        items = [item for item in items if item not in named]
    return ",".join(items)
