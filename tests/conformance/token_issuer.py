"""An issuer of JSON Web Tokens in a directory, whose public keys a broker reads from a file."""

import json
import time
from pathlib import Path
from typing import Final

from joserfc import jws
from joserfc.jwk import ECKey

_ISSUER: Final = "https://issuer.example"
_AUDIENCE: Final = "kafka"
_KEY_ID: Final = "of-tests"
_SECONDS: Final = 600


class TokenIssuer:
    """Signs with the key in `directory`, which is created if there is none."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        private, self._public = directory / "issuer.json", directory / "jwks.json"
        if not private.exists():
            key = ECKey.generate_key("P-256", {"kid": _KEY_ID})
            private.write_text(json.dumps(key.as_dict(private=True)))
            self._public.write_text(json.dumps({"keys": [key.as_dict(private=False)]}))
        self._key = ECKey.import_key(json.loads(private.read_text()))

    def settings(self) -> dict[str, str]:
        """Return the settings of a broker that accepts the tokens."""
        return {
            "sasl.oauthbearer.jwks.endpoint.url": str(self._public),
            "sasl.oauthbearer.expected.issuer": _ISSUER,
            "sasl.oauthbearer.expected.audience": _AUDIENCE,
        }

    def token(self, user: str) -> tuple[str, float]:
        """Return a token for a user, and the time at which it expires."""
        now = int(time.time())
        claims = {"sub": user, "iss": _ISSUER, "aud": _AUDIENCE, "iat": now, "exp": now + _SECONDS}
        header = {"alg": "ES256", "kid": _KEY_ID}
        signed = jws.serialize_compact(header, json.dumps(claims).encode(), self._key)
        return signed, float(now + _SECONDS)
