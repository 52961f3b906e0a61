package dev.millrace.base.leak;

/** Where a resource was taken: the stack, the thread, and the tests that ran then. */
final class TakenHere extends Throwable {
  TakenHere(String running, String thread, boolean withStack) {
    super(
        "Taken here, on thread " + thread + (running.isEmpty() ? "" : ", while ran: " + running),
        null,
        false,
        withStack);
  }
}
