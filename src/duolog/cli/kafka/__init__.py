"""Access to a Kafka cluster for the commands: clients, topics, groups and name completion."""
