"""A view of a registry answers like a registry that lacks what the client may not see.

A registry is filled at random. A second one replays only the records of the subjects that a client
may see. Every read of the first one's view must be answered as by the second one.
"""

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from duolog.registry.errors import RequestError
from duolog.registry.json_text import Json, load
from duolog.registry.rules import Registry, to_json
from duolog.registry.rules.answers import Answer
from duolog.registry.rules.reader import RegistryReader
from duolog.registry.rules.requests import Page
from unit.registry.harness import Harness, registry_of, request, string_record

CONTEXTS = ("", ":.team:", ":.other:")
NAMES = ("a", "b", "c", "d")
SUBJECTS = [f"{context}{name}" for context in CONTEXTS for name in NAMES]
SCHEMAS = [string_record(f"R{number}", "f") for number in range(6)]
OWNER = {"owner": "x"}
Read = Callable[[RegistryReader], Answer]


def filled(random_: random.Random) -> Harness:
    """Return a registry with versions, deletions, configs and modes."""
    harness = Harness()
    for everything in (None, *CONTEXTS[1:]):
        harness.configure(everything, compatibility="NONE")
    for _ in range(40):
        subject = random_.choice(SUBJECTS)
        match random_.randrange(8):
            case 0:
                quietly(partial(harness.soft_delete, subject))
            case 1:
                quietly(partial(harness.hard_delete, subject))
            case 2:
                harness.configure(subject, compatibility=random_.choice(("NONE", "FULL")))
                harness.configure(subject, compatibility="NONE")
            case 3:
                harness.set_mode(subject, random_.choice(("READONLY", "READWRITE")))
                harness.set_mode(subject, "READWRITE")
            case _:
                properties: Json = {"properties": {"owner": random_.choice("xy")}}
                harness.register(subject, random_.choice(SCHEMAS), metadata=properties)
    return harness


def quietly(call: Callable[[], object]) -> None:
    try:
        call()
    except RequestError:
        return


def without(harness: Harness, seen: Callable[[str], bool]) -> Registry:
    """Return a registry that has replayed only what belongs to visible subjects."""
    registry = registry_of()
    for key, value, timestamp in harness.log:
        fields = load(key)
        assert isinstance(fields, dict)
        subject = fields.get("subject")
        if not isinstance(subject, str) or subject in CONTEXTS or seen(subject):
            registry.replay(key, value, timestamp=timestamp)
    return registry


def reads(visible: frozenset[str], guids: list[str]) -> Iterator[tuple[str, Read]]:
    """Yield reads by a name for the failure.

    The subject of a path is checked before the view is asked, so that only visible ones are here.
    """
    pages = (Page(), Page(0, 1), Page(1, 2), Page(3, 1))
    for deleted in (False, True):
        more = {"deleted": deleted}
        for page in pages:
            for prefix in (":*:", "", "a", ":.team:", ":.other:a", ":.t"):
                yield named(RegistryReader.subjects, prefix=prefix, page=page, **more)
                yield named(RegistryReader.schemas, prefix=prefix, page=page, **more)
        for subject in sorted(visible):
            yield named(RegistryReader.versions, subject=subject, **more)
            yield named(
                RegistryReader.latest_with_metadata, subject=subject, properties=OWNER, **more
            )
            for version in ("1", "2", "latest"):
                yield named(RegistryReader.version, subject=subject, version=version, **more)
            for schema in SCHEMAS[:3]:
                asked = request(schema)
                yield named(RegistryReader.look_up, subject=subject, request=asked, **more)
        for schema_id in range(1, 8):
            for place in (None, "", ":.team:", *SUBJECTS):
                where = {"schema_id": schema_id, "subject": place}
                yield named(RegistryReader.schema_by_id, **where)
                yield named(RegistryReader.subjects_of_id, **where, **more)
                yield named(RegistryReader.versions_of_id, **where, **more)
    for guid in guids:
        yield named(RegistryReader.schema_by_guid, guid=guid)
        yield named(RegistryReader.ids_of_guid, guid=guid)


def named(method: Callable[..., Answer], **arguments: Any) -> tuple[str, Read]:
    """Return a read, and its name."""
    return f"{method.__name__} {arguments}", partial(method, **arguments)


def outcome(read: Read, registry: RegistryReader) -> object:
    try:
        return to_json(read(registry), extended=True)
    except RequestError as error:
        return error.code, error.message


@pytest.mark.parametrize("seed", range(25))
def test_a_view_answers_like_a_registry_without_the_rest(seed: int) -> None:
    random_ = random.Random(seed)  # noqa: S311 - no secret
    harness = filled(random_)
    visible = frozenset(random_.sample(SUBJECTS, 5))
    view = harness.registry.seen_by(lambda subject: subject in visible)
    model = without(harness, lambda subject: subject in visible)
    guids = [
        guid
        for number in range(1, 8)
        for guid in [_guid(harness.registry, number)]
        if guid is not None
    ]

    for name, read in reads(visible, guids):
        assert outcome(read, view) == outcome(read, model), f"seed {seed}: {name}"


def _guid(registry: Registry, schema_id: int) -> str | None:
    try:
        return registry.schema_by_id(schema_id).guid
    except RequestError:
        return None
