/** Error codes and the one exception, cancellation, time and threads, settings, the version. */
@SuppressWarnings("module") // those it exports engine packages to stand above it
module dev.millrace.base {
  requires static org.jspecify;
  requires java.management;
  requires jdk.jfr;
  requires jdk.management;

  exports dev.millrace.base;
  exports dev.millrace.base.config;
  exports dev.millrace.base.context;
  exports dev.millrace.base.steps;
  exports dev.millrace.base.leak to
      dev.millrace.tensor;
}
