/** A JUnit extension that gives a test a cluster in its own process. */
module dev.millrace.junit {
  requires transitive dev.millrace.cluster;
  requires transitive dev.millrace.ops;
  requires transitive org.junit.jupiter.api;

  exports dev.millrace.junit;
}
