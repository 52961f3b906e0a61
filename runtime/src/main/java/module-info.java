/** Sessions, placement, partitioning, the executor. */
@SuppressWarnings("module") // those it exports engine packages to stand above it
module dev.millrace.runtime {
  requires transitive dev.millrace.graph;
  requires org.slf4j;

  exports dev.millrace.runtime;
  exports dev.millrace.runtime.device;
  exports dev.millrace.runtime.exec to
      dev.millrace.cluster;
  exports dev.millrace.runtime.plan to
      dev.millrace.cluster;
  exports dev.millrace.runtime.trace;

  uses dev.millrace.runtime.device.DeviceKind;
}
