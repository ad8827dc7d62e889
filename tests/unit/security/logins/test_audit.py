"""The lines of the audit log about changes: each kind, set and removed, without secrets."""

import json
import logging

import pytest

from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.credentials.scram import ScramCredential, ScramMechanism
from duolog.security.credentials.tokens import Token
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.security.logins.audit import Audit
from duolog.security.records.records import (
    AclChange,
    BootstrapChange,
    Change,
    DecoyChange,
    RoleMemberChange,
    ScramChange,
    TokenChange,
)
from duolog.testing.clock import FakeClock

ALICE, WRITERS = Principal(USER, "alice"), Principal("Role", "writers")
KEYS = ScramCredential(b"salt-of-hers", b"stored-of-hers", b"server-of-hers", 4096)
TOKEN = Token("ab" * 32, ALICE, 0, None)
RULE = Acl(
    ResourceType.TOPIC, PatternType.LITERAL, "orders", ALICE, "*", Operation.READ, Permission.ALLOW
)
CLIENT = Identity(Principal(USER, "root"), "10.0.0.1")
SHA_256 = ScramMechanism.SCRAM_SHA_256


@pytest.mark.parametrize(
    ("change", "what", "named"),
    [
        (ScramChange("alice", SHA_256, KEYS), "set", ("SCRAM-SHA-256", "alice")),
        (ScramChange("alice", SHA_256, None), "removed", ("SCRAM-SHA-256", "alice")),
        (AclChange(RULE, present=True), "set", ("ALLOW", "READ", "User:alice", "orders")),
        (AclChange(RULE, present=False), "removed", ("ALLOW", "READ", "User:alice", "orders")),
        (RoleMemberChange(WRITERS, ALICE, present=True), "set", ("Role:writers", "User:alice")),
        (RoleMemberChange(WRITERS, ALICE, present=False), "removed", ("Role:writers", "alice")),
        (TokenChange(TOKEN.token_id, TOKEN), "set", (TOKEN.token_id, "User:alice")),
        (TokenChange(TOKEN.token_id, None), "removed", (TOKEN.token_id,)),
        (BootstrapChange("root"), "set", ("root",)),
    ],
)
def test_a_change_is_one_line(
    change: Change, what: str, named: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="duolog.audit")

    Audit(FakeClock()).changed(CLIENT, [change, DecoyChange(b"secret-of-decoys")])

    (line,) = [json.loads(message) for message in caplog.messages]
    assert (line["event"], line["change"], line["principal"]) == ("changed", what, "User:root")
    assert [name for name in named if name not in line["object"]] == []
    assert "of-hers" not in caplog.text
    assert "of-decoys" not in caplog.text
    assert TOKEN.digest not in caplog.text
