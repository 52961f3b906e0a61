package dev.millrace.train.graph;

/** The names under which a graph keeps its lists of variables and the like; TensorFlow's. */
public final class GraphKeys {
  /** Variables shared by all tasks, saved in checkpoints. */
  public static final String GLOBAL_VARIABLES = "variables";

  /** Variables of one task alone, not saved. */
  public static final String LOCAL_VARIABLES = "local_variables";

  /** The variables an optimizer changes unless told otherwise. */
  public static final String TRAINABLE_VARIABLES = "trainable_variables";

  /** The variables of which moving averages are kept. */
  public static final String MOVING_AVERAGE_VARIABLES = "moving_average_variables";

  /** Holds the one variable that counts training steps. */
  public static final String GLOBAL_STEP = "global_step";

  /** Ops to run with each training step, such as those that update moving averages. */
  public static final String UPDATE_OPS = "update_ops";

  /** The loss terms. */
  public static final String LOSSES = "losses";

  /** The summaries, strings to be merged into one. */
  public static final String SUMMARIES = "summaries";

  /** What fills the graph's queues. */
  public static final String QUEUE_RUNNERS = "queue_runners";

  private GraphKeys() {}
}
