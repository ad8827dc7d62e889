package org.duolog.kernel.record;

/** Prints after each step whether a tick is made: tasks send requests as executors do, one run after the other. */
public final class TickRequestSteps {
  private static final long NEVER = Long.MAX_VALUE;
  private static final IdleTicks TICKS = IdleTicks.of("app");
  private static long start;
  private static long last;

  private TickRequestSteps() {}

  public static void main(String[] args) throws InterruptedException {
    tell("no task has begun");
    start = TICKS.forget();
    tell("a start");
    tell("no task requests more");
    long later = System.currentTimeMillis() + 3_600_000;
    wants("a", 5, 0);
    wants("b", 6, later);
    tell("one wants");
    tell("it has not said anything since, as one that has gone");
    wants("a", 7, 0);
    wants("a", 5, NEVER);
    tell("an older run of it wants no more");
    wants("b", 4, 0);
    tell("an older run wants what the newest does not");
    wants("b", 6, 0);
    tell("the newest wants it now");
    wants("b", 6, 0);
    wants("b", 6, NEVER);
    tell("it wants no more");
    start = TICKS.forget();
    wants("a", 3, NEVER);
    tell("another start");
    wants("a", 3, 0);
    tell("whose runs have other numbers");
    wants("a", 3, 0);
    long earlier = start;
    start = TICKS.forget();
    tell("one that asks for an earlier start", earlier);
    tell("one that asks for this one");
    wants("a", 3, 0);
    tell("an earlier one again", earlier);
    System.out.println("here: " + IdleTicks.await(new IdleTicks.Due("app", earlier, last), 0));
    tell("which takes nothing away");
  }

  private static void wants(String task, long run, long atMs) {
    IdleTicks.take(new IdleTicks.TaskRequest("app", task, new IdleTicks.Request(run, atMs)));
  }

  private static void tell(String what) throws InterruptedException {
    tell(what, start);
  }

  private static void tell(String what, long asks) throws InterruptedException {
    Thread.sleep(2); // A tick has the time in milliseconds, and is later than the last one.
    long made = IdleTicks.answer(new IdleTicks.Due("app", asks, last));
    last = Math.max(last, made);
    System.out.println((made == IdleTicks.NONE ? "none: " : "tick: ") + what);
  }
}
