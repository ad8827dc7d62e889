"""Settings of Kafka's broker that have no effect here, so that its scripts and files still work.

Each has the kind, the default and the bounds of Kafka 4.1; DescribeConfigs returns the given
values. The broker says at its start which of the given ones have no effect. One line is one
setting, below the reason:

    NAME KIND DEFAULT [LOW.. | LOW..HIGH | A|B|C] [dynamic]        - no default, "" empty

Source: Kafka `KafkaConfig`, `DynamicBrokerConfig`.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from duolog.core.setting_types import (
    NO_EFFECT,
    Check,
    Kind,
    Setting,
    at_least,
    between,
    one_of,
)

_TABLE: Final = """
# one node is broker and controller, and nothing is replicated
auto.leader.rebalance.enable boolean true
broker.heartbeat.interval.ms int 2000
broker.session.timeout.ms int 9000
controlled.shutdown.enable boolean true
controller.listener.names string -
controller.performance.always.log.threshold.ms long 2000 0..
controller.performance.sample.period.ms long 60000 100..
controller.quorum.append.linger.ms int 25 0..
controller.quorum.bootstrap.servers list ""
controller.quorum.election.backoff.max.ms int 1000 0..
controller.quorum.election.timeout.ms int 1000 0..
controller.quorum.fetch.timeout.ms int 2000 0..
controller.quorum.request.timeout.ms int 2000 0..
controller.quorum.retry.backoff.ms int 20 0..
controller.quorum.voters list ""
controller.socket.timeout.ms int 30000
default.replication.factor int 1
early.start.listeners string -
initial.broker.registration.timeout.ms int 60000
inter.broker.listener.name string -
internal.metadata.delete.delay.millis long 60000
internal.metadata.log.segment.bytes int -
internal.metadata.max.batch.size.in.bytes int 8388608
internal.metadata.max.fetch.size.in.bytes int 8388608
leader.imbalance.check.interval.seconds long 300 1..
log.dir.failure.timeout.ms long 30000 1..
metadata.log.dir string -
metadata.log.max.record.bytes.between.snapshots long 20971520 1..
metadata.log.max.snapshot.interval.ms long 3600000 0..
metadata.log.segment.bytes int 1073741824 8388608..
metadata.log.segment.ms long 604800000
metadata.max.idle.interval.ms int 500 0..
metadata.max.retention.bytes long 104857600
metadata.max.retention.ms long 604800000
num.replica.alter.log.dirs.threads int -
num.replica.fetchers int 1 dynamic
offsets.topic.replication.factor short 3 1..
process.roles list broker,controller broker|controller
replica.fetch.backoff.ms int 1000 0..
replica.fetch.max.bytes int 1048576 0..
replica.fetch.min.bytes int 1
replica.fetch.response.max.bytes int 10485760 0..
replica.fetch.wait.max.ms int 500
replica.high.watermark.checkpoint.interval.ms long 5000
replica.lag.time.max.ms long 30000
replica.selector.class string -
replica.socket.receive.buffer.bytes int 65536
replica.socket.timeout.ms int 30000
request.timeout.ms int 30000
server.max.startup.time.ms long 9223372036854775807 0..
socket.connection.setup.timeout.max.ms long 30000
socket.connection.setup.timeout.ms long 10000
transaction.state.log.min.isr int 2 1..
transaction.state.log.replication.factor short 3 1..
unclean.leader.election.interval.ms long 300000 1..
unstable.api.versions.enable boolean false
unstable.feature.versions.enable boolean false

# one loop serves all connections, and nothing waits in a purgatory
background.threads int 10 1.. dynamic
delete.records.purgatory.purge.interval.requests int 1
fetch.purgatory.purge.interval.requests int 1000
group.coordinator.append.linger.ms int 5 0..
group.coordinator.threads int 4 1..
num.io.threads int 8 1.. dynamic
num.network.threads int 3 1.. dynamic
producer.purgatory.purge.interval.requests int 1000
queued.max.requests int 500 1..

