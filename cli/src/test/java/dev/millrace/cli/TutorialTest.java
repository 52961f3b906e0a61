package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.HeldPorts;
import dev.millrace.testkit.Slow;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The command lines of the tutorials, a process for each terminal. */
@Slow
@Execution(ExecutionMode.CONCURRENT)
@Timeout(300)
class TutorialTest {
  // README claim: run-end
  @Test
  void interruptingAWorkerLeavesTheOthersTrainingAndThePsLeavesWithTheChief() throws Exception {
    try (HeldPorts ports = HeldPorts.take(3);
        RunningMillrace ps = task(ports, "ps", 0);
        RunningMillrace other = task(ports, "worker", 1);
        RunningMillrace chief = task(ports, "worker", 0)) {
      // Its first line of progress: the chief trains too, with nearly all steps before them.
      other.awaitOutput("step ");
      interrupt(other.process());
      assertEquals(130, other.awaitExit(), other.err());
      assertEquals(0, chief.awaitExit(), chief.err());
      // Not merely ended in peace, as by SIGTERM: it went on to the last step.
      assertTrue(chief.out().contains("step 1000/1000"), chief.out());
      assertTrue(chief.out().contains("test accuracy"), chief.out());
      assertEquals(0, ps.awaitExit(), ps.err());
      // The worker sent its leave message, so no task waited for it.
      assertTrue(ps.err().contains("Final status: worker/1 left"), ps.err());
      assertFalse(ps.err().contains("did not say so"), ps.err());
    }
  }

  private static RunningMillrace task(HeldPorts ports, String job, int index) throws Exception {
    List<String> addresses = ports.addresses();
    List<String> args = new ArrayList<>(List.of("train", "mnist"));
    args.addAll(List.of("--model", "softmax", "--batch-size", "10", "--steps", "1000"));
    args.addAll(List.of("--ps_hosts", addresses.get(0)));
    args.addAll(List.of("--worker_hosts", addresses.get(1) + "," + addresses.get(2)));
    args.addAll(List.of("--job_name", job, "--task_index", Integer.toString(index)));
    return RunningMillrace.start(args.toArray(String[]::new));
  }

  /** What Ctrl-C does. */
  private static void interrupt(Process process) throws Exception {
    Process kill = new ProcessBuilder("kill", "-INT", Long.toString(process.pid())).start();
    assertTrue(kill.waitFor(20, TimeUnit.SECONDS), "kill has not ended");
    assertEquals(0, kill.exitValue());
  }
}
