package dev.millrace.serving.served;

import dev.millrace.base.Code;

/**
 * How a version of a model is.
 *
 * @param error empty if there is none
 */
public record VersionStatus(long version, State state, Code code, String error) {
  /** TensorFlow Serving's states, with its numbers. */
  public enum State {
    LOADING(20),
    AVAILABLE(30),
    UNLOADING(40),
    END(50);

    private final int number;

    State(int number) {
      this.number = number;
    }

    /** The number in TensorFlow Serving's messages. */
    public int number() {
      return number;
    }
  }
}
