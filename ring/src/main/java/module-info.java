/** Training without parameter servers: gradients are averaged between ranks. */
module dev.millrace.ring {
  requires transitive dev.millrace.collective;
  requires transitive dev.millrace.runtime;
  requires transitive dev.millrace.train;

  exports dev.millrace.ring;
}
