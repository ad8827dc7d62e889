"""Rules of the registry: which requests it accepts, how it answers, which records it appends.

registry.py               the requests, one method each; start here
requests.py               their bodies
association_requests.py   the bodies of requests about associations
answers.py                the answers and their JSON
decision.py               the result of a write
"""

from duolog.registry.rules.answers import to_json
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.registry import Registry
from duolog.registry.rules.requests import (
    ConfigRequest,
    ModeRequest,
    Page,
    RegisterRequest,
    TagRequest,
)
from duolog.registry.rules.settings import RulesSettings

__all__ = [
    "ConfigRequest",
    "Decision",
    "ModeRequest",
    "Page",
    "RegisterRequest",
    "Registry",
    "RulesSettings",
    "TagRequest",
    "to_json",
]
