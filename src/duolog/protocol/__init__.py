"""Kafka's wire protocol: decode requests and encode responses, without I/O.

`frames` and `headers` handle the parts common to all requests. Produce, Fetch, ApiVersions and
Metadata have hand-written codecs, because they are hot or needed at startup. All other APIs use
`messages`, a bridge to the library kio that loads the schema of an API version at its first use.
Imports only `record` and `core`. Start with `headers`.
"""
