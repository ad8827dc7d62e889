package org.duolog.kernel.metrics;

import java.io.Serializable;
import org.apache.kafka.common.errors.SerializationException;
import org.duolog.kernel.record.CallFailedException;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Origin;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.spec.Spec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What becomes of a record that cannot be read, processed or written: the query fails and names it,
 * or it is passed over, counted, logged and, where a topic is set, written there as a dead letter.
 *
 * <p>Threads: any. Source: Kafka Streams' exception handlers (KIP-161, KIP-210, KIP-1033).
 */
public final class ErrorHandlers implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOGGER = LoggerFactory.getLogger(ErrorHandlers.class);
  private static final String CONTINUE = "log_and_continue";

  /** What was to be done with the record. */
  public enum Stage {
    DESERIALIZATION("read"),
    PROCESSING("process"),
    PRODUCTION("write"),

    /** An aggregate was to take it: processing that SQL lets no record pass over. */
    AGGREGATION("process"),

    /** It was deleted before it was read; {@code LostRecords} decides. */
    RETENTION("read");

    final String verb;

    Stage(String verb) {
      this.verb = verb;
    }

    /** What it is to whoever is told: an aggregate processes records. */
    Stage told() {
      return this == AGGREGATION ? PROCESSING : this;
    }

    String counter() {
      return told().name().toLowerCase(java.util.Locale.ROOT);
    }
  }

  private final String applicationId;
  private final String run;
  private final String[] sourceTopics;
  private final boolean[] continues;
  private final String deadLetterTopic;

  /** Whether dead letters are entries of a processing log. */
  private final boolean processingLog;

  /** Whether what is left of a record has its bytes: all but entries of a log that are to have none. */
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

  /** The same, but for what becomes of records that cannot be read. */
  public ErrorHandlers deserializing(boolean goesOn) {
    boolean[] changed = continues.clone();
    changed[Stage.DESERIALIZATION.ordinal()] = goesOn;
    return new ErrorHandlers(this, changed);
  }

  /** Where a record comes from, for all that it sets off. */
  public byte[] originOf(int source, SourceRecord record) {
    return Origin.encode(source, record, withBytes);
  }

  /** The topic of a source, by its place among them. */
  public String topicOf(int source) {
    return sourceTopics[source];
  }

  public boolean isDeadLetter(Envelope record) {
    return deadLetterTopic != null && deadLetterTopic.equals(record.topic());
  }

  /**
   * Decides on a record that failed.
   *
   * @param record the record of a source as it was read, where it is at hand; else null
   * @param at the node or the topic where it failed; empty where the stage says it all
   * @return its dead letter, or null where none is wanted
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
      LOGGER.warn("passed over a record: {}{}", what, shown(sample));
    }
    if (deadLetterTopic == null || origin == null) {
      return null;
    }
    String topic = sourceTopics[origin.source()];
    return processingLog
        ? ProcessingLog.entry(
            applicationId, stage.told(), origin, topic, encodedOrigin, deadLetterTopic, at, what, cause)
        : DeadLetter.of(origin, topic, headers, encodedOrigin, deadLetterTopic, cause);
  }

  /** The entry of a processing log for a call that has failed and is null; null where there is none. */
  public Envelope noted(byte[] encodedOrigin, String at, String why) {
    if (deadLetterTopic == null || !processingLog || encodedOrigin == null) {
      return null;
    }
    Origin origin = Origin.decode(encodedOrigin);
    String where = at.isEmpty() ? "" : " at " + at;
    String what = String.format("a column is null in %s%s: %s", named(origin), where, why);
    String topic = sourceTopics[origin.source()];
    return ProcessingLog.entry(
        applicationId, Stage.PROCESSING, origin, topic, encodedOrigin, deadLetterTopic, at, what, new CallFailedException(why));
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

  /** Counts a record that came to an operator too late. */
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
    String message = cause.getMessage() == null ? "" : cause.getMessage().strip();
    if (cause instanceof SerializationException || cause instanceof CallFailedException) {
      return message; // Ours: it says what is wrong with the bytes, or what a function has said.
    }
    String name = cause.getClass().getSimpleName();
    return message.isEmpty() ? name : name + ": " + message.lines().findFirst().orElse("");
  }
}
