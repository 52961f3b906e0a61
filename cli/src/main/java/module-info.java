/*
 * The {@code millrace} command. It exports nothing; it is open because picocli fills its fields.
 */
open module dev.millrace.cli {
  requires dev.millrace.dashboard;
  requires dev.millrace.examples;
  requires dev.millrace.serving;
  requires com.fasterxml.jackson.jr.ob;
  requires info.picocli;
  requires java.logging;
  requires java.management;
  requires jdk.management;
  requires jul.to.slf4j;
  requires org.slf4j;
}
