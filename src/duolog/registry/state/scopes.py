"""Configurations and modes: of subjects, of contexts, global, and which one holds for a subject.

    own value of the subject
      else that of its context (`:.dev:`), or the global one for the default context
      else that of `:.__GLOBAL:`
      else the default of the settings

A configuration of a subject inherits the fields that it leaves open from the global one.

Source: Confluent `InMemoryCache.config` and `mode`, `Config.mergeConfigs`.
"""

from dataclasses import replace

from duolog.registry.names import DEFAULT_CONTEXT, GLOBAL_CONTEXT, SubjectName
from duolog.registry.records.values import CompatibilityLevel, ConfigValue, Mode
from duolog.registry.state.journal import Journal

_GLOBAL_PREFIX = SubjectName(GLOBAL_CONTEXT, "").text


class Scopes:
    """All configurations and modes, by the qualified subject or context; None is global."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.configs: dict[str | None, ConfigValue] = {}
        self.modes: dict[str | None, Mode] = {}

    def put_config(self, subject: str | None, value: ConfigValue | None) -> None:
        """Set a configuration; None takes it away."""
        if value is None:
            self._journal.remove(self.configs, subject)
        else:
            self._journal.put(self.configs, subject, value)

    def put_mode(self, subject: str | None, mode: Mode | None) -> None:
        """Set a mode; None takes it away."""
        if mode is None:
            self._journal.remove(self.modes, subject)
        else:
            self._journal.put(self.modes, subject, mode)

    def config(self, subject: str | None, default: CompatibilityLevel) -> ConfigValue | None:
        """Return the configuration of a subject or context itself; the global one always exists."""
        found = self.configs.get(subject)
        if found is None:
            return ConfigValue(compatibility_level=default) if _is_global(subject) else None
        return _with_level(found, default)

    def config_in_scope(self, subject: str | None, default: CompatibilityLevel) -> ConfigValue:
        """Return the configuration that holds for a subject."""
        own = self.configs.get(subject)
        if subject is not None and (own is not None or _is_global(subject)):
            basis = self.configs.get(None, ConfigValue())
            own = _with_level(own or ConfigValue(), default)
            return _inherited(own, basis)
        for place in _places(subject):
            if place in self.configs:
                return _with_level(self.configs[place], default)
        return ConfigValue(compatibility_level=default)

    def mode(self, subject: str | None) -> Mode | None:
        """Return the mode of a subject or context itself; the global one always exists."""
        found = self.modes.get(subject)
        return Mode.READWRITE if found is None and _is_global(subject) else found

    def mode_in_scope(self, subject: str | None) -> Mode:
        """Return the mode that holds for a subject."""
        for place in _places(subject):
            if place in self.modes:
                return self.modes[place]
        return Mode.READWRITE


def _is_global(subject: str | None) -> bool:
    return subject is None or SubjectName.parse(subject).context == GLOBAL_CONTEXT


def _places(subject: str | None) -> tuple[str | None, ...]:
    if subject is None:
        return None, _GLOBAL_PREFIX
    name = SubjectName.parse(subject)
    context = None if name.context == DEFAULT_CONTEXT else SubjectName(name.context, "").text
    return subject, context, _GLOBAL_PREFIX


def _with_level(value: ConfigValue, default: CompatibilityLevel) -> ConfigValue:
    if value.compatibility_level is not None:
        return value
    return replace(value, compatibility_level=default)


def _inherited(own: ConfigValue, basis: ConfigValue) -> ConfigValue:
    inherited = {
        name: getattr(own, name) if getattr(own, name) is not None else getattr(basis, name)
        for name in (
            "normalize",
            "validate_fields",
            "validate_new_schemas",
            "validate_rules",
            "compatibility_policy",
            "compatibility_group",
        )
    }
    return replace(own, **inherited)
