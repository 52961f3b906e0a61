package dev.millrace.cli.launch;

import java.util.List;
import java.util.Map;

/**
 * One process of a job: what to start, where, and with which role.
 *
 * @param name how messages name it, such as {@code worker/1} or {@code rank 0}
 * @param host where it runs
 * @param chief whether the job is done when this task is, and its output is the job's
 * @param command the program and its arguments
 * @param environment variables beside those of this process; across ssh, the only ones
 */
public record JobTask(
    String name,
    String host,
    boolean chief,
    List<String> command,
    Map<String, String> environment) {
  /** What stands in front of its lines, without brackets: {@code worker/1}, {@code 0}. */
  String label() {
    return name.startsWith("rank ") ? name.substring("rank ".length()) : name;
  }

  /** The name of its log, {@code worker_1.log}. */
  String logName() {
    return name.replaceAll("[^A-Za-z0-9]", "_") + ".log";
  }
}
