"""Configurations and modes: reading, changing and deleting them.

Source: Confluent `ConfigResource`, `ModeResource`, `KafkaSchemaRegistry.setMode`.
"""

from dataclasses import replace

from duolog.registry import errors
from duolog.registry.contracts import RuleSet
from duolog.registry.contracts.rule_set import InvalidRuleError
from duolog.registry.names import GLOBAL_CONTEXT, SubjectName, is_valid, normalized
from duolog.registry.records import Record
from duolog.registry.records.keys import ClearSubjectKey, ConfigKey, ModeKey, SchemaKey
from duolog.registry.records.values import (
    ClearSubjectValue,
    CompatibilityLevel,
    CompatibilityPolicy,
    ConfigValue,
    Mode,
    ModeValue,
)
from duolog.registry.rules.answers import ConfigAnswer, ModeAnswer, ModeUpdatedAnswer
from duolog.registry.rules.basis import Basis
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.deletion import hard_deletes
from duolog.registry.rules.requests import ConfigField, ConfigRequest, ModeRequest


def config(basis: Basis, subject: str | None, *, default_to_global: bool) -> ConfigAnswer:
    """Return a configuration: that of the subject itself, or the one that holds for it.

    Raises:
        RequestError: 40408.
    """
    place = _place(subject)
    if default_to_global:
        return ConfigAnswer(basis.config(place))
    found = basis.own_config(place)
    if found is None:
        assert place is not None
        raise errors.config_not_found(place)
    return ConfigAnswer(found)


def change_config(
    basis: Basis, subject: str | None, request: ConfigRequest
) -> Decision[ConfigAnswer]:
    """Decide on changes of a configuration; the answer is the whole new one.

    Raises:
        RequestError: 42203, 42205, 42208, 42210.
    """
    changes = {name: _checked(name, value) for name, value in request.changes.items()}
    _ensure_valid(subject)
    place = _place(subject)
    _ensure_writable(basis, place)
    old = basis.state.scopes.configs.get(place, ConfigValue())
    new = replace(old, **changes)  # type: ignore[arg-type] # each checked by its name
    return Decision(ConfigAnswer(new, updated=True), (Record(ConfigKey(place), new),))


def delete_config(basis: Basis, subject: str | None) -> Decision[ConfigAnswer]:
    """Decide on the deletion of a configuration; the answer is the deleted one.

    Raises:
        RequestError: 40401, 42205.
    """
    place = _place(subject)
    found = basis.own_config(place)
    if found is None:
        assert place is not None
        raise errors.subject_not_found(place)
    _ensure_writable(basis, place)
    return Decision(ConfigAnswer(found), (Record(ConfigKey(place), None),))


def mode(basis: Basis, subject: str | None, *, default_to_global: bool) -> ModeAnswer:
    """Return a mode: that of the subject itself, or the one that holds for it.

    Raises:
        RequestError: 40409.
    """
    place = _place(subject)
    found = basis.mode(place) if default_to_global else basis.state.scopes.mode(place)
    if found is None:
        assert place is not None
        raise errors.mode_not_found(place)
    return ModeAnswer(found)


def change_mode(
    basis: Basis, subject: str | None, request: ModeRequest, *, force: bool
) -> Decision[ModeUpdatedAnswer]:
    """Decide on a new mode.

    IMPORT needs a subject, context or registry without versions, unless `force`; what is left of
    soft-deleted ones is forgotten.

    Raises:
        RequestError: 42204, 42205, 42206, 42208.
    """
    _ensure_valid(subject)
    place = _place(subject)
    wanted = _mode(request.mode)
    is_global = place is not None and SubjectName.parse(place) == SubjectName(GLOBAL_CONTEXT, "")
    if wanted is Mode.FORWARD and not is_global:
        raise errors.invalid_mode("Forward mode only supported on global level")
    _ensure_changeable(basis)
    records: list[Record] = []
    if wanted is Mode.IMPORT and basis.mode(place) is not Mode.IMPORT and not force:
        records += _cleared(basis, place)
    value = None if wanted is None else ModeValue(wanted)
    records.append(Record(ModeKey(place), value))
    return Decision(ModeUpdatedAnswer(request.mode), tuple(records))


def delete_mode(basis: Basis, subject: str | None, *, recursive: bool) -> Decision[ModeAnswer]:
    """Decide on the deletion of a mode; the answer is the deleted one.

    Args:
        basis: the state.
        subject: the subject or context; None is the global mode.
        recursive: with a context, also delete the modes of its subjects.

    Raises:
        RequestError: 40401, 42205.
    """
    place = _place(subject)
    found = basis.state.scopes.mode(place)
    if found is None and not recursive:
        assert place is not None
        raise errors.subject_not_found(place)
    _ensure_changeable(basis)
    records = [Record(ModeKey(place), None)]
    name = SubjectName.parse(place or "")
    if recursive and not name.name:
        records += [
            Record(ModeKey(other), None)
            for other in basis.state.scopes.modes
            if other is not None
            and SubjectName.parse(other).context == name.context
            and SubjectName.parse(other).name
        ]
    return Decision(ModeAnswer(found), tuple(records))


def _cleared(basis: Basis, place: str | None) -> list[Record]:
    if basis.versions.exist(place, deleted=False):
        raise errors.not_permitted("Cannot import since found existing subjects")
    values = [value for name in basis.versions.matching(place) for value in basis.versions.of(name)]
    for value in values:
        key = SchemaKey(value.subject, value.version)
        if basis.versions.referrers(key):
            raise errors.reference_exists(str(key))
    return [*hard_deletes(basis, values), Record(ClearSubjectKey(place), ClearSubjectValue())]


def _place(subject: str | None) -> str | None:
    if subject is None or SubjectName.parse(subject).is_default_context:
        return None
    return normalized(subject)


def _ensure_valid(subject: str | None) -> None:
    if subject is not None and not is_valid(subject, for_settings=True):
        raise errors.invalid_subject(subject)


def _ensure_writable(basis: Basis, place: str | None) -> None:
    if place is not None:
        basis.ensure_writable(place)
    elif basis.mode(None).is_read_only:
        raise errors.not_permitted("Subject null in context  is in read-only mode")


def _ensure_changeable(basis: Basis) -> None:
    if not basis.settings.mode_changes:
        raise errors.not_permitted("Mode changes are not allowed")


def _mode(text: str | None) -> Mode | None:
    if text is None:
        return None
    if text.upper() not in Mode.__members__:
        raise errors.invalid_mode()
    return Mode[text.upper()]


def _checked(
    name: str, value: ConfigField
) -> ConfigField | CompatibilityLevel | CompatibilityPolicy:
    match name, value:
        case "compatibility_level", str() as text:
            if text.upper() not in CompatibilityLevel.__members__:
                raise errors.invalid_compatibility_level()
            return CompatibilityLevel[text.upper()]
        case "compatibility_policy", str() as text:
            # As the registry does: a policy that it does not know is none.
            return CompatibilityPolicy.__members__.get(text.upper())
        case _, RuleSet() as rules:
            try:
                rules.validate()
            except InvalidRuleError as error:
                raise errors.invalid_rule_set(str(error)) from error
            return rules
        case _:
            return value
