package org.duolog.kernel.node;

/**
 * What a subscription asks of those who keep it. It travels as a number.
 *
 * <pre>
 *   DELETE               forget it, say nothing
 *   DELETE_AND_ANSWER    forget it, and answer that the row that asked is gone
 *   ANSWER               keep it, and answer
 *   ANSWER_IF_THERE      keep it, and answer; where there is no row, nobody may want to hear of it
 * </pre>
 *
 * <p>Source: Kafka Streams SubscriptionWrapper.Instruction.
 */
enum Instruction {
  DELETE,
  DELETE_AND_ANSWER,
  ANSWER,
  ANSWER_IF_THERE;

  private static final Instruction[] ALL = values();

  static Instruction of(int number) {
    return ALL[number];
  }

  boolean keeps() {
    return this == ANSWER || this == ANSWER_IF_THERE;
  }

  /** The answer, or null for none. */
  Outcome outcome(boolean there) {
    return switch (this) {
      case DELETE -> null;
      case DELETE_AND_ANSWER -> Outcome.GONE;
      case ANSWER -> there ? Outcome.THERE : Outcome.MISSING;
      case ANSWER_IF_THERE -> there ? Outcome.THERE : Outcome.STILL_MISSING;
    };
  }
}
