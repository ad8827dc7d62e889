"""Rules that map subjects of certificates to users, with Kafka's own cases and random ones."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.core.errors import ConfigError
from duolog.security.identity.mapping_rules import MappingRules

_KAFKAS = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, "
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, "
    "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U, "
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U, DEFAULT"
)


@pytest.mark.parametrize(
    ("subject", "user"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
        ("cN=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE"),
        ("OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
    ],
)
def test_the_first_rule_that_matches_applies(subject: str, user: str) -> None:
    """Source: Kafka's SslPrincipalMapperTest."""
    assert MappingRules(_KAFKAS).user(subject) == user


def test_a_subject_that_no_rule_fits_belongs_to_nobody() -> None:
    assert MappingRules("RULE:^CN=(.*)$/$1/").user("OU=a") is None


@pytest.mark.parametrize("text", ["DEFAULT", " DEFAULT , "])
def test_by_default_the_user_is_the_subject(text: str) -> None:
    assert MappingRules(text).user("CN=Alice") == "CN=Alice"


@pytest.mark.parametrize("text", ["", " ", ","])
def test_without_rules_nobody_is_a_user(text: str) -> None:
    assert MappingRules(text).user("CN=Alice") is None


@pytest.mark.parametrize(
    ("rule", "subject", "user"),
    [
        (r"RULE:^CN=(\w+)\/(\w+)$/$2-$1/", "CN=a/b", "b-a"),
        (r"RULE:^CN=(.*)$/\$1/", "CN=a", "$1"),
        ("RULE:^CN=(.*)$/$2/", "CN=a", "$2"),
        ("RULE:^CN=(a)?(b)$/$1$2/", "CN=b", "b"),
        ("RULE:^CN=(.*)$//", "CN=a", ""),
        ("RULE:(CN)=.*|x/$1/", "CN=a", "CN"),
    ],
)
def test_replacements_are_those_of_java(rule: str, subject: str, user: str) -> None:
    assert MappingRules(rule).user(subject) == user


@pytest.mark.parametrize(
    "text",
    [
        "deny",
        "default",
        "RULE:^CN=(.*)$/$1",
        "RULE:^CN=(.*)$",
        "RULE:^CN=(.*)$/$1/X",
        "RULE:^CN=(.*$/$1/",
        "RULE:(?=x)/y/",
        "RULE:^CN=(.*)$/$x/",
        "RULE:^CN=.*$/$1/",
        "DEFAULT/L",
    ],
)
def test_malformed_rules_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        MappingRules(text)


def test_a_pattern_that_takes_others_forever_is_fast() -> None:
    """RE2 has no backtracking: (a+)+$ over many a and a b is exponential elsewhere."""
    assert MappingRules("RULE:^CN=(a+)+$/x/").user("CN=" + "a" * 5000 + "b") is None


_TEXT = st.text(alphabet="abCN=,$ ", max_size=12)


@given(prefix=_TEXT, group=st.sampled_from(["a+", "[ab]*", "b?", "a?b*"]), rest=_TEXT)
def test_replacing_finds_what_pythons_expressions_find(prefix: str, group: str, rest: str) -> None:
    """If a pattern matches the whole subject, `sub` gives Java's result."""
    pattern = re.escape(prefix) + f"({group})" + re.escape(rest)
    rule = f"RULE:{pattern}/<$1>/"
    for middle in ("", "a", "aab", "b"):
        subject = prefix + middle + rest
        expected = None
        if re.fullmatch(pattern, subject):
            expected = re.sub(pattern, r"<\1>", subject)
        assert MappingRules(rule).user(subject) == expected
