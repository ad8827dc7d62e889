"""Enforce quotas: rates and limits of clients, and how long a client above its limit waits.

Start reading at `enforcement`, which handlers ask, then `charge`. `rate` and `token_bucket` are the
arithmetic, without I/O and clock.
"""
