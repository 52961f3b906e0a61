/** Ring all-reduce and the other collective operations between the ranks of a job. */
module dev.millrace.collective {
  requires static jdk.incubator.vector;
  requires transitive dev.millrace.tensor;
  requires org.slf4j;

  exports dev.millrace.collective;
  exports dev.millrace.collective.member;
  exports dev.millrace.collective.peers;
  exports dev.millrace.collective.reduce;
}
