module com.acme.curve {
  requires dev.millrace.job;
}