# there are no delegation tokens, no Kerberos and no classes of Java
delegation.token.expiry.check.interval.ms long 3600000 1..
delegation.token.expiry.time.ms long 86400000 1..
delegation.token.max.lifetime.ms long 604800000 1..
delegation.token.secret.key password -
principal.builder.class class \
org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder dynamic
sasl.client.callback.handler.class class -
sasl.jaas.config password - dynamic
sasl.kerberos.kinit.cmd string /usr/bin/kinit dynamic
sasl.kerberos.min.time.before.relogin long 60000 dynamic
sasl.kerberos.principal.to.local.rules list DEFAULT dynamic
sasl.kerberos.service.name string - dynamic
sasl.kerberos.ticket.renew.jitter double 0.05 dynamic
sasl.kerberos.ticket.renew.window.factor double 0.8 dynamic
sasl.login.callback.handler.class class -
sasl.login.class class -
sasl.login.connect.timeout.ms int -
sasl.login.read.timeout.ms int -
sasl.login.refresh.buffer.seconds short 300 dynamic
sasl.login.refresh.min.period.seconds short 60 dynamic
sasl.login.refresh.window.factor double 0.8 dynamic
sasl.login.refresh.window.jitter double 0.05 dynamic
sasl.login.retry.backoff.max.ms long 10000
sasl.login.retry.backoff.ms long 100
sasl.mechanism.controller.protocol string GSSAPI
sasl.mechanism.inter.broker.protocol string GSSAPI dynamic
sasl.oauthbearer.assertion.algorithm string RS256
sasl.oauthbearer.assertion.claim.aud string -
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400
sasl.oauthbearer.assertion.claim.iss string -
sasl.oauthbearer.assertion.claim.jti.include boolean false
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600
sasl.oauthbearer.assertion.claim.sub string -
sasl.oauthbearer.assertion.file string -
sasl.oauthbearer.assertion.private.key.file string -
sasl.oauthbearer.assertion.private.key.passphrase password -
sasl.oauthbearer.assertion.template.file string -
sasl.oauthbearer.client.credentials.client.id string -
sasl.oauthbearer.client.credentials.client.secret password -
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100
sasl.oauthbearer.jwt.retriever.class class \
org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
sasl.oauthbearer.jwt.validator.class class \
org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
sasl.oauthbearer.scope string -
sasl.oauthbearer.scope.claim.name string scope
sasl.oauthbearer.token.endpoint.url string -
sasl.server.callback.handler.class class -
sasl.server.max.receive.size int 524288
security.inter.broker.protocol string PLAINTEXT PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL

# TLS is that of OpenSSL, with its ciphers and certificate checks
security.providers string -
ssl.allow.dn.changes boolean false
ssl.allow.san.changes boolean false
ssl.cipher.suites list "" dynamic
ssl.endpoint.identification.algorithm string https dynamic
ssl.engine.factory.class class - dynamic
ssl.keymanager.algorithm string SunX509 dynamic
ssl.protocol string TLSv1.3 dynamic
ssl.provider string - dynamic
ssl.secure.random.implementation string - dynamic
ssl.trustmanager.algorithm string PKIX dynamic

# nothing is replicated, and classes of Java are not loaded
alter.log.dirs.replication.quota.window.num int 11 1..
alter.log.dirs.replication.quota.window.size.seconds int 1 1..
client.quota.callback.class class -
replication.quota.window.num int 11 1..
replication.quota.window.size.seconds int 1 1..

# metrics are those of metrics.listen
kafka.metrics.polling.interval.secs int 10 1..
kafka.metrics.reporters list ""
metric.reporters list org.apache.kafka.common.metrics.JmxReporter dynamic
metrics.num.samples int 2 1..
metrics.recording.level string INFO
metrics.sample.window.ms long 30000 1..
telemetry.max.bytes int 1048576 1..

# classes of Java are not loaded
alter.config.policy.class.name class -
create.topic.policy.class.name class -

# there is no tiered storage
remote.fetch.max.wait.ms int 500 1.. dynamic
remote.list.offsets.request.timeout.ms long 30000 1.. dynamic
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. dynamic
remote.log.manager.copier.thread.pool.size int 10 1.. dynamic
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. dynamic
remote.log.manager.copy.quota.window.num int 11 1..
remote.log.manager.copy.quota.window.size.seconds int 1 1..
remote.log.manager.expiration.thread.pool.size int 10 1.. dynamic
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. dynamic
remote.log.manager.fetch.quota.window.num int 11 1..
remote.log.manager.fetch.quota.window.size.seconds int 1 1..
remote.log.manager.task.interval.ms long 30000 1..
remote.log.manager.task.retry.backoff.max.ms long 30000 1..
remote.log.manager.task.retry.backoff.ms long 500 1..
remote.log.manager.task.retry.jitter double 0.2 0..0.5
remote.log.manager.thread.pool.size int 2 1..
remote.log.metadata.custom.metadata.max.bytes int 128 0..
remote.log.metadata.manager.class.name string \
org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager
remote.log.metadata.manager.class.path string -
remote.log.metadata.manager.impl.prefix string rlmm.config.
remote.log.metadata.manager.listener.name string -
remote.log.reader.max.pending.tasks int 100 1..
remote.log.reader.threads int 10 1.. dynamic
remote.log.storage.manager.class.name string -
remote.log.storage.manager.class.path string -
remote.log.storage.manager.impl.prefix string rsm.config.

