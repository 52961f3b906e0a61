/** Programs of one model and its data that run as any task of any job. */
module dev.millrace.job {
  requires transitive dev.millrace.cluster;
  requires transitive dev.millrace.ring;
  requires transitive dev.millrace.train;
  requires com.fasterxml.jackson.jr.ob;
  requires org.slf4j;

  exports dev.millrace.job;
  exports dev.millrace.job.flags;
  exports dev.millrace.job.input;
  exports dev.millrace.job.report;
}
