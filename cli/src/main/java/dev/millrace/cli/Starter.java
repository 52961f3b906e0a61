package dev.millrace.cli;

import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import dev.millrace.train.job.Termination;
import java.util.Map;

/**
 * The process that started this one as a task of a cluster of its own. A task must not outlive it,
 * not even if it was killed and could not say so.
 */
final class Starter {
  private Starter() {}

  /** What a task is told of this process. */
  static Map<String, String> environment() {
    return Map.of(
        CommandSettings.STARTED_BY.variable(), Long.toString(ProcessHandle.current().pid()));
  }

  /** Terminates this process when the one that started it has ended; by hand, nobody has. */
  static void leaveWithIt() {
    Long pid = Config.ofProcess().find(CommandSettings.STARTED_BY).orElse(null);
    ProcessHandle parent = ProcessHandle.current().parent().orElse(null);
    if (pid == null) {
      return;
    }
    if (parent == null || pid != parent.pid()) {
      Termination.request();
      return;
    }
    parent.onExit().thenRun(Termination::request);
  }
}