# there are no share groups
group.share.assignors list simple
group.share.delivery.count.limit int 5 2..10
group.share.enable boolean false
group.share.heartbeat.interval.ms int 5000 1..
group.share.max.heartbeat.interval.ms int 15000 1..
group.share.max.record.lock.duration.ms int 60000 30000..3600000
group.share.max.session.timeout.ms int 60000 1..
group.share.max.share.sessions int 2000 1..
group.share.max.size int 200 1..1000
group.share.min.heartbeat.interval.ms int 5000 1..
group.share.min.record.lock.duration.ms int 15000 1000..30000
group.share.min.session.timeout.ms int 45000 1..
group.share.partition.max.record.locks int 2000 100..10000
group.share.persister.class.name string \
org.apache.kafka.server.share.persister.DefaultStatePersister
group.share.record.lock.duration.ms int 30000 1000..3600000
group.share.session.timeout.ms int 45000 1..
share.coordinator.append.linger.ms int 5 0..
share.coordinator.cold.partition.snapshot.interval.ms int 300000 1..
share.coordinator.load.buffer.size int 5242880 1..
share.coordinator.snapshot.update.records.per.snapshot int 500 0..
share.coordinator.state.topic.compression.codec int 0
share.coordinator.state.topic.min.isr short 2 1..
share.coordinator.state.topic.num.partitions int 50 1..
share.coordinator.state.topic.prune.interval.ms int 300000 1..
share.coordinator.state.topic.replication.factor short 3 1..
share.coordinator.state.topic.segment.bytes int 104857600 1..
share.coordinator.threads int 1 1..
share.coordinator.write.timeout.ms int 5000 1..
share.fetch.purgatory.purge.interval.requests int 1000

# there are no groups of the streams protocol
group.streams.heartbeat.interval.ms int 5000 1..
group.streams.max.heartbeat.interval.ms int 15000 1..
group.streams.max.session.timeout.ms int 60000 1..
group.streams.max.size int 2147483647 1..
group.streams.max.standby.replicas int 2 0..
group.streams.min.heartbeat.interval.ms int 5000 1..
group.streams.min.session.timeout.ms int 45000 1..
group.streams.num.standby.replicas int 0 0..
group.streams.session.timeout.ms int 45000 1..

# the broker does this in its own way, or not at all
add.partitions.to.txn.retry.backoff.max.ms int 100 0..
add.partitions.to.txn.retry.backoff.ms int 20 1..
group.coordinator.rebalance.protocols list classic,consumer,streams consumer|classic|share|streams
log.flush.offset.checkpoint.interval.ms int 60000 0..
log.flush.scheduler.interval.ms long 9223372036854775807
log.flush.start.offset.checkpoint.interval.ms int 60000 0..
log.initial.task.delay.ms long 30000 0..
offsets.commit.timeout.ms int 5000 1..
offsets.load.buffer.size int 5242880 1..
offsets.topic.compression.codec int 0
offsets.topic.segment.bytes int 104857600 1..
producer.id.expiration.check.interval.ms int 600000 1..
transaction.partition.verification.enable boolean true dynamic
transaction.state.log.load.buffer.size int 5242880 1..
transaction.two.phase.commit.enable boolean false
"""

REFUSED_ROWS: Final = (
    Setting(
        "remote.log.storage.system.enable",
        default=False,
        kind=Kind.BOOLEAN,
        doc="true is refused, because there is no tiered storage.",
        check=lambda value: "cannot be true: there is no tiered storage" if value else None,
    ),
)
"""Settings of Kafka that accept their default only: another value, ignored, would endanger data."""

_RANGE: Final = re.compile(r"(-?[\d.]+?)\.\.(-?[\d.]+)?")


def _read_table(text: str) -> Iterator[tuple[Setting, set[str]]]:
    """Yield each setting with its marks: `dynamic`, and `-` for none by default."""
    reason = ""
    for line in text.split("\n"):
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            name, kind, default, *rest = line.split()
            marks = {mark for mark in rest if mark == "dynamic"} | ({default} & {"-"})
            checks = [_check(word) for word in rest if word != "dynamic"]
            doc = f"{NO_EFFECT}{reason}."
            check = checks[0] if checks else None
            row = Setting(name, "", Kind(kind), doc, check)
            if default != "-":
                text = "" if default == '""' else default
                row = replace(row, default=row.parse(text))
            yield row, marks


def _check(word: str) -> Check:
    found = _RANGE.fullmatch(word)
    if found is None:
        return one_of(*word.split("|"))
    low, high = (None if bound is None else _number(bound) for bound in found.groups())
    assert low is not None
    return at_least(low) if high is None else between(low, high)


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


_READ: Final = tuple(_read_table(_TABLE))

INERT_ROWS: Final = tuple(row for row, _ in _READ)
INERT_DYNAMIC: Final = frozenset(row.name for row, marks in _READ if "dynamic" in marks)
"""Those that Kafka lets be changed at run time."""
WITHOUT_DEFAULT: Final = frozenset(row.name for row, marks in _READ if "-" in marks)
"""Those that are null until they are set."""
