/** Graphs, scopes, the definition of an op, symbolic gradients. */
module dev.millrace.graph {
  requires transitive dev.millrace.tensor;

  exports dev.millrace.graph;
  exports dev.millrace.graph.gradient;
  exports dev.millrace.graph.library;
  exports dev.millrace.graph.name;
  exports dev.millrace.graph.resource;
  exports dev.millrace.graph.shape;
  exports dev.millrace.graph.store;

  uses dev.millrace.graph.library.OpLibrary;
}
