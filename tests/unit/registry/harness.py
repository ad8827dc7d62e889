"""A registry whose writes go through the bytes of their records, as on a broker."""

import itertools
from dataclasses import dataclass, field
from typing import TypeVar

from duolog.registry.json_text import Json, load
from duolog.registry.records import decode, encode
from duolog.registry.records.keys import ForeignKey
from duolog.registry.rules import (
    ConfigRequest,
    Decision,
    ModeRequest,
    RegisterRequest,
    Registry,
    RulesSettings,
    to_json,
)
from duolog.registry.rules.answers import Answer
from duolog.registry.rules.parsing import ParseLanguage
from duolog.schemas.languages import parse as parse_schema

A = TypeVar("A")
Entry = tuple[bytes, bytes | None, int]


def registry_of(
    settings: RulesSettings | None = None, parse: ParseLanguage = parse_schema
) -> Registry:
    """Return an empty registry whose GUIDs of associations are numbers."""
    numbers = itertools.count(1)
    return Registry(settings, parse=parse, new_guid=lambda: f"guid-{next(numbers)}")


def string_record(name: str, *fields: str, optional: tuple[str, ...] = ()) -> str:
    """Return a schema: a record of texts, with defaults for the optional ones."""
    parts = [f'{{"name":"{part}","type":"string"}}' for part in fields]
    parts += [f'{{"name":"{part}","type":"string","default":""}}' for part in optional]
    return f'{{"type":"record","name":"{name}","fields":[{",".join(parts)}]}}'


@dataclass
class Harness:
    """A registry, and the log of what it has written."""

    registry: Registry = field(default_factory=registry_of)
    log: list[Entry] = field(default_factory=list)

    def commit(self, decision: Decision[A]) -> A:
        """Append and replay the records of a decision, and return its answer."""
        for record in decision.records:
            key, value = encode(record)
            assert isinstance(record.key, ForeignKey) or decode(key, value) == record
            self.append(key, value)
        return decision.answer

    def append(self, key: bytes, value: bytes | None) -> None:
        """Append and replay a record of another registry."""
        timestamp = 1000 + len(self.log)
        self.registry.replay(key, value, timestamp=timestamp)
        self.log.append((key, value, timestamp))

    def register(
        self,
        subject: str,
        schema: str,
        *,
        normalize: bool = False,
        force: bool = False,
        form: str = "",
        **fields: Json,
    ) -> int:
        """Register a schema and return its id."""
        request = RegisterRequest.from_json({"schema": schema, **fields})
        decision = self.registry.register(
            subject, request, normalize=normalize, force=force, form=form
        )
        return self.commit(decision).schema.id

    def configure(self, subject: str | None, **fields: Json) -> None:
        """Change a configuration."""
        self.commit(self.registry.change_config(subject, ConfigRequest.from_json(fields)))

    def set_mode(self, subject: str | None, mode: str, *, force: bool = False) -> None:
        """Change a mode."""
        self.commit(self.registry.change_mode(subject, ModeRequest(mode), force=force))

    def soft_delete(self, subject: str) -> tuple[int, ...]:
        """Soft-delete a subject."""
        return self.commit(self.registry.delete_subject(subject))

    def hard_delete(self, subject: str) -> tuple[int, ...]:
        """Hard-delete a soft-deleted subject."""
        return self.commit(self.registry.delete_subject(subject, permanent=True))

    def keys(self) -> list[str]:
        """Return the kinds of the records in the log, with their subjects."""
        shown: list[str] = []
        for key, value, _ in self.log:
            fields = load(key)
            assert isinstance(fields, dict)
            tomb = "" if value is not None else " tombstone"
            where = fields.get("subject", "")
            version = f" v{fields['version']}" if "version" in fields else ""
            shown.append(f"{fields['keytype']} {where}{version}{tomb}".strip())
        return shown


def shown(answer: Answer, *, extended: bool = False) -> Json:
    """Return the JSON of an answer."""
    return to_json(answer, extended=extended)


def request(schema: str, **fields: Json) -> RegisterRequest:
    """Return a request for a schema."""
    return RegisterRequest.from_json({"schema": schema, **fields})
