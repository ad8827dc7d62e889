# Broker, schema registry and SQL server in a container, with TLS and logins. It is the image of
# deploy/Dockerfile with another command. Build both from the root of the project, after scripts/build:
#
#   docker build -f deploy/Dockerfile -t duolog .
#   docker build -f deploy/start.Dockerfile -t duolog-start deploy
#   docker run --init --name duolog --stop-timeout 120 -v duolog-data:/var/lib/duolog \
#     -p 127.0.0.1:8088:8088 -p 127.0.0.1:9092:9092 -p 127.0.0.1:8081:8081 duolog-start
#
# The first start makes certificates and an administrator, see docs/guide/server.md. Copy the login:
#
#   docker cp duolog:/var/lib/duolog/certificates/ca.pem .
#   docker cp duolog:/var/lib/duolog/admin.password .
#
# --init gives the container a process that reaps JVMs whose server was killed.

FROM duolog

# 8088: SQL over HTTPS. 9092: Kafka clients. 8081: schema registry over HTTPS.
EXPOSE 8088 9092 8081
STOPSIGNAL SIGTERM

# Any HTTP status other than 2xx raises. The certificate is the one of the first start. A SQL server
# is ready if its broker answers.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import ssl; from urllib.request import HTTPSHandler, ProxyHandler, build_opener; build_opener(ProxyHandler({}), HTTPSHandler(context=ssl.create_default_context(cafile='/var/lib/duolog/certificates/ca.pem'))).open('https://127.0.0.1:8088/chc/ready', timeout=5)"]

# Other machines need the name under which they reach this one: --host duolog.example, before the
# first start. Clients of Kafka connect to the first --host.
CMD ["start", "--data", "/var/lib/duolog", "--profile", "team", "--host", "localhost", \
     "--listen", "0.0.0.0:8088", "--broker-listen", "0.0.0.0:9092", \
     "--registry-listen", "0.0.0.0:8081"]
