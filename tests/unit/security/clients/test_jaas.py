"""`sasl.jaas.config`: the login modules of passwords and tokens, and no other."""

import pytest

from duolog.core.errors import ConfigError
from duolog.security.clients.jaas import parse_jaas

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ('username="ann" password="p";', {"username": "ann", "password": "p"}),
        ("username=ann password='p w';", {"username": "ann", "password": "p w"}),
        (r'username="a\"b" password="c\\d";', {"username": 'a"b', "password": r"c\d"}),
        ('username = "ann"\n  password = "p;=" ;', {"username": "ann", "password": "p;="}),
        ("password=p$%&@;", {"password": "p$%&@"}),
    ],
)
def test_options_are_read_as_java_reads_them(options: str, wanted: dict[str, str]) -> None:
    entry = parse_jaas(f"{SCRAM} required {options}")

    assert (entry.module, entry.options) == ("ScramLoginModule", wanted)


@pytest.mark.parametrize(
    "text",
    [
        'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://x";',
        'com.sun.security.auth.module.LdapLoginModule required userProvider="ldap://x";',
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;",
        f'{SCRAM}Evil required username="a";',
        f"{SCRAM} required username=a; {SCRAM} required username=b;",
        f"{SCRAM} required username=a",
        f'{SCRAM} required password="open;',
        f"{SCRAM} maybe username=a;",
        f"{SCRAM} required username;",
        "",
    ],
)
def test_other_modules_and_forms_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config"):
        parse_jaas(text)


def test_no_error_and_no_representation_repeats_a_password() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_jaas(f'{SCRAM} required password="planted" x;')

    assert "planted" not in caught.value.render()
    assert "planted" not in repr(parse_jaas(f'{SCRAM} required password="planted";'))
