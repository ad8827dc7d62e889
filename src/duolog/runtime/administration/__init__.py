"""Users, rules and settings of a Kafka cluster, for the command line and the SQL server.

administration.py   all of these for one cluster
wire.py             a connection for requests that librdkafka does not have; start here
sasl_login.py       its login
users.py            credentials of users (SCRAM)
rules.py            access control lists
security_topic.py   the topic `__security`, for what no Kafka API carries
settings.py         settings of brokers and topics
rights.py           hints for a user who lacks a right
"""
