"""Rules of a version, for migration, domain and encoding.

Source: Confluent `RuleSet` and `Rule`, whose hashes are a part of a schema's GUID.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Self

from duolog.registry.contracts.ordering import sorted_by_name, sorted_texts
from duolog.registry.fields import (
    Fields,
    boolean,
    choice,
    nested_list,
    text,
    texts,
    texts_by_name,
)
from duolog.registry.json_text import Json

NAME_LENGTH_MAX: Final = 256
_NAME: Final = re.compile(r"[^\W\d][\w-]*")


class RuleKind(Enum):
    """The effect of a rule on a record."""

    TRANSFORM = auto()
    CONDITION = auto()


class RuleMode(Enum):
    """The moment at which a rule is executed."""

    UPGRADE = auto()
    DOWNGRADE = auto()
    UPDOWN = auto()
    WRITE = auto()
    READ = auto()
    WRITEREAD = auto()

    @property
    def is_migration(self) -> bool:
        """True for rules between versions, false for rules of one version."""
        return self in {RuleMode.UPGRADE, RuleMode.DOWNGRADE, RuleMode.UPDOWN}


class EnableAt(Enum):
    """The place where rules are executed."""

    ALL = auto()
    CLIENT = auto()
    GATEWAY = auto()
    SERVER = auto()
    NONE = auto()


class InvalidRuleError(ValueError):
    """A rule that the registry does not accept."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule."""

    name: str | None
    doc: str | None = None
    kind: RuleKind = RuleKind.TRANSFORM
    mode: RuleMode = RuleMode.WRITEREAD
    type: str | None = None
    tags: tuple[str, ...] = ()
    params: Mapping[str, str] = field(default_factory=dict)
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool = False

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read a rule.

        Raises:
            FieldError: a field has another type.
        """
        return cls(
            name=text(fields, "name"),
            doc=text(fields, "doc"),
            kind=choice(fields, "kind", RuleKind) or RuleKind.TRANSFORM,
            mode=choice(fields, "mode", RuleMode) or RuleMode.WRITEREAD,
            type=text(fields, "type"),
            tags=sorted_texts(texts(fields, "tags")),
            params=sorted_by_name(texts_by_name(fields, "params")),
            expr=text(fields, "expr"),
            on_success=text(fields, "onSuccess"),
            on_failure=text(fields, "onFailure"),
            disabled=bool(boolean(fields, "disabled")),
        )

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form, without what is empty."""
        form: dict[str, Json] = {
            "name": self.name,
            "doc": self.doc,
            "kind": self.kind.name,
            "mode": self.mode.name,
            "type": self.type,
            "tags": self.tags,
            "params": self.params,
            "expr": self.expr,
            "onSuccess": self.on_success,
            "onFailure": self.on_failure,
        }
        shown: dict[str, Json] = {name: value for name, value in form.items() if value}
        shown["disabled"] = self.disabled
        return shown

    def hashed(self) -> Iterator[bytes]:
        """Yield what the rule adds to the hash of a schema."""
        params = [part for pair in self.params.items() for part in pair]
        parts = [self.name, self.doc, self.kind.name, self.mode.name, self.type, *self.tags]
        for part in [*parts, *params, self.expr, self.on_success, self.on_failure]:
            if part is not None:
                yield part.encode()
        if self.disabled:
            yield b"\x01"

    def validate(self) -> None:
        """Raise an error if the name, the type or an action is not valid.

        Raises:
            InvalidRuleError: with the registry's text.
        """
        name = self.name
        if name is None:
            raise InvalidRuleError("Missing rule name")
        if not name:
            raise InvalidRuleError("Empty rule name")
        if len(name) > NAME_LENGTH_MAX:
            raise InvalidRuleError("Rule name too long")
        if not _NAME.match(name):
            raise InvalidRuleError(f"Illegal initial character in rule name: {name}")
        if not _NAME.fullmatch(name):
            raise InvalidRuleError(f"Illegal character in rule name: {name}")
        if self.type is None:
            raise InvalidRuleError("Missing rule type")
        if self.mode not in {RuleMode.WRITEREAD, RuleMode.UPDOWN} and (
            "," in (self.on_success or "") or "," in (self.on_failure or "")
        ):
            raise InvalidRuleError("Multiple actions only valid with WRITEREAD and UPDOWN")


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a version, in their order of execution."""

    migration_rules: tuple[Rule, ...] = ()
    domain_rules: tuple[Rule, ...] = ()
    encoding_rules: tuple[Rule, ...] = ()
    enable_at: EnableAt | None = None

    @classmethod
    def from_json(cls, fields: Fields) -> Self:
        """Read the rules of a request or stored value.

        Raises:
            FieldError: a field has another type.
        """
        return cls(
            migration_rules=nested_list(fields, "migrationRules", Rule.from_json),
            domain_rules=nested_list(fields, "domainRules", Rule.from_json),
            encoding_rules=nested_list(fields, "encodingRules", Rule.from_json),
            enable_at=choice(fields, "enableAt", EnableAt),
        )

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form, without what is empty."""
        form: dict[str, Json] = {
            "migrationRules": [rule.to_json() for rule in self.migration_rules],
            "domainRules": [rule.to_json() for rule in self.domain_rules],
            "encodingRules": [rule.to_json() for rule in self.encoding_rules],
            "enableAt": self.enable_at.name if self.enable_at else None,
        }
        return {name: value for name, value in form.items() if value}

    def hashed(self) -> Iterator[bytes]:
        """Yield what the rules add to the hash of a schema."""
        for rule in self.rules():
            yield from rule.hashed()
        if self.enable_at is not None:
            yield self.enable_at.name.encode()

    def rules(self) -> Iterator[Rule]:
        """Yield all rules."""
        yield from self.migration_rules
        yield from self.domain_rules
        yield from self.encoding_rules

    def validate(self) -> None:
        """Raise an error for the first rule that is not valid.

        Raises:
            InvalidRuleError: with the registry's text.
        """
        names: set[str | None] = set()
        for title, rules in (
            ("Migration", self.migration_rules),
            ("Domain", self.domain_rules),
            ("Encoding", self.encoding_rules),
        ):
            for rule in rules:
                if rule.name in names:
                    raise InvalidRuleError(f"Found rule with duplicate name '{rule.name}'")
                names.add(rule.name)
                rule.validate()
                if rule.mode.is_migration != (title == "Migration"):
                    modes = "UPGRADE, DOWNGRADE, UPDOWN"
                    if title != "Migration":
                        modes = "WRITE, READ, WRITEREAD"
                    raise InvalidRuleError(f"{title} rules can only be {modes}")

    def without(self, names: frozenset[str]) -> "RuleSet":
        """Return the rules except those with the given names."""

        def kept(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
            return tuple(rule for rule in rules if rule.name not in names)

        return RuleSet(
            kept(self.migration_rules),
            kept(self.domain_rules),
            kept(self.encoding_rules),
            self.enable_at,
        )


def merged(old: RuleSet | None, new: RuleSet | None) -> RuleSet | None:
    """Return both, with the rules of `new` where both have one of a name."""
    if old is None or new is None:
        return new if old is None else old
    return RuleSet(
        _merged(old.migration_rules, new.migration_rules),
        _merged(old.domain_rules, new.domain_rules),
        _merged(old.encoding_rules, new.encoding_rules),
        new.enable_at or old.enable_at,
    )


def _merged(old: tuple[Rule, ...], new: tuple[Rule, ...]) -> tuple[Rule, ...]:
    names = {rule.name for rule in new}
    return (*(rule for rule in old if rule.name not in names), *new)
