package dev.millrace.base.steps;

import java.util.List;
import java.util.Locale;

/** What a {@link StepHistory} keeps for each second. Times are nanoseconds. */
public enum Figure {
  /** Steps of training that ended. */
  STEPS,
  /** Examples that they trained. */
  EXAMPLES,
  /** The phases of those steps, in the order of {@link Phase#ALL}. */
  INPUT,
  PULL,
  COMPUTE,
  PUSH,
  REDUCE,
  WAIT,
  SAVE,
  OTHER,
  /** The longest of those steps. */
  LONGEST,
  /** Parts of other tasks' steps that ended here: on a parameter server, reads and updates. */
  PARTS,
  /** The time in which kernels of those parts ran. */
  PARTS_RUN,
  /** The time in which those parts waited, for gradients or for other workers. */
  PARTS_WAIT,
  /** The most parts under way at once. */
  QUEUE,
  /** Processor time of the process. */
  CPU,
  /** Time in which the garbage collector worked. */
  GC,
  /** Processor time of all processes of the host. */
  HOST_CPU,
  /** Processor time that the host's hypervisor took. */
  HOST_STEAL,
  /** Time in which threads of the process waited for a disk. */
  DISK_WAIT,
  /** Bytes read from and written to disks. */
  DISK_READ,
  DISK_WRITTEN,
  /** TCP segments that the host's network sent, and those that it sent again. */
  SEGMENTS,
  RETRANSMITTED,
  /** Time in which the process did not run although it should have: it was stopped. */
  STOPPED,
  /** Time between two looks of the sampler. */
  SAMPLED,
  /** Bytes of tensors and calls sent to and received from other tasks over links. */
  LINK_SENT,
  LINK_RECEIVED;

  /** All figures, in the order of a row. */
  public static final List<Figure> ALL = List.of(values());

  /** The name in JSON: {@code partsRun}. */
  public String label() {
    StringBuilder b = new StringBuilder();
    for (String word : name().toLowerCase(Locale.ROOT).split("_", -1)) {
      b.append(b.isEmpty() ? word.charAt(0) : Character.toUpperCase(word.charAt(0)));
      b.append(word, 1, word.length());
    }
    return b.toString();
  }

  /** The figure of a phase. */
  public static Figure of(Phase phase) {
    return ALL.get(INPUT.ordinal() + phase.ordinal());
  }
}
