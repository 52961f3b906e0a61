package dev.millrace.cluster.spec;

/** A task of a cluster: the job it belongs to and its number in it. */
public record TaskId(String job, int index) {
  /** TensorFlow's name: {@code /job:worker/replica:0/task:1}. */
  public String name() {
    return "/job:" + job + "/replica:0/task:" + index;
  }

  /** The name of one of its CPU devices. */
  public String cpu(int n) {
    return name() + "/device:CPU:" + n;
  }

  /** The short form used in messages: {@code worker/1}. */
  @Override
  public String toString() {
    return job + "/" + index;
  }
}
