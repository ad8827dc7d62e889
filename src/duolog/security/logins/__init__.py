"""Logins over the users of one server: passwords, tokens, and the limits of failures.

    authenticator.py   the interface for servers on asyncio, and its implementation
    mechanisms.py      credentials and SASL exchanges, over a `SecurityState`
    jwks.py            the keys of an issuer of tokens
    login_limits.py    failed logins of the last seconds

Start reading at `authenticator.py`. Nothing here knows HTTP or Kafka's protocol.
"""
