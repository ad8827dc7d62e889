"""The login of a server that a broker runs itself: a line of standard input."""

import os
import sys

import click

from duolog.cli.kafka.cluster import Cluster
from duolog.security.logins.inner import InnerLogin, inner_properties


def read_login(
    _context: click.Context,
    _param: click.Parameter,
    given: bool,  # noqa: FBT001 - click's callback
) -> InnerLogin | None:
    """Read the password of a broker's own server, before its standard input is watched."""
    if not given:
        return None
    line = bytearray()
    while (byte := os.read(sys.stdin.fileno(), 1)) not in {b"", b"\n"}:
        line += byte
    return InnerLogin(line.decode())


login_option = click.option(
    "--login-from-stdin", "inner", is_flag=True, hidden=True, is_eager=True, callback=read_login
)
"""Adds the login to a command; give it before `--stop-with-stdin`, which reads the rest."""


def logged_in(cluster: Cluster, inner: InnerLogin | None) -> Cluster:
    """Return the cluster, with the login of the broker that runs this server, if one does.

    Raises:
        DuologError: the broker refuses the login.
    """
    from duolog.runtime.broker_login import ensure_login  # noqa: PLC0415 - keeps `--help` fast
    from duolog.security.clients.profiles import client_profile  # noqa: PLC0415 - as above

    if inner is not None:
        profile = client_profile(inner_properties(inner))
        cluster = Cluster.of(profile.brokers(cluster.bootstrap_servers))
    ensure_login(cluster.brokers)
    return cluster
