module com.acme.curve {
  requires dev.millrace.job;
  requires jdk.incubator.vector;
}
