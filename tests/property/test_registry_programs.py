"""Random programs of requests against the registry, its log and what a compaction leaves of it.

After each program

- a replay of the log from nothing gives the same state, answers and next ids,
- so does a replay of the last record of each key, with and without tombstones,
- an id has stood for one schema in its context from beginning to end, unless it was imported,
- a refused request has written nothing.
"""

import contextlib
import random
from collections.abc import Callable
from typing import Final

from hypothesis import example, given
from hypothesis import strategies as st

from duolog.registry.errors import RequestError
from duolog.registry.json_text import Json
from duolog.registry.names import context_of
from duolog.registry.rules import ConfigRequest, Decision, ModeRequest, Registry, TagRequest
from duolog.registry.rules.answers import Answer
from duolog.registry.rules.association_requests import AssociationRequest, batch_of_requests
from unit.registry.harness import Entry, Harness, registry_of, request, shown, string_record

SUBJECTS: Final = ("s", "t", ":.dev:s", ":.dev:u", ":.lkc1:orders-value")
PLACES: Final = (None, ":.dev:", ":.__GLOBAL:", *SUBJECTS)
SCHEMAS: Final = (
    string_record("T", "x"),
    string_record("T", "x", optional=("y",)),
    string_record("T", "x", optional=("y", "z")),
    string_record("A", "q"),
    '"int"',
    '{"type":"record","name":"U","fields":[{"name":"t","type":"T"}]}',
)
IMPORTED: Final = (2, 50, 90)
STEPS: Final = 30
CONFIGS: Final[tuple[dict[str, Json], ...]] = (
    {"compatibility": "NONE"},
    {"compatibility": "FULL", "compatibilityGroup": "major"},
    {"normalize": True, "compatibilityGroup": None},
    {"defaultMetadata": {"properties": {"owner": "me"}}},
    {"alias": "t"},
    {"alias": None, "defaultMetadata": None},
)

Step = Callable[[Registry, random.Random], Decision[Answer]]


def _register(registry: Registry, dice: random.Random) -> Decision[Answer]:
    schema = dice.choice(SCHEMAS)
    fields: dict[str, Json] = {}
    if "U" in schema:
        fields["references"] = [
            {"name": "T", "subject": dice.choice(SUBJECTS), "version": dice.choice((-1, 1, 2))}
        ]
    if dice.random() < 0.3:
        fields["metadata"] = {"properties": {"major": dice.choice("12")}}
    if dice.random() < 0.1:
        fields["ruleSet"] = {"domainRules": [{"name": "r", "type": "CEL"}]}
    if dice.random() < 0.3:
        fields |= {"id": dice.choice(IMPORTED), "version": dice.randint(1, 4)}
    return registry.register(
        dice.choice(SUBJECTS),
        request(schema, **fields),
        normalize=dice.random() < 0.2,
        force=dice.random() < 0.3,
    )


def _change_tags(registry: Registry, dice: random.Random) -> Decision[Answer]:
    entity = {"entityPath": "T.x", "entityType": "sr_field"}
    body: dict[str, Json] = {"tagsToAdd": [{"schemaEntity": entity, "tags": [dice.choice("ab")]}]}
    return registry.change_tags(dice.choice(SUBJECTS), "latest", TagRequest.from_json(body))


def _delete_subject(registry: Registry, dice: random.Random) -> Decision[Answer]:
    return registry.delete_subject(dice.choice(SUBJECTS), permanent=dice.random() < 0.5)


def _delete_version(registry: Registry, dice: random.Random) -> Decision[Answer]:
    version = dice.choice(("1", "2", "3", "latest"))
    return registry.delete_version(dice.choice(SUBJECTS), version, permanent=dice.random() < 0.5)


def _change_config(registry: Registry, dice: random.Random) -> Decision[Answer]:
    body = dice.choice(CONFIGS)
    return registry.change_config(dice.choice(PLACES), ConfigRequest.from_json(body))


def _delete_config(registry: Registry, dice: random.Random) -> Decision[Answer]:
    return registry.delete_config(dice.choice(PLACES))


def _change_mode(registry: Registry, dice: random.Random) -> Decision[Answer]:
    mode = dice.choice(("READWRITE", "READWRITE", "READONLY", "IMPORT", "IMPORT", None))
    return registry.change_mode(dice.choice(PLACES), ModeRequest(mode), force=dice.random() < 0.7)


def _delete_mode(registry: Registry, dice: random.Random) -> Decision[Answer]:
    return registry.delete_mode(dice.choice(PLACES), recursive=dice.random() < 0.5)


def _delete_context(registry: Registry, dice: random.Random) -> Decision[Answer]:
    return registry.delete_context(dice.choice((":.dev:", ":.lkc1:")))


def _item(dice: random.Random) -> dict[str, Json]:
    if dice.random() < 0.5:
        return {"subject": dice.choice(SUBJECTS), "associationType": dice.choice(("key", "value"))}
    return {"associationType": "value", "schema": {"schema": dice.choice(SCHEMAS[:5])}}


def _resource(dice: random.Random, *items: dict[str, Json]) -> dict[str, Json]:
    return {
        "resourceName": "orders",
        "resourceNamespace": "lkc1",
        "resourceId": dice.choice(("id1", "id2")),
        "associations": list(items),
    }


def _create_associations(registry: Registry, dice: random.Random) -> Decision[Answer]:
    return registry.create_associations(AssociationRequest.from_json(_resource(dice, _item(dice))))


def _change_associations(registry: Registry, dice: random.Random) -> Decision[Answer]:
    body = AssociationRequest.from_json(_resource(dice, _item(dice) | {"lifecycle": "WEAK"}))
    return registry.change_associations(body.resource_id or "", body)


