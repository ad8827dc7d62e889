"""The SQL server: ksqlDB's REST interface over one Kafka cluster.

    http/         connections, the table of routes, the gate that every request passes
    access/       users and rights: of the cluster, or none
    operations/   what each endpoint does, without sockets
    ksql/         ksqlDB's protocol: bodies of requests to statements, results to entities
    queries/      running queries, and their rows in the forms that clients ask for
    process.py    the server as a process: opens, reports that it is ready, stops in order

Start reading at `http/routes.py`. To add an endpoint, write an operation and add a row there.
"""
