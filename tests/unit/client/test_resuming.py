"""When a subscription continues, waits, or gives up."""

import pytest

from duolog.client.errors import OperationalError
from duolog.client.requests import TOKEN, TOKENS, Token
from duolog.client.rows import Row
from duolog.client.subscription import FIRST_PAUSE_S, LONGEST_PAUSE_S, Resuming

ROW = Row.of(("A",), (1,))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def resuming(
    clock: Clock | None = None, token: str | None = None, start: str = "earliest"
) -> Resuming:
    return Resuming(
        "SELECT * FROM s WHERE a = ? EMIT CHANGES",
        [1],
        {"auto.offset.reset": start},
        variables={},
        token=token,
        give_up_s=60.0,
        clock=clock or Clock(),
    )


def lost(code: int = 0) -> OperationalError:
    return OperationalError("no answer", code=code)


def test_a_request_has_the_parameters_and_asks_for_tokens() -> None:
    request = resuming().request()

    assert request.body["sql"] == "SELECT * FROM s WHERE a = 1 EMIT CHANGES;"
    properties = request.body["properties"]
    assert isinstance(properties, dict)
    assert properties[TOKENS] == "true"
    assert TOKEN not in properties


def test_the_next_request_has_the_last_token() -> None:
    one = resuming()
    assert one.came(ROW) is ROW
    assert one.came(Token("first")) is None
    one.came(Token("second"))

    one.pause_after(lost())

    properties = one.request().body["properties"]
    assert isinstance(properties, dict)
    assert properties[TOKEN] == "second"


def test_rows_without_a_token_cannot_be_continued() -> None:
    one = resuming()
    one.pause_after(lost())
    one.came(ROW)

    with pytest.raises(OperationalError) as raised:
        one.pause_after(lost())

    assert "cannot be continued" in raised.value.hint


def test_a_given_token_continues_an_earlier_subscription() -> None:
    one = resuming(token="kept")  # noqa: S106 - a position
    one.came(ROW)

    one.pause_after(lost())

    properties = one.request().body["properties"]
    assert isinstance(properties, dict)
    assert properties[TOKEN] == "kept"


def test_pauses_grow_and_begin_again_after_a_row() -> None:
    one = resuming(token="t")  # noqa: S106 - as above
    pauses = [one.pause_after(lost()) for _ in range(40)]
    one.came(ROW)
    again = one.pause_after(lost())

    assert all(FIRST_PAUSE_S / 2 <= pause <= LONGEST_PAUSE_S for pause in pauses)
    assert max(pauses) > LONGEST_PAUSE_S / 2
    assert again <= FIRST_PAUSE_S


def test_it_gives_up_after_its_time_without_a_connection() -> None:
    clock = Clock()
    one = resuming(clock)
    one.pause_after(lost())
    clock.now = 59.0
    one.pause_after(lost())
    clock.now = 61.0

    with pytest.raises(OperationalError):
        one.pause_after(lost())


@pytest.mark.parametrize("code", [40100, 40300])
def test_a_refused_login_is_not_tried_again(code: int) -> None:
    with pytest.raises(OperationalError):
        resuming().pause_after(lost(code))


def test_a_quiet_query_whose_connections_are_lost_again_and_again_goes_on() -> None:
    clock = Clock()
    one = resuming(clock, token="t")  # noqa: S106 - as above
    for _ in range(20):
        one.opened()
        clock.now += 60.0

        assert one.pause_after(lost()) <= FIRST_PAUSE_S


def test_pauses_grow_if_each_connection_is_lost_at_once() -> None:
    clock = Clock()
    one = resuming(clock, token="t")  # noqa: S106 - as above
    pauses = []
    for _ in range(10):
        one.opened()
        pauses.append(one.pause_after(lost()))

    assert pauses[-1] > FIRST_PAUSE_S


def test_a_query_without_tokens_that_starts_at_the_end_cannot_start_again() -> None:
    """Rows that came since would be missing."""
    one = resuming(start="latest")
    one.pause_after(lost())
    one.opened()

    with pytest.raises(OperationalError) as raised:
        one.pause_after(lost())

    assert "cannot be continued" in raised.value.hint


def test_a_query_without_rows_that_starts_at_the_first_record_starts_again() -> None:
    one = resuming(start="earliest")
    one.opened()

    one.pause_after(lost())

    assert one.request() == resuming(start="earliest").request()


@pytest.mark.parametrize("query", ["SELECT a FROM s EMIT CHANGES LIMIT 3", "select … limit 3 ; "])
def test_a_limit_counts_the_rows_of_all_connections(query: str) -> None:
    """The server counts from the token on; rows after the token come again."""
    one = Resuming(query, (), {}, variables={})
    one.came(ROW)
    one.came(Token("after one"))
    one.came(ROW)
    assert not one.is_complete

    one.pause_after(lost())
    one.came(ROW)
    assert not one.is_complete
    one.came(ROW)

    assert one.is_complete


def test_a_query_without_a_limit_is_never_complete() -> None:
    one = Resuming("SELECT a AS limit3 FROM s EMIT CHANGES", (), {}, variables={})
    for _ in range(10):
        one.came(ROW)

    assert not one.is_complete
