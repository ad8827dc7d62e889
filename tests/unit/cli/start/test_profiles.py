"""Profiles of `duolog start`: settings, certificates, the administrator."""

import stat
from pathlib import Path

import pytest

from duolog.cli.start.layout import Layout
from duolog.cli.start.profiles import dev, ensure_loopback, team
from duolog.core.errors import ConfigError
from duolog.security.certificates.authority import Authority

FILES = {"admin.password", "admin.properties", "broker", "certificates", "server"}


def test_dev_has_no_logins() -> None:
    profile = dev("127.0.0.1:9092")

    assert profile.listen == "PLAINTEXT://127.0.0.1:9092"
    assert profile.administrator is None
    assert profile.settings == {}


@pytest.mark.parametrize("option", ["listen", "broker-listen", "registry-listen"])
def test_dev_refuses_addresses_that_others_can_reach(option: str) -> None:
    good = {"listen": "127.0.0.1:0", "broker-listen": "[::1]:0", "registry-listen": "localhost:0"}
    reached = {**good, option: "0.0.0.0:8088"}
    ensure_loopback(good, {})
    ensure_loopback(reached, {"allow.insecure.listen": "true"})

    with pytest.raises(ConfigError, match=r'"0\.0\.0\.0:8088" is beyond loopback') as refused:
        ensure_loopback(reached, {})

    assert refused.value.name == option
    assert "--profile team" in refused.value.hint
    assert "--set allow.insecure.listen=true" in refused.value.hint


def test_team_makes_certificates_and_an_administrator_once(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "new" / "data")

    first = team(layout, "0.0.0.0:9093", ("duolog.example",))
    written = {path: path.read_bytes() for path in layout.root.rglob("*") if path.is_file()}
    again = team(layout, "0.0.0.0:9093", ("duolog.example",))

    assert again == first
    assert {path: path.read_bytes() for path in layout.root.rglob("*") if path.is_file()} == written
    assert {path.name for path in layout.root.iterdir()} == FILES
    assert first.listen == "SASL_SSL://0.0.0.0:9093"
    assert first.advertise == ("SASL_SSL://duolog.example:9093",)
    assert first.administrator is not None
    assert len(first.administrator.password) == 32
    assert first.settings["authorizer.class.name"] == "acl"
    assert "bootstrap.servers=duolog.example:9093\n" in layout.login.read_text()
    assert f"sasl.password={first.administrator.password}\n" in layout.login.read_text()


@pytest.mark.parametrize("host", ["2001:db8::7", "[2001:db8::7]"])
def test_a_host_may_be_an_address_of_ipv6(tmp_path: Path, host: str) -> None:
    layout = Layout(tmp_path / "data")

    profile = team(layout, "[::]:9093", (host,))

    assert profile.advertise == ("SASL_SSL://[2001:db8::7]:9093",)
    assert "bootstrap.servers=[2001:db8::7]:9093\n" in layout.login.read_text()


def test_a_free_port_is_not_written_down(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data")

    team(layout, "127.0.0.1:0", ())

    assert "bootstrap.servers" not in layout.login.read_text()
    assert "sasl.username=admin\n" in layout.login.read_text()


def test_a_name_that_is_added_later_is_not_in_the_certificate(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data")
    team(layout, "127.0.0.1:9093", ("duolog.example",))

    with pytest.raises(ConfigError, match=r'does not name "other\.example"') as raised:
        team(layout, "127.0.0.1:9093", ("duolog.example", "other.example"))

    assert str(layout.certificates) in raised.value.hint
    team(layout, "127.0.0.1:9093", ("DUOLOG.example",))


def test_a_start_that_ends_while_it_makes_certificates_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path / "data")

    def end(_authority: Authority, _name: str, *, days: int) -> Path:
        raise KeyboardInterrupt(days)

    with monkeypatch.context() as patch:
        patch.setattr(Authority, "add_client", end)
        with pytest.raises(KeyboardInterrupt):
            team(layout, "127.0.0.1:9093", ())

    team(layout, "127.0.0.1:9093", ())

    assert {path.name for path in layout.root.iterdir()} == FILES
    assert (layout.certificates / "admin.pem").exists()


def test_certificates_do_not_replace_those_of_the_user(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data")
    layout.certificates.mkdir(parents=True)
    (layout.certificates / "ca.pem").write_text("mine")

    with pytest.raises(ConfigError, match="cannot write certificates") as raised:
        team(layout, "127.0.0.1:9093", ())

    assert "server.pem" in raised.value.hint
    assert (layout.certificates / "ca.pem").read_text() == "mine"


def test_only_the_owner_reads_what_team_writes(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data")

    team(layout, "127.0.0.1:9093", ())

    for path in (layout.password, layout.login, layout.certificates / "server.pem"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    for path in (layout.root, layout.broker, layout.server, layout.certificates):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path


def test_the_password_of_the_environment_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "given"
    file.write_text("long enough\n")
    monkeypatch.setenv("DUOLOG_ADMIN_PASSWORD_FILE", str(file))
    monkeypatch.setenv("DUOLOG_ADMIN_USER", "ann")
    layout = Layout(tmp_path / "data")

    profile = team(layout, "127.0.0.1:9093", ())

    assert profile.administrator == ("ann", "long enough")
    assert not layout.password.exists()
    assert "sasl.username=ann\n" in layout.login.read_text()


def test_a_file_in_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")

    with pytest.raises(ConfigError, match="cannot be created") as raised:
        Layout(tmp_path / "data").create()

    assert "--data" in raised.value.hint
    assert (tmp_path / "data").read_text() == "mine"
