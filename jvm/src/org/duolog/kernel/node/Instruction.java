package org.duolog.kernel.node;

/**
 * The instruction in a subscription, sent as a number.
 *
 * <pre>
 *   DELETE               delete the subscription, do not respond
 *   DELETE_AND_ANSWER    delete it, and respond that the subscribing row is gone
 *   ANSWER               store it, and respond
 *   ANSWER_IF_THERE      store it, and respond; if there is no row, a response may be unnecessary
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

  /** Returns the outcome to respond with, or null for no response. */
  Outcome outcome(boolean there) {
    return switch (this) {
      case DELETE -> null;
      case DELETE_AND_ANSWER -> Outcome.GONE;
      case ANSWER -> there ? Outcome.THERE : Outcome.MISSING;
      case ANSWER_IF_THERE -> there ? Outcome.THERE : Outcome.STILL_MISSING;
    };
  }
}
