"""Compare a directory of schemas with a registry: what `apply` would do, and what it cannot do.

register      a subject without versions gets the first one
change        a subject gets another version
incompatible  the registry would refuse the schema
older         the schema is a version before the latest one; registering it changes nothing
unchanged     the schema is the latest version
level, mode   a setting changes
unmanaged     a subject that the directory does not have
delete        the same, with --prune: a soft deletion
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from duolog.cli.registry.schema_differences import Difference, compare
from duolog.cli.registry.schema_directory import Directory, SchemaFile
from duolog.core.errors import RegistryError
from duolog.registry.client.admin import Registered, RegistryAdmin
from duolog.registry.client.incompatibilities import incompatibilities
from duolog.schemas.languages import parse
from duolog.schemas.schema import Reference, Schema
from duolog.schemas.source import SchemaText

CHANGES: Final = ("register", "change", "level", "mode", "delete")
"""Actions that change a registry."""
_NEXT: Final = 0
"""The version of a reference to a schema that is not registered yet."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a plan.

    Attributes:
        version: the version that the subject has now, or that the schema has in it.
        old: the earlier value of a setting.
        new: the value to set.
        differences: the changed fields.
        reasons: why the schema is incompatible.
    """

    action: str
    subject: str
    file: SchemaFile | None = None
    version: int | None = None
    old: str | None = None
    new: str | None = None
    differences: tuple[Difference, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """True if the step changes the registry."""
        return self.action in CHANGES

    @property
    def detail(self) -> str:
        """The effect of the step, in one line."""
        match self.action:
            case "change":
                fields = ", ".join(f"{one.change} {one.path}" for one in self.differences)
                return fields or "only the text differs"
            case "level" | "mode":
                return f"{self.old or 'not set'} → {self.new}"
            case "incompatible":
                return "; ".join(self.reasons)
            case "older":
                return f"is version {self.version}, not the latest one"
            case _:
                return ""


@dataclass(slots=True)
class _Known:
    """The subjects of the directory that the plan has visited.

    Attributes:
        versions: the version of each schema; `_NEXT` if it is not registered yet.
        texts: the schemas.
    """

    versions: dict[str, int] = field(default_factory=dict)
    texts: dict[str, SchemaText] = field(default_factory=dict)


def plan_of(directory: Directory, admin: RegistryAdmin, *, prune: bool) -> list[Step]:
    """Return the steps that make a registry what a directory says, in the order of `apply`.

    Raises:
        RegistryError: the registry does not answer, or a schema is invalid.
    """
    steps = list(_levels(directory, admin))
    modes = list(_modes(directory, admin))
    # A subject must accept versions before it gets one, and be read-only after it.
    steps += [step for step in modes if step.new == "READWRITE"]
    known = _Known()
    steps += [_schema(file, directory, admin, known) for file in directory.files]
    steps += [step for step in modes if step.new != "READWRITE"]
    managed = {file.subject for file in directory.files}
    action = "delete" if prune else "unmanaged"
    steps += [Step(action, name) for name in sorted(admin.subjects()) if name not in managed]
    return steps


def with_references(file: SchemaFile, versions: dict[str, int], admin: RegistryAdmin) -> SchemaText:
    """Return the schema of a file with the versions of what it refers to."""
    references = []
    for name, (subject, version) in file.references.items():
        number = version or versions.get(subject)
        if number is None:
            number = admin.version(subject).version
        references.append(Reference(name, subject, number))
    return SchemaText(file.language, file.text, tuple(references))


def _levels(directory: Directory, admin: RegistryAdmin) -> Iterator[Step]:
    for subject, level in directory.levels.items():
        old = _level(admin, subject)
        if old != level:
            yield Step("level", subject or "(global)", old=old, new=level)


def _level(admin: RegistryAdmin, subject: str | None, *, default: bool = False) -> str | None:
    found = (admin.config(subject, default=default) or {}).get("compatibilityLevel")
    return None if found is None else str(found)


def _modes(directory: Directory, admin: RegistryAdmin) -> Iterator[Step]:
    for subject, mode in directory.modes.items():
        old = admin.mode(subject)
        # A subject without a mode of its own accepts versions.
        if old != mode and (old or admin.mode(subject, default=True)) != mode:
            yield Step("mode", subject, old=old, new=mode)


def _schema(file: SchemaFile, directory: Directory, admin: RegistryAdmin, known: _Known) -> Step:
    schema = with_references(file, known.versions, admin)
    known.texts[file.subject] = schema
    pending = any(one.version == _NEXT for one in schema.references)
    numbers = admin.numbers(file.subject) if _exists(admin, file.subject) else []
    parsed, found = None, None
    try:
        parsed = _parsed(file, schema, known, admin)
    except RegistryError:
        # A version may be older than the rule that it breaks, for example about defaults.
        if pending or not numbers:
            raise
        with suppress(RegistryError):
            found = admin.look_up(file.subject, schema)
        if found is None:
            raise
    if parsed is not None and numbers and not pending:
        found = admin.look_up(file.subject, schema)
    known.versions[file.subject] = _NEXT if found is None else found.version
    if not numbers:
        return Step("register", file.subject, file)
    if found is not None:
        action = "unchanged" if found.version == numbers[-1] else "older"
        return Step(action, file.subject, file, found.version)
    assert parsed is not None, file
    latest = admin.version(file.subject)
    level = directory.levels.get(file.subject) or directory.levels.get(None)
    if pending or level is not None:
        wanted = level or _level(admin, file.subject, default=True) or "NONE"
        reasons = _reasons(parsed, wanted, file.subject, numbers, admin)
    else:
        messages = admin.check(file.subject, schema)
        reasons = tuple(_told(one.type, one.description) for one in incompatibilities(messages))
    if reasons:
        differences = _differences(latest, parsed, admin)
        return Step(
            "incompatible", file.subject, file, latest.version, None, None, differences, reasons
        )
    differences = _differences(latest, parsed, admin)
    return Step("change", file.subject, file, latest.version, differences=differences)


def _exists(admin: RegistryAdmin, subject: str) -> bool:
    return subject in admin.subjects(subject)


def _parsed(file: SchemaFile, schema: SchemaText, known: _Known, admin: RegistryAdmin) -> Schema:
    """Return a schema with what it refers to, which may not be registered yet.

    Raises:
        RegistryError: the schema is invalid.
    """
    texts: dict[str, str] = {}

    def add(one: SchemaText) -> None:
        for reference in one.references:
            if reference.name in texts:
                continue
            if reference.version == _NEXT:
                to = known.texts[reference.subject]
            else:
                to = admin.referenced(reference)
            add(to)
            texts[reference.name] = to.text

    add(schema)
    try:
        return parse(schema.language, schema.text, texts)
    except RegistryError as error:
        error.message = f"{file.path.name}: {error.message}"
        raise


def _reasons(
    new: Schema, level: str, subject: str, numbers: Sequence[int], admin: RegistryAdmin
) -> tuple[str, ...]:
    """Return why a schema breaks a level that the registry does not have yet."""
    if level == "NONE":
        return ()
    against = numbers if level.endswith("_TRANSITIVE") else numbers[-1:]
    found: dict[str, None] = {}
    for number in against:
        old = admin.resolved(admin.version(subject, str(number)).schema)
        if old.language != new.language:
            return (f"version {number} is a schema in {old.language.value}",)
        backward = () if level.startswith("FORWARD") else new.incompatibilities(old)
        forward = () if level.startswith("BACKWARD") else old.incompatibilities(new)
        for reasons, reader, writer in ((backward, "new", "old"), (forward, "old", "new")):
            for one in reasons:
                sentence = one.description.replace("{reader}", reader).replace("{writer}", writer)
                found[_told(one.kind, sentence)] = None
    return tuple(found)


def _told(kind: str | None, sentence: str) -> str:
    return f"{kind}: {sentence}" if kind else sentence


def _differences(latest: Registered, new: Schema, admin: RegistryAdmin) -> tuple[Difference, ...]:
    old = admin.resolved(latest.schema)
    if old.language != new.language:
        return (Difference("(schema)", "changed", old.language.value, new.language.value),)
    return compare(old, new).differences
