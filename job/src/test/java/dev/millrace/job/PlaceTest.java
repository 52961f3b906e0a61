package dev.millrace.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.job.flags.ProgramFlags;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PlaceTest {
  private static final String TF_CONFIG =
      "{\"cluster\":{\"ps\":[\"h:1\"],\"worker\":[\"h:2\",\"h:3\"]},"
          + "\"task\":{\"type\":\"%s\",\"index\":%d}}";

  private static Place place(Map<String, String> variables, String... args) {
    return Place.of(
        ProgramFlags.parse(JobFlags.all(1, 1, 0, 0), args), Config.of(Map.of(), variables));
  }

  @Test
  void aProcessOnItsOwnTrainsLocally() {
    Place p = place(Map.of());
    assertEquals(Mode.LOCAL, p.mode());
    assertTrue(p.isWhole());
  }

  @Test
  void aModeWithoutAClusterHasAllTasksInThisProcess() {
    Place p = place(Map.of(), "--mode", "sync", "--ps", "2", "--workers", "3");
    assertTrue(p.isWhole());
    assertEquals("sync, 2 ps, 3 workers in this process", p.toString());
  }

  @Test
  void theTutorialsFlagsMakeATask() {
    Place p =
        place(
            Map.of(),
            "--ps_hosts=h:1",
            "--worker_hosts=h:2,h:3",
            "--job_name=worker",
            "--task_index=1");
    assertEquals(Mode.ASYNC, p.mode());
    assertEquals("worker/1", p.task().toString());
    assertEquals(2, p.workers());
    assertFalse(p.isWhole());
  }

  @Test
  void variablesMakeATask() {
    Place p =
        place(
            Map.of("PS_HOSTS", "h:1", "WORKER_HOSTS", "h:2", "JOB_NAME", "ps", "TASK_INDEX", "0"),
            "--mode",
            "bounded");
    assertEquals(Mode.BOUNDED, p.mode());
    assertEquals("ps/0", p.task().toString());
  }

  @Test
  void theLauncherGivesTheModeUnlessAFlagDoes() {
    Map<String, String> task =
        Map.of("TF_CONFIG", TF_CONFIG.formatted("worker", 0), "MILLRACE_MODE", "sync");
    assertEquals(Mode.SYNC, place(task).mode());
    assertEquals(Mode.BOUNDED, place(task, "--mode", "bounded").mode());
  }

  @Test
  void tfConfigMakesATaskOrAnEvaluator() {
    Place worker = place(Map.of("TF_CONFIG", TF_CONFIG.formatted("worker", 0)));
    assertEquals("worker/0", worker.task().toString());
    assertTrue(place(Map.of("TF_CONFIG", TF_CONFIG.formatted("evaluator", 0))).isEvaluator());
  }

  @Test
  void aLauncherOfRanksMakesARank() {
    Place p = place(Map.of("MILLRACE_RANK", "1", "MILLRACE_SIZE", "4"));
    assertEquals(Mode.RING, p.mode());
    assertTrue(p.rank());
    assertEquals(4, p.workers());
    assertTrue(place(Map.of("OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "2")).rank());
  }

  @Test
  void mpichAndSlurmMakeARank() {
    Place pmi = place(Map.of("PMI_RANK", "1", "PMI_SIZE", "3"));
    assertTrue(pmi.rank());
    assertEquals("ring, 3 ranks: a rank", pmi.toString());
    Map<String, String> slurm =
        Map.of(
            "SLURM_PROCID",
            "0",
            "SLURM_NTASKS",
            "4",
            "SLURM_STEP_ID",
            "0",
            "SLURM_JOB_ID",
            "7",
            "SLURM_STEP_NUM_NODES",
            "1",
            "SLURM_STEP_NUM_TASKS",
            "4");
    assertTrue(place(slurm).rank());
    assertEquals(4, place(slurm).workers());
    // A flag of the mode counts more: every shell of a job of Slurm has these.
    assertEquals(Mode.LOCAL, place(slurm, "--mode=local").mode());
  }

  @Test
  void aPlaceThatMakesNoSenseIsRefused() {
    assertRefused("add --job_name", Map.of(), "--ps_hosts=h:1", "--worker_hosts=h:2");
    assertRefused("of which cluster", Map.of(), "--job_name=worker", "--task_index=0");
    String[] hosts = {"--ps_hosts=h:1", "--worker_hosts=h:2"};
    assertRefused("Use --task_index", Map.of(), hosts[0], hosts[1], "--job_name=worker");
    assertRefused(
        "ps/0 and worker/0 have the same address, h:1",
        Map.of(),
        "--ps_hosts=h:1",
        "--worker_hosts=h:1",
        "--job_name=worker",
        "--task_index=0");
    String sparse =
        "{\"cluster\":{\"ps\":[\"h:1\"],\"worker\":{\"0\":\"h:2\",\"2\":\"h:3\"}},"
            + "\"task\":{\"type\":\"worker\",\"index\":0}}";
    assertRefused("leaves out some tasks of job 'worker'", Map.of("TF_CONFIG", sparse));
    assertRefused("leave out --ps and --workers", Map.of(), "--workers=2");
    assertRefused("no parameter servers: leave out --ps", Map.of(), "--mode=ring", "--ps=2");
    assertRefused("it must be one of", Map.of(), "--mode", "fast");
    assertRefused(
        "has no tasks",
        Map.of(),
        "--mode=ring",
        "--ps_hosts=h:1",
        "--worker_hosts=h:2",
        "--job_name=worker",
        "--task_index=0");
    assertRefused(
        "training needs ps and worker",
        Map.of(),
        "--worker_hosts=h:2",
        "--job_name=worker",
        "--task_index=0");
  }

  private static void assertRefused(String part, Map<String, String> variables, String... args) {
    MillraceException e = assertThrows(MillraceException.class, () -> place(variables, args));
    assertTrue(e.getMessage().contains(part), e.getMessage());
  }
}
