/** Example programs and the bundled MNIST training. */
module dev.millrace.examples {
  requires transitive dev.millrace.job;
  requires org.slf4j;

  exports dev.millrace.examples;
  exports dev.millrace.examples.mnist;
}
