from duolog.core.errors import DuologError, KafkaError


def test_an_error_shows_what_happened_the_facts_and_what_to_do() -> None:
    error = DuologError(
        'topic "orders" does not exist', detail="The broker has 3.", hint="Create it."
    )

    assert str(error).splitlines() == [
        'topic "orders" does not exist',
        "detail: The broker has 3.",
        "hint: Create it.",
    ]


def test_an_error_for_a_client_carries_kafkas_number() -> None:
    error = KafkaError('topic "orders" does not exist', code=3, retriable=True)

    assert (error.code, error.retriable) == (3, True)


def test_an_error_in_one_line_is_made_of_whole_sentences() -> None:
    assert DuologError("no disk", detail="It is\n full", hint="Free some…").one_line() == (
        "no disk. It is full. Free some…"
    )
    assert DuologError("no disk").one_line() == "no disk"
