from pathlib import Path

import pytest
from click.testing import CliRunner

from duolog.cli.applications.topology_file import load_topology
from duolog.cli.commands.run import run
from duolog.core.errors import StatementError
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.errors import JavaMissing
from unit.engine.lowering.shapes import shape_of_topology

BODY = """
from duolog import Topology

def make() -> Topology:
    topology = Topology("totals")
    topology.stream("sales", key="product STRING", value="amount BIGINT").to("copy")
    return topology
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "app.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize("definition", ["topology = make()", "topology = make"])
def test_a_file_defines_a_topology_or_a_function_that_returns_one(
    tmp_path: Path, definition: str
) -> None:
    topology = load_topology(written(tmp_path, f"{BODY}\n{definition}\n"))

    assert topology.name == "totals"


def test_a_module_next_to_the_file_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "beside_the_app.py").write_text(BODY)
    path = written(tmp_path, "from beside_the_app import make\ntopology = make()\n")

    assert load_topology(path).name == "totals"


@pytest.mark.parametrize("text", ["", "topology = 42", "def topology():\n    return None\n"])
def test_a_file_without_a_topology_is_refused_with_what_to_write(tmp_path: Path, text: str) -> None:
    with pytest.raises(StatementError, match="defines no topology") as caught:
        load_topology(written(tmp_path, text))

    assert 'topology = Topology("name")' in caught.value.hint


def test_a_topology_with_another_name_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="defines no topology") as caught:
        load_topology(written(tmp_path, f"{BODY}\nshop = make()\n"))

    assert caught.value.detail == "It defines a topology named `shop`; the name must be `topology`."


def test_a_pandas_method_name_suggests_the_nearest_one(tmp_path: Path) -> None:
    text = (
        'from duolog import Topology\nTopology("a").stream("a", key=str, value=str).groupby("key")'
    )

    with pytest.raises(StatementError, match='a stream has no "groupby"') as caught:
        load_topology(written(tmp_path, text))

    assert caught.value.hint == "Write group_by(...)."
    assert caught.value.place.endswith("app.py:2")


def test_a_file_that_is_not_python_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.txt"
    path.write_text("")

    with pytest.raises(StatementError, match="is not a Python file"):
        load_topology(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef broken(:", "line 2 cannot be run: SyntaxError"),
        ("x = 1\nraise ValueError('boom')", "line 2 cannot be run: ValueError: boom"),
        ("import no_such_module", "line 1 cannot be run: ModuleNotFoundError"),
        ("def topology():\n    return 1 / 0", "line 2 cannot be run: ZeroDivisionError"),
    ],
)
def test_a_file_that_raises_is_refused_with_its_line_and_without_our_frames(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(StatementError, match=message):
        load_topology(written(tmp_path, text))


def test_an_error_in_the_topology_is_reported_unchanged(tmp_path: Path) -> None:
    text = BODY.replace('.to("copy")', '.filter(col("amuont") > 1)').replace(
        "import Topology", "import Topology, col"
    )

    with pytest.raises(StatementError, match='unknown column "amuont"') as caught:
        load_topology(written(tmp_path, f"{text}\ntopology = make\n"))

    assert 'Did you mean "amount"?' in caught.value.hint


def test_explain_needs_neither_a_broker_nor_a_directory(tmp_path: Path) -> None:
    path = written(tmp_path, f"{BODY}\ntopology = make()\n")
    data = tmp_path / "data"

    reported = CliRunner().invoke(
        run, [str(path), "--explain", "-b", "127.0.0.1:1", "--data", str(data)]
    )

    assert reported.exit_code == 0, reported.output
    assert "No broker answers at 127.0.0.1:1" in reported.output
    assert "stream of topic sales" in reported.output
    assert not data.exists()


def test_a_machine_without_java_is_reported_before_a_broker_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    path, data = written(tmp_path, f"{BODY}\ntopology = make()\n"), tmp_path / "data"

    refused = CliRunner().invoke(run, [str(path), "--listen", "127.0.0.1:0", "--data", str(data)])

    assert isinstance(refused.exception, JavaMissing)
    assert not data.exists()


BEFORE = """
from duolog import Topology, col, count, sum_

topology = Topology("totals")
orders = topology.stream("orders", key="customer STRING", value="item STRING, amount BIGINT")
orders.group_by_key().aggregate(total=sum_("amount")).to("totals")
orders.group_by("item").count("n").to("items")
"""


def test_explain_upgrade_names_the_directory_without_a_checkpoint(tmp_path: Path) -> None:
    path, data = written(tmp_path, BEFORE), tmp_path / "data"

    reported = CliRunner().invoke(
        run, [str(path), "--explain-upgrade", "-b", "127.0.0.1:1", "--data", str(data)]
    )

    assert reported.output == (
        'application "totals": nothing to upgrade, it has no checkpoint yet at '
        f"{data}/checkpoints/totals.\n"
    )


def test_explain_upgrade_describes_each_store_and_changes_nothing(
    tmp_path: Path,
) -> None:
    path, data = written(tmp_path, BEFORE), tmp_path / "data"
    pin = data / "checkpoints" / "totals"
    shape = shape_of_topology(load_topology(path), 1)
    Checkpoint(pin).pin("totals", StartFacts(shape, {}, {}))
    pinned = (pin / "application.json").read_bytes()
    given = [str(path), "--explain-upgrade", "-b", "127.0.0.1:1", "--data", str(data)]

    assert CliRunner().invoke(run, given).output == (
        'application "totals": nothing to upgrade, its checkpoint fits.\n'
    )
    written(
        tmp_path, BEFORE.replace("orders.group_by(", 'orders.filter(col("amount") > 1).group_by(')
    )
    moved = CliRunner().invoke(run, given)
    written(tmp_path, BEFORE.replace('total=sum_("amount")', 'total=sum_("amount"), n=count()'))
    changed = CliRunner().invoke(run, given)

    assert moved.exit_code == 0, moved.output
    assert 'keeps its state  It was "' in moved.output
    assert changed.exit_code == 6, changed.output
    assert "gained n" in changed.output
    assert "keep      is refused: it cannot keep" in changed.output
    assert (pin / "application.json").read_bytes() == pinned
    assert [path.name for path in pin.iterdir()] == ["application.json"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "kafka-acls.sh --bootstrap-server HOST:PORT --add --allow-principal User:x"),
        (("--acl-tool", "duolog"), "duolog acls add --allow User:x"),
    ],
)
def test_rights_are_printed_as_commands_of_the_chosen_tool(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    path = written(tmp_path, f"{BODY}\ntopology = make()\n")

    printed = CliRunner().invoke(run, [str(path), "--print-acls", "User:x", *options])

    assert printed.exit_code == 0, printed.output
    assert all(line.startswith(words) for line in printed.output.splitlines())
    assert "--topic sales" in printed.output
