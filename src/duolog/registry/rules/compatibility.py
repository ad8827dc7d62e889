"""Compatibility of a schema with the versions before it.

    level                 reader   writer   versions
    BACKWARD              new      old      the latest
    FORWARD               old      new      the latest
    FULL                  both ways         the latest
    …_TRANSITIVE          the same          all, the latest first

Only versions of the same compatibility group count: those whose metadata give the property that
the configuration names the same value, or that both lack it.

Source: Confluent `CompatibilityChecker`, `SchemaValidatorBuilder`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from duolog.registry.contracts import Metadata
from duolog.registry.errors import RequestError, invalid_schema, version_not_found
from duolog.registry.records.values import CompatibilityLevel, ConfigValue, SchemaValue
from duolog.registry.rules.answers import CompatibilityAnswer
from duolog.registry.rules.basis import LATEST, Basis, version_number
from duolog.registry.rules.canonical import canonical, draft_of
from duolog.registry.rules.entities import field_names
from duolog.registry.rules.parsing import Parsed
from duolog.registry.rules.requests import RegisterRequest
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.schema import Policy

_SHOWN_MAX: Final = 10 * 1024
_BACKWARD: Final = {CompatibilityLevel.BACKWARD, CompatibilityLevel.BACKWARD_TRANSITIVE}
_FORWARD: Final = {CompatibilityLevel.FORWARD, CompatibilityLevel.FORWARD_TRANSITIVE}
_TRANSITIVE: Final = {
    CompatibilityLevel.BACKWARD_TRANSITIVE,
    CompatibilityLevel.FORWARD_TRANSITIVE,
    CompatibilityLevel.FULL_TRANSITIVE,
}


def check(
    basis: Basis,
    subject: str,
    version: str | None,
    request: RegisterRequest,
    *,
    normalize: bool,
    verbose: bool,
) -> CompatibilityAnswer:
    """Check a schema against one version of its subject, or against all that its level names.

    Raises:
        RequestError: 40402, 42202; 42201 unless `verbose` reports it as a message.
    """
    subject = basis.resolved(subject)
    previous = basis.versions.active(subject)
    if version is not None:
        number = version_number(version)
        found = basis.find(subject, number, deleted=False)
        if found is None and number != LATEST:
            raise version_not_found(number)
        previous = [] if found is None else [found]
    config = basis.config(subject)
    try:
        draft = canonical(
            basis,
            draft_of(subject, request),
            config,
            strict=new_schemas_are_validated(basis, config),
            normalize=normalize or bool(config.normalize),
        )
        if draft is None:
            raise invalid_schema("Empty schema")
        messages = incompatibilities(basis, config, draft, previous)
    except RequestError as error:
        if not verbose or error.code != invalid_schema("").code:
            raise
        messages = [error.message]
    return CompatibilityAnswer(not messages, tuple(messages) if verbose else None)


def new_schemas_are_validated(basis: Basis, config: ConfigValue) -> bool:
    """Return whether a schema is refused that only older registries accepted."""
    own = config.validate_new_schemas
    return basis.settings.validate_new_schemas if own is None else own


def incompatibilities(
    basis: Basis, config: ConfigValue, new: Parsed, previous: Sequence[SchemaValue]
) -> list[str]:
    """Return why the schema may not follow the versions, in the registry's words.

    Args:
        basis: the state.
        config: the configuration that holds for the subject.
        new: the schema.
        previous: the versions in ascending order.
    """
    own = config.validate_fields
    validate_fields = basis.settings.validate_fields if own is None else own
    messages: list[str] = []
    if validate_fields:
        messages += _reserved_fields(new, previous[-1] if previous else None)
    level = config.compatibility_level or basis.settings.compatibility_level
    if level is not CompatibilityLevel.NONE:
        group = config.compatibility_group
        if group:
            value = _property(new.draft.metadata, group)
            previous = [old for old in previous if _property(old.metadata, group) == value]
        policy = config.compatibility_policy
        messages += _compared(
            new,
            previous,
            basis.parser.version,
            level,
            Policy[policy.name] if policy else Policy.STRICT,
        )
    if messages:
        shown = "true" if validate_fields else "false"
        messages.append(f"{{validateFields: '{shown}', compatibility: '{level.name}'}}")
    return messages


def _compared(
    new: Parsed,
    previous: Sequence[SchemaValue],
    parse: Callable[[SchemaValue], Parsed],
    level: CompatibilityLevel,
    policy: Policy,
) -> list[str]:
    wanted = reversed(previous) if level in _TRANSITIVE else previous[-1:]
    for value in wanted:
        old = parse(value)
        messages = _pair(new, old, level, policy)
        if messages:
            return messages
    return []


def _pair(new: Parsed, old: Parsed, level: CompatibilityLevel, policy: Policy) -> list[str]:
    if new.schema.language is not old.schema.language:
        return ["Incompatible because of different schema type"]
    forward: list[str] = []
    backward: list[str] = []
    if level not in _BACKWARD:
        forward = _read(old, new, policy, reader="old", writer="new")
    if level not in _FORWARD:
        backward = _read(new, old, policy, reader="new", writer="old")
    # With FULL the old schema is shown only if the new one cannot read its records.
    if backward or (forward and level in _FORWARD):
        backward += _shown(old)
    return forward + backward


def _read(
    reader_schema: Parsed, writer_schema: Parsed, policy: Policy, *, reader: str, writer: str
) -> list[str]:
    language = reader_schema.schema.language
    try:
        found = reader_schema.schema.incompatibilities(writer_schema.schema, policy)
    except InvalidSchemaError as error:
        return [f"Unexpected exception during compatibility check: {error.one_line()}"]
    return [part.message(language, reader=reader, writer=writer) for part in found]


def _shown(old: Parsed) -> Iterable[str]:
    text = old.schema.canonical
    yield f"{{oldSchemaVersion: {old.draft.version}}}"
    if len(text) <= _SHOWN_MAX:
        yield f"{{oldSchema: '{text}'}}"
    else:
        yield f"{{oldSchema: <truncated> '{text[:_SHOWN_MAX]}...'}}"


def _reserved_fields(new: Parsed, latest: SchemaValue | None) -> Iterable[str]:
    reserved = new.draft.metadata.reserved_fields if new.draft.metadata else frozenset[str]()
    before = latest.metadata.reserved_fields if latest and latest.metadata else frozenset[str]()
    for name in sorted(before - reserved):
        yield (
            f"The new schema has reserved field {name} removed from its metadata "
            "which is present in the old schema's metadata."
        )
    if reserved:
        for name in sorted(reserved & field_names(new.schema)):
            yield f"The new schema has field that conflicts with the reserved field {name}."


def _property(metadata: Metadata | None, name: str) -> str | None:
    return None if metadata is None else metadata.properties.get(name)
