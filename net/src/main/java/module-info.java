/** Sockets, credentials and encryption between the processes of a job. */
module dev.millrace.net {
  requires transitive dev.millrace.base;
  requires static org.jspecify;
  requires jdk.net;
  requires org.slf4j;

  exports dev.millrace.net;
}
