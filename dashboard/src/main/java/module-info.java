/** How a running job is: its figures, a verdict that names what slows it, and a live page. */
module dev.millrace.dashboard {
  requires transitive dev.millrace.cluster;
  requires transitive dev.millrace.train;
  requires com.fasterxml.jackson.jr.ob;
  requires jdk.httpserver;
  requires org.slf4j;

  exports dev.millrace.dashboard.verdict;
  exports dev.millrace.dashboard.watch;
  exports dev.millrace.dashboard.web;
}
