package dev.millrace.cli.launch;

import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The shell script around every task, here and on other hosts. Its standard input is the link to
 * the launcher: first the environment, so that no secret shows in a list of processes, then nothing
 * until the task must end. A number is the seconds it has for that. The end of the input, which
 * comes even if the launcher is killed, means {@link #ORPHAN_GRACE}.
 *
 * <p>The command gets a session of its own where the system has {@code setsid}: Ctrl-C reaches the
 * launcher alone, and a signal to the command also reaches what the command started.
 */
final class TaskScript {
  /** How long a task has to save and end once its launcher is gone. */
  static final Duration ORPHAN_GRACE = Duration.ofSeconds(65);

  /** The folder the command starts in. */
  static final String FOLDER = "MILLRACE_LAUNCH_FOLDER";

  private static final String TEXT =
      """
      exec 3<&0
      while IFS= read -r line <&3 && [ -n "$line" ]; do export "$line"; done
      cd "$MILLRACE_LAUNCH_FOLDER" || exit 126
      trap '' INT HUP
      $(command -v setsid) %1$s </dev/null 3<&- &
      command=$!
      exec 2>/dev/null
      signal() { kill -s "$1" -- "-$command" || kill -s "$1" "$command"; }
      trap 'signal TERM' TERM
      (
        trap - TERM
        grace=%2$d
        if IFS= read -r line; then grace=$line; fi
        signal TERM
        while [ "$grace" -gt 0 ]; do sleep 1; grace=$((grace - 1)); done
        signal KILL
      ) <&3 >/dev/null &
      watch=$!
      exec 3<&- </dev/null
      wait "$command"
      code=$?
      while kill -0 "$command"; do
        wait "$command"
        code=$?
      done
      kill "$watch"
      if kill -s TERM -- "-$command"; then
        left=%2$d0
        while [ "$left" -gt 0 ] && kill -0 -- "-$command"; do sleep 0.1; left=$((left - 1)); done
        kill -s KILL -- "-$command"
      fi
      exit "$code"
      """;

  private TaskScript() {}

  /** The script that runs {@code command}. */
  static String of(List<String> command) {
    return TEXT.formatted(
        command.stream().map(TaskScript::quote).collect(Collectors.joining(" ")),
        ORPHAN_GRACE.toSeconds());
  }

  /** A word as the shell reads it back. */
  static String quote(String word) {
    return "'" + word.replace("'", "'\\''") + "'";
  }
}
