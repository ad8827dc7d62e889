"""A chess game: moves are a stream, the board is a table.

A move is a permanent event. It changes up to three rows of the board:

    move        Nc3xb5        one record in the stream
    board       c3: deleted   the knight leaves its square
                b5: deleted   the captured piece is removed
                b5: N         the knight arrives
"""

from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from duolog import Application, Topology, array, col, concat
from duolog.testing import Client, EmbeddedCluster, TopologyDriver

# Morphy against two allies, Paris 1858. White is in capitals; each word is a move, castling has two
# steps.
GAME = """
    Pe2e4 pe7e5  Ng1f3 pd7d6  Pd2d4 bc8g4  Pd4e5 bg4f3  Qd1f3 pd6e5  Bf1c4 ng8f6
    Qf3b3 qd8e7  Nb1c3 pc7c6  Bc1g5 pb7b5  Nc3b5 pc6b5  Bc4b5 nb8d7  Ke1c1+Ra1d1 ra8d8
    Rd1d7 rd8d7  Rh1d1 qe7e6  Bb5d7 nf6d7  Qb3b8 nd7b8  Rd1d8
"""
FILES = "abcdefgh"
BEGIN_MS = 1_000_000_000_000
HALF_MOVE_MS = 60_000
EMPTY = "."

Step = tuple[int, str, str, str]
"""Number of the half-move (0 for the initial position), piece, from, to."""
Change = tuple[int, str, str | None]
"""Number of the half-move, square, piece on it."""
Board = dict[str, str]


def topology() -> Topology:
    """Read moves, write the piece on each square."""
    topology = Topology("chess")
    moves = topology.stream(
        "moves", key="game STRING", value="piece STRING, start STRING, goal STRING"
    )
    effects = array(
        concat(col("start"), EMPTY),
        concat(col("goal"), EMPTY),
        concat(col("goal"), col("piece")),
    )
    squares = (
        moves.explode(effect=effects)
        .map(key=col("effect").substring(1, 2).alias("square"), piece=col("effect").substring(3))
        .to_table("squares")
    )
    # A row that no longer passes is deleted; for one that never passed, nothing is emitted.
    squares.filter(col("piece") != EMPTY).to("board")
    return topology


def steps() -> list[Step]:
    """Return the whole game, starting with the initial position."""
    men = "RNBQKBNR"
    rows = {"1": men, "2": "P" * 8, "7": "p" * 8, "8": men.lower()}
    found = [
        (0, man, "--", file + row)
        for row, row_of_men in rows.items()
        for file, man in zip(FILES, row_of_men, strict=True)
    ]
    for number, move in enumerate(GAME.split(), 1):
        found += [(number, step[0], step[1:3], step[3:5]) for step in move.split("+")]
    return found


def play(client: Client) -> None:
    for number, piece, start, goal in steps():
        value = f'{{"piece": "{piece}", "start": "{start}", "goal": "{goal}"}}'
        client.produce("moves", "paris", value, timestamp_ms=BEGIN_MS + number * HALF_MOVE_MS)


def number_of(timestamp_ms: int) -> int:
    return (timestamp_ms - BEGIN_MS) // HALF_MOVE_MS


def board_at(changes: list[Change], number: int) -> Board:
    """Return the board after a half-move: the last change of each square up to it."""
    last = {square: piece for at, square, piece in changes if at <= number}
    return {square: piece for square, piece in last.items() if piece is not None}


def show(boards: dict[str, Board]) -> None:
    """Print boards next to each other."""
    print("".join(f"{title:22}" for title in boards).rstrip())
    for row in "87654321":
        print(
            "".join(
                f"{row} {' '.join(board.get(file + row, EMPTY) for file in FILES):20}"
                for board in boards.values()
            ).rstrip()
        )
    print("".join(f"  {' '.join(FILES):20}" for _ in boards).rstrip())


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("moves")
        play(client)
        application = Application(
            topology(),
            bootstrap_servers=cluster.bootstrap_servers,
            data_dir=Path(directory),
            mode="micro-batch",
        )
        with application:
            assert application.start().wait_until_caught_up(240)
        moves, written = client.read("moves"), client.read("board")

    changes = [
        (
            number_of(record.timestamp_ms),
            record.key_text or "",
            None if record.value_text is None else record.value_text[len('{"piece":"')],
        )
        for record in written
    ]
    last = number_of(moves[-1].timestamp_ms)
    print(
        f"{len(moves)} records in the stream: 32 for the initial position, "
        f"then {last} half-moves.\n"
    )
    show({f"after half-move {n}": board_at(changes, n) for n in (0, 19, last)})

    print("\nChanges of the table by some moves:")
    for number, of_move in groupby(changes, key=lambda change: change[0]):
        if number in {1, 19, 23}:
            told = ", ".join(f"{square}: {piece or 'deleted'}" for _, square, piece in of_move)
            print(f"  half-move {number:2}  {GAME.split()[number - 1]:12} {told}")

    # Replay the stored moves from the beginning with the same topology in a test driver.
    driver = TopologyDriver(topology())
    board: Board = {}
    for number, records in groupby(moves, key=lambda record: number_of(record.timestamp_ms)):
        for record in records:
            driver.pipe_bytes("moves", record.key, record.value, record.timestamp_ms)
        for change in driver.output_topic("board").read_records():
            board[change.key] = change.value and change.value["piece"]
        present = {square: piece for square, piece in board.items() if piece is not None}
        assert present == board_at(changes, number), number
    captures = sum(1 for _, square, piece in changes if piece is None) - (last + 1)
    print(f"\nReplayed to each of the {last} half-moves: the boards are the same.")
    print(f"{captures} captures, {len(present)} pieces are left.")
    assert (captures, len(present)) == (12, 20)
    print("\nNote: the board does not show how it was reached. From the moves, the board after any")
    print("move can be computed again. The changes of the board are a stream, too.")


if __name__ == "__main__":
    main()
