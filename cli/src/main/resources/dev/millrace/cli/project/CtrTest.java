package com.example;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.job.JobResult;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class CtrTest {
  @TempDir Path folder;

  /** All tasks of the cluster are in this process, and talk over sockets as processes do. */
  @Test
  @Timeout(120)
  void learnsOnACluster() {
    JobResult result =
        Ctr.job().start("--mode=async", "--ps=1", "--workers=2", "--log-dir", folder.toString());
    assertTrue(result.step() >= result.steps(), result.line());
    assertTrue(result.metrics().get("accuracy") > .7, result.line());
  }
}