def _delete_associations(registry: Registry, dice: random.Random) -> Decision[Answer]:
    return registry.delete_associations(dice.choice(("id1", "id2")), cascade=dice.random() < 0.7)


def _apply_batch(registry: Registry, dice: random.Random) -> Decision[Answer]:
    operations = ("CREATE", "UPSERT", "DELETE")
    requests: list[Json] = [
        _resource(dice, _item(dice) | {"opType": dice.choice(operations), "cascadeLifecycle": True})
        for _ in range(2)
    ]
    return registry.apply_batch(batch_of_requests({"requests": requests}))


KINDS: Final[tuple[tuple[Step, int], ...]] = (
    (_register, 20),
    (_change_tags, 2),
    (_delete_subject, 8),
    (_delete_version, 6),
    (_change_config, 4),
    (_delete_config, 2),
    (_change_mode, 6),
    (_delete_mode, 3),
    (_delete_context, 1),
    (_create_associations, 3),
    (_change_associations, 1),
    (_delete_associations, 2),
    (_apply_batch, 2),
)


def state_of(registry: Registry) -> Json:
    """Return everything that clients can see, and what decides on the next ids."""
    state = registry.state
    return {
        "schemas": shown(registry.schemas(":*:", deleted=True), extended=True),
        "subjects": list(registry.subjects()),
        "contexts": list(registry.contexts()),
        "configs": {str(place): value.to_json() for place, value in state.scopes.configs.items()},
        "modes": {str(place): mode.name for place, mode in state.scopes.modes.items()},
        "associations": shown(registry.associations_of_resource("-", "-"), extended=True),
        "highest ids": {name: state.versions.highest_id(name) for name in registry.contexts()},
    }


def answers_of(registry: Registry) -> list[Json]:
    """Return the answers to many questions."""
    questions: list[Callable[[], Answer]] = []
    for subject in SUBJECTS:
        questions += [
            lambda s=subject: registry.versions(s, deleted_as_negative=True, deleted=True),  # type: ignore[misc]
            lambda s=subject: registry.version(s, "latest"),  # type: ignore[misc]
            lambda s=subject: registry.config(s, default_to_global=True),  # type: ignore[misc]
            lambda s=subject: registry.mode(s, default_to_global=True),  # type: ignore[misc]
            lambda s=subject: registry.referenced_by(s, "1", deleted=True),  # type: ignore[misc]
        ]
        for schema in SCHEMAS:
            questions += [
                lambda s=subject, t=schema: registry.look_up(s, request(t)),  # type: ignore[misc]
                lambda s=subject, t=schema: registry.look_up(s, request(t), deleted=True),  # type: ignore[misc]
                lambda s=subject, t=schema: registry.register(s, request(t)).answer,  # type: ignore[misc]
                lambda s=subject, t=schema: registry.compatibility(  # type: ignore[misc]
                    s, None, request(t), verbose=True
                ),
            ]
    for number in (1, 2, 3, 50, 91):
        for subject in ("", ":.dev:", *SUBJECTS):
            questions += [
                lambda i=number, s=subject: registry.schema_by_id(i, subject=s, max_id=True),  # type: ignore[misc]
                lambda i=number, s=subject: registry.versions_of_id(i, subject=s, deleted=True),  # type: ignore[misc]
            ]
    return [_answered(question) for question in questions]


def _answered(question: Callable[[], Answer]) -> Json:
    try:
        return shown(question(), extended=True)
    except RequestError as error:
        return error.to_json()


def replayed(log: list[Entry]) -> Registry:
    """Return a registry that knows nothing but a log."""
    registry = registry_of()
    for key, value, timestamp in log:
        registry.replay(key, value, timestamp=timestamp)
    return registry


def compacted(log: list[Entry], *, tombstones: bool) -> list[Entry]:
    """Return the last entry of each key, in their old order."""
    last = {entry[0]: index for index, entry in enumerate(log)}
    return [
        entry
        for index, entry in enumerate(log)
        if last[entry[0]] == index and (tombstones or entry[1] is not None)
    ]


def run(seed: int) -> Harness:
    """Run a program, and return the registry with its log."""
    dice = random.Random(seed)  # noqa: S311 - a program, not a secret
    harness = Harness()
    known: dict[tuple[str, int], str] = {}
    steps = [kind for kind, weight in KINDS for _ in range(weight)]
    state = state_of(harness.registry)
    for _ in range(STEPS):
        decision: Decision[Answer] | None = None
        with contextlib.suppress(RequestError):
            decision = dice.choice(steps)(harness.registry, dice)
        assert state_of(harness.registry) == state
        if decision is None or not decision.records:
            continue
        harness.commit(decision)
        state = state_of(harness.registry)
        for answer in harness.registry.schemas(":*:", deleted=True):
            place = (context_of(answer.subject), answer.id)
            if answer.id not in IMPORTED:
                assert known.setdefault(place, answer.schema) == answer.schema
    return harness


@given(seed=st.integers(0, 2**32))
@example(seed=0)
def test_a_replay_and_a_compaction_give_the_same_registry(seed: int) -> None:
    harness = run(seed)
    state, answers = state_of(harness.registry), answers_of(harness.registry)

    for log in (harness.log, compacted(harness.log, tombstones=True)):
        assert state_of(replayed(log)) == state
    last = replayed(compacted(harness.log, tombstones=False))
    assert state_of(last) == state
    assert answers_of(last) == answers


@given(seed=st.integers(0, 2**32))
def test_a_compaction_in_the_middle_is_not_seen_afterwards(seed: int) -> None:
    harness = run(seed)
    middle = len(harness.log) // 2
    first = compacted(harness.log[:middle], tombstones=False)

    again = replayed(first + harness.log[middle:])

    assert state_of(again) == state_of(harness.registry)
