"""Security settings of Kafka clients: one form for librdkafka, the JVM and every command.

    properties file ─┐
    profile          ├─▶ ClientProfile ─▶ Brokers ─▶ librdkafka's settings (here)
    environment      │   addresses,                └▶ the JVM's (`engine.client_secrets`)
    mapping ─────────┘   security, others

Start reading at `client_security.py`.
"""
