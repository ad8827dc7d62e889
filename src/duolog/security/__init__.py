"""Users, credentials and rights, for the broker, the schema registry and other servers.

    identity        who a client is: principals, and the rules that map certificates to them
    tls             encryption: keys, certificates, contexts, transport over a socket
    certificates    a small certificate authority
    clients         how Kafka clients log in: properties, profiles, `Brokers`
    authorization   what a client may do: operations, resources, access control lists

Start reading at `authorization/authorizer.py`. Nothing in this package knows a protocol or a
server: a server asks an `Authorizer` with an `Identity`, and refuses in its own words.
"""
