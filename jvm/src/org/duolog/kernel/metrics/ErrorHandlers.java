package org.duolog.kernel.metrics;

import java.io.Serializable;
import org.apache.kafka.common.errors.SerializationException;
import org.duolog.kernel.functions.CallNotes;
import org.duolog.kernel.record.CallFailedException;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Origin;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.spec.Spec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles records that cannot be read, processed or written. Either the query fails with a message
 * that names the record, or the record is skipped, counted, logged and, if a topic is set, written
 * to it as a dead letter.
 *
 * <p>Threads: any. Source: Kafka Streams' exception handlers (KIP-161, KIP-210, KIP-1033).
 */
public final class ErrorHandlers implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOGGER = LoggerFactory.getLogger(ErrorHandlers.class);
  private static final String CONTINUE = "log_and_continue";

  /** The stage at which a record failed. */
  public enum Stage {
    DESERIALIZATION("read"),
    PROCESSING("process"),
    PRODUCTION("write"),

    /** Adding it to an aggregate: a kind of processing at which SQL never skips a record. */
    AGGREGATION("process"),

    /** It was deleted before it was read; {@code LostRecords} decides. */
    RETENTION("read");

    final String verb;

    Stage(String verb) {
      this.verb = verb;
    }

    /** Returns the stage as users see it: aggregation is a kind of processing. */
    Stage reported() {
      return this == AGGREGATION ? PROCESSING : this;
    }

    String counter() {
      return reported().name().toLowerCase(java.util.Locale.ROOT);
    }
  }

  private final String applicationId;
  private final String run;
  private final String[] sourceTopics;
  private final boolean[] continues;
  private final String deadLetterTopic;

  /** True if dead letters are entries of a processing log. */
  private final boolean processingLog;

  /**
   * True if records keep their bytes for dead letters; false for logs whose entries are to have
   * none.
   */
  private final boolean withBytes;

  public ErrorHandlers(Spec spec) {
    applicationId = spec.applicationId();
    run = Metrics.runOf(spec);
    sourceTopics = spec.sources().stream().map(Spec.Source::topic).toArray(String[]::new);
    Spec.Errors errors = spec.errors();
    continues =
        new boolean[] {
          errors.deserialization().equals(CONTINUE),
          errors.processing().equals(CONTINUE),
          errors.production().equals(CONTINUE),
          errors.aggregation().equals(CONTINUE)
        };
    deadLetterTopic = errors.deadLetterTopic();
    processingLog = errors.processingLog();
    withBytes = deadLetterTopic != null && (!processingLog || errors.logRows());
  }

  private ErrorHandlers(ErrorHandlers like, boolean[] continues) {
    this.applicationId = like.applicationId;
    this.run = like.run;
    this.sourceTopics = like.sourceTopics;
    this.deadLetterTopic = like.deadLetterTopic;
    this.processingLog = like.processingLog;
    this.withBytes = like.withBytes;
    this.continues = continues;
  }

  /** Returns the same handlers, except for records that cannot be read. */
  public ErrorHandlers deserializing(boolean goesOn) {
    boolean[] changed = continues.clone();
    changed[Stage.DESERIALIZATION.ordinal()] = goesOn;
    return new ErrorHandlers(this, changed);
  }

  /** Encodes the origin of a record for all records that it causes. */
  public byte[] originOf(int source, SourceRecord record) {
    return Origin.encode(source, record, withBytes);
  }

  /** Returns the topic of a source, by its index. */
  public String topicOf(int source) {
    return sourceTopics[source];
  }

  public boolean isDeadLetter(Envelope record) {
    return deadLetterTopic != null && deadLetterTopic.equals(record.topic());
  }

  /**
   * Handles a record that failed.
   *
   * @param record the source record as it was read, if available; else null
   * @param at the node or topic where it failed; empty if the stage is enough
   * @return its dead letter, or null if none is configured
   * @throws RecordFailedException if the query is to fail
   */
  public Envelope handle(
      Stage stage,
      byte[] encodedOrigin,
      SourceRecord record,
      byte[] headers,
      String at,
      Exception cause) {
    Origin origin = encodedOrigin == null ? null : Origin.decode(encodedOrigin);
    String what =
        String.format(
            "cannot %s %s%s: %s",
            stage.verb, named(origin), at.isEmpty() ? "" : " at " + at, reason(cause));
    if (!continues[stage.ordinal()]) {
      throw new RecordFailedException(what, cause);
    }
    Skipped.Sample sample = sample(stage, origin, record, at, cause);
    if (Metrics.of(run).skip(stage, sample)) {
      LOGGER.warn("skipped a record: {}{}", what, shown(sample));
    }
    if (deadLetterTopic == null || origin == null) {
      return null;
    }
    String topic = sourceTopics[origin.source()];
    return processingLog
        ? ProcessingLog.entry(
            applicationId,
            stage.reported(),
            origin,
            topic,
            encodedOrigin,
            deadLetterTopic,
            at,
            what,
            cause)
        : DeadLetter.of(
            applicationId, origin, topic, headers, encodedOrigin, deadLetterTopic, cause);
  }

  /**
   * Counts a call that failed and returned null.
   *
   * @return its entry in the processing log; null if there is no such log, or if it has too many
   *     entries already
   */
  public Envelope noted(byte[] encodedOrigin, String at, String why) {
    Metrics metrics = Metrics.of(run);
    metrics.failedCalls.increment();
    if (deadLetterTopic == null || !processingLog || encodedOrigin == null) {
      return null;
    }
    long leftOut = metrics.entryLimit.ask(System.nanoTime());
    if (leftOut < 0) {
      return null;
    }
    Origin origin = Origin.decode(encodedOrigin);
    String where = at.isEmpty() ? "" : " at " + at;
    String more =
        leftOut == 0 ? "" : String.format("; %d more failed calls have no entry", leftOut);
    String what =
        String.format("a call returned null for %s%s: %s%s", named(origin), where, why, more);
    String topic = sourceTopics[origin.source()];
    return ProcessingLog.entry(
        applicationId,
        Stage.PROCESSING,
        origin,
        topic,
        encodedOrigin,
        deadLetterTopic,
        at,
        what,
        new CallFailedException(why));
  }

  private Skipped.Sample sample(
      Stage stage, Origin origin, SourceRecord record, String at, Exception cause) {
    byte[] key = record != null ? record.getKey() : origin == null ? null : origin.key();
    byte[] value = record != null ? record.getValue() : origin == null ? null : origin.value();
    return new Skipped.Sample(
        stage.counter(),
        origin == null ? null : sourceTopics[origin.source()],
        origin == null ? -1 : origin.partition(),
        origin == null ? -1 : origin.offset(),
        Skipped.text(key),
        Skipped.text(value),
        at,
        reason(cause));
  }

  private static String shown(Skipped.Sample sample) {
    String key = sample.key() == null ? "" : "; key " + sample.key();
    return key + (sample.value() == null ? "" : "; value " + sample.value());
  }

  /** Counts a record that was too late for an operator. */
  public void late(String operator) {
    Metrics.of(run).late(operator);
  }

  private String named(Origin origin) {
    return origin == null
        ? "a record"
        : String.format(
            "the record of topic \"%s\", partition %d, offset %d",
            sourceTopics[origin.source()], origin.partition(), origin.offset());
  }

  private static String reason(Exception cause) {
    if (cause instanceof SerializationException || cause instanceof CallFailedException) {
      // Our own messages are complete: about the bytes, or from a function.
      return cause.getMessage() == null ? "" : cause.getMessage().strip();
    }
    return CallNotes.reason(cause);
  }
}
