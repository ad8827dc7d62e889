import pytest

from duolog.registry.errors import DamagedRecordError
from duolog.registry.records import Record
from duolog.registry.records.keys import (
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    HighestIdsKey,
    ModeKey,
    NoopKey,
    SchemaKey,
)
from duolog.registry.records.values import (
    ClearSubjectValue,
    ConfigValue,
    ContextValue,
    DeleteSubjectValue,
    HighestIdsValue,
    Mode,
    ModeValue,
    SchemaValue,
)
from duolog.registry.state import State


def put(
    state: State,
    subject: str,
    version: int,
    schema_id: int | None,
    schema: str,
    *,
    deleted: bool = False,
) -> None:
    value = SchemaValue(subject, version, schema_id, schema, deleted=deleted)
    state.replay(Record(SchemaKey(subject, version), value))


def test_an_id_of_two_schemas_is_damage_and_changes_nothing() -> None:
    state = State()
    put(state, "a", 1, 1, "x")

    with pytest.raises(DamagedRecordError, match=r"id 1 of context \. stands for two schemas"):
        put(state, "b", 1, 1, "y")

    assert state.versions.subjects() == ["a"]
    assert state.versions.highest_id(".") == 1


def test_a_version_without_an_id_takes_that_of_its_schema_or_the_next_one() -> None:
    state = State()
    put(state, "a", 1, 5, "x")
    put(state, "b", 1, None, "x")
    put(state, "b", 2, None, "y")

    assert [value.schema_id for value in state.versions.of("b")] == [5, 6]


def test_equal_texts_are_one_object() -> None:
    state = State()
    put(state, "a", 1, 1, "".join(["x", "y"]))
    put(state, "b", 1, 1, "".join(["x", "y"]))

    assert state.versions.of("a")[0].schema is state.versions.of("b")[0].schema


def test_deleting_a_subject_up_to_a_version_hides_what_is_there() -> None:
    state = State()
    for number in (1, 2, 7):
        put(state, "a", number, number, str(number))

    state.replay(Record(DeleteSubjectKey("a"), DeleteSubjectValue(2**31 - 1)))

    assert state.versions.active("a") == []
    put(state, "a", 8, 8, "8")
    latest = state.versions.latest("a")
    assert latest is not None
    assert latest.version == 8


def test_clearing_forgets_deleted_versions_of_a_subject_a_context_or_all() -> None:
    for place, left in (
        ("a", [":.dev:c", "b"]),
        (":.dev:", ["a", "b"]),
        (None, []),
        (":.__GLOBAL:", []),
    ):
        state = State()
        for subject in ("a", "b", ":.dev:c"):
            put(state, subject, 1, 1, "x", deleted=True)
        state.replay(Record(ClearSubjectKey(place), ClearSubjectValue()))
        assert state.versions.subjects() == left


def test_tombstones_of_what_is_not_there_change_nothing() -> None:
    state = State()
    for key in (
        SchemaKey("a", 1),
        ConfigKey("a"),
        ModeKey(None),
        DeleteSubjectKey("a"),
        ClearSubjectKey("a"),
        ContextKey(".dev"),
        NoopKey(),
        HighestIdsKey(),
    ):
        state.replay(Record(key, None))

    assert state.contexts() == ["."]
    assert state.versions.subjects() == []


def test_a_trial_leaves_no_trace() -> None:
    state = State()
    put(state, "a", 1, 1, "x")
    state.replay(Record(ModeKey("a"), ModeValue(Mode.READONLY)))

    with state.trial():
        put(state, "a", 1, 2, "z")
        put(state, "b", 1, 3, "y")
        assert state.versions.subjects() == ["a", "b"]
        with state.trial():
            state.replay(Record(SchemaKey("a", 1), None))
            state.replay(Record(ModeKey("a"), None))
            state.replay(Record(ConfigKey("a"), ConfigValue(alias="b")))
            state.replay(Record(ContextKey(".dev"), ContextValue()))
            state.replay(Record(HighestIdsKey(), HighestIdsValue({".": 100})))
            assert state.versions.subjects() == ["b"]
        assert state.versions.subjects() == ["a", "b"]
        assert state.versions.highest_id(".") == 3

    assert state.versions.subjects() == ["a"]
    assert [value.schema for value in state.versions.with_id(".", 1)] == ["x"]
    assert state.versions.with_id(".", 2) == []
    assert state.versions.highest_id(".") == 1
    assert state.scopes.modes == {"a": Mode.READONLY}
    assert state.scopes.configs == {}
    assert state.contexts() == ["."]


def test_a_trial_is_taken_back_after_an_error() -> None:
    state = State()

    def attempt() -> None:
        with state.trial():
            put(state, "a", 1, 1, "x")
            put(state, "b", 1, 1, "y")

    with pytest.raises(DamagedRecordError):
        attempt()

    assert state.versions.subjects() == []
