package dev.millrace.examples;

import java.util.Locale;

/** The examples, in the order in which they are best read. */
public enum Example {
  HELLO("Hello over two tasks", HelloCluster::main),
  PINNING("Nodes pinned to devices, with the placement log", DevicePinning::main),
  VARIABLES("w + b, w * b, w / b over three workers", SharedVariables::main),
  SOFTMAX("Softmax regression, asynchronous", SoftmaxAsync::main),
  SYNC("A network trained synchronously, with a backup worker", SyncBackupWorkers::main),
  TOWERS("A convolutional network with towers on two devices", CnnTowers::main),
  MODEL_PARALLEL("Layers on different tasks", ModelParallelism::main),
  IN_GRAPH("In-graph replication: one client, three workers", InGraphReplication::main),
  RING("Ring all-reduce, without parameter servers", RingAllReduce::main),
  EMBEDDING("A large embedding in parts on two parameter servers", PartitionedEmbedding::main);

  /** An example's main method. */
  @FunctionalInterface
  private interface Program {
    void main(String[] args);
  }

  private final String description;
  private final Program program;

  Example(String description, Program program) {
    this.description = description;
    this.program = program;
  }

  /** What it shows, in a few words. */
  public String description() {
    return description;
  }

  /** Runs it; results are printed. */
  public void run() {
    program.main(new String[0]);
  }

  /** Its name on the command line. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
