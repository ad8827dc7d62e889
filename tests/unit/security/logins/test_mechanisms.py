"""The credentials that exchanges verify: of users, and of users who do not exist."""

from duolog.security.credentials.scram import ScramCredential, ScramMechanism
from duolog.security.logins.mechanisms import Mechanisms
from duolog.security.records.records import DecoyChange, ScramChange
from duolog.security.sasl.decoys import DEFAULT_ITERATIONS
from duolog.security.sasl.exchange import Challenge
from duolog.security.state.security_state import SecurityState

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def mechanisms(state: SecurityState) -> Mechanisms:
    return Mechanisms(state, lambda _: ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), lambda: 0)


def add(state: SecurityState, user: str, mechanism: ScramMechanism, iterations: int) -> None:
    made = ScramCredential(user.encode(), b"k" * 32, b"k" * 32, iterations)
    state.apply(ScramChange(user, mechanism, made))


def shown(of: Mechanisms, user: str, mechanism: str = "SCRAM-SHA-256") -> str:
    """Return salt and iterations, as a stranger sees them."""
    exchange = of.begin(mechanism, "")
    assert exchange is not None
    answer = exchange.step(f"n,,n={user},r=abc".encode())
    assert isinstance(answer, Challenge)
    return answer.data.decode().partition(",")[2]


def test_an_unknown_user_looks_the_same_at_every_attempt_and_after_a_restart() -> None:
    state = SecurityState()
    state.apply(DecoyChange(b"d" * 32))

    before, after = mechanisms(state), mechanisms(state)

    assert shown(before, "eve") == shown(before, "eve") == shown(after, "eve")
    assert shown(before, "eve") != shown(before, "eva")


def test_before_there_is_a_secret_each_process_has_its_own() -> None:
    state = SecurityState()
    one, other = mechanisms(state), mechanisms(state)

    assert shown(one, "eve") == shown(one, "eve")
    assert shown(one, "eve") != shown(other, "eve")


def test_unknown_users_follow_the_users_that_there_are() -> None:
    state = SecurityState()
    made = mechanisms(state)
    assert shown(made, "eve").endswith(f"i={DEFAULT_ITERATIONS}")
    assert made.stored("eve").mechanism is SHA_512

    add(state, "alice", SHA_256, 4096)
    assert shown(made, "eve").endswith("i=4096")
    assert made.stored("eve").mechanism is SHA_256
    assert made.stored("eve").credential.iterations == 4096
    assert not made.stored("eve").known

    for user in ("bob", "carol"):
        add(state, user, SHA_512, 16384)
    assert made.stored("eve").mechanism is SHA_512
    assert made.stored("eve").credential.iterations == 16384


def test_a_password_is_verified_by_the_stronger_credential() -> None:
    state = SecurityState()
    add(state, "alice", SHA_256, 4096)
    add(state, "alice", SHA_512, 8192)

    stored = mechanisms(state).stored("alice")

    assert (stored.mechanism, stored.known, stored.credential.iterations) == (SHA_512, True, 8192)


def test_nonces_are_long_and_never_repeat() -> None:
    made = mechanisms(SecurityState())
    nonces = set()
    for _ in range(100):
        exchange = made.begin("SCRAM-SHA-256", "")
        assert exchange is not None
        answer = exchange.step(b"n,,n=eve,r=abc")
        assert isinstance(answer, Challenge)
        nonces.add(answer.data.partition(b",")[0])

    assert len(nonces) == 100
    assert min(map(len, nonces)) >= len(b"r=abc") + 32
