"""Levels of the broker's log lines, changed at run time and gone at its end, as in Kafka.

`root` is the logger of all of Duolog's lines; the others are its modules, as far as they are
loaded. The audit log is not among them: a client that may change settings could hide what it does.

Source: Kafka `RuntimeLoggerManager`, KIP-412.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from duolog.broker.configs.described_config import LOGGER_SOURCE, Row
from duolog.broker.configs.editing import APPEND, DELETE, SET, SUBTRACT, Operation
from duolog.core.errors import ConfigError, KafkaError
from duolog.protocol.error_codes import ErrorCode

ROOT: Final = "root"
AUDIT: Final = "duolog.audit"
_DUOLOG: Final = "duolog"
_LEVELS: Final = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_NAMES: Final = {number: name for name, number in _LEVELS.items()}


class BrokerLoggers:
    """The loggers of this broker."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id

    def rows(self, name: str) -> Iterable[Row]:
        """Return every logger with its level in force.

        Raises:
            KafkaError: the name is not this broker's id.
        """
        self._check_name(name)
        for logger_name in (ROOT, *sorted(_loaded())):
            level = _NAMES.get(_logger(logger_name).getEffectiveLevel(), "INFO")
            yield {
                "name": logger_name,
                "value": level,
                "read_only": False,
                "config_source": LOGGER_SOURCE,
                "synonyms": [],
                "config_type": 0,
                "documentation": None,
            }

    def alter(self, name: str, operations: Iterable[Operation], *, validate_only: bool) -> None:
        """Set levels, or none if one operation cannot be done.

        Raises:
            KafkaError: the name is not this broker's id, or an operation is none for loggers.
            ConfigError: there is no such logger, or no such level.
        """
        self._check_name(name)
        operations = list(operations)
        names = [operation.name for operation in operations]
        if len(set(names)) < len(names):
            raise KafkaError("a logger is changed twice", code=ErrorCode.INVALID_REQUEST)
        levels = {operation.name: _level(operation) for operation in operations}
        if not validate_only:
            for logger_name, level in levels.items():
                _logger(logger_name).setLevel(level)

    def _check_name(self, name: str) -> None:
        if name != str(self._node_id):
            raise KafkaError(
                f'loggers of broker "{name}" are not here: this is broker {self._node_id}',
                code=ErrorCode.INVALID_REQUEST,
            )


def _level(operation: Operation) -> int:
    name, kind, value = operation.name, operation.config_operation, operation.value
    if kind in {APPEND, SUBTRACT} or kind not in {SET, DELETE}:
        raise KafkaError(
            f'level of logger "{name}" can be set or deleted', code=ErrorCode.INVALID_REQUEST
        )
    if name != ROOT and name not in _loaded():
        raise ConfigError(f'logger "{name}" does not exist', name=name)
    if kind == DELETE:
        if name == ROOT:
            raise KafkaError("the root logger keeps its level", code=ErrorCode.INVALID_REQUEST)
        return logging.NOTSET
    if value is None:
        raise KafkaError(f'logger "{name}" is given no level', code=ErrorCode.INVALID_REQUEST)
    if value not in _LEVELS:
        raise ConfigError(
            f'logger "{name}" cannot have the level {value}',
            name=name,
            value=value,
            hint=f"Levels are {', '.join(_LEVELS)}.",
        )
    return _LEVELS[value]


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(_DUOLOG if name == ROOT else name)


def _loaded() -> Mapping[str, object]:
    found = logging.Logger.manager.loggerDict
    return {
        name: logger
        for name, logger in found.items()
        if name.startswith(f"{_DUOLOG}.") and name != AUDIT and isinstance(logger, logging.Logger)
    }
