package dev.millrace.cli.launch;

import dev.millrace.cluster.spec.ClusterSpec;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The tasks of a job and what they share while the job runs, such as ports or a coordinator. */
public interface JobPlan extends AutoCloseable {
  /** The tasks to start. Called again when all of them must start again together. */
  List<JobTask> tasks() throws IOException;

  /** The tasks that can be asked how they are; empty if there are none. */
  default Optional<ClusterSpec> watched() {
    return Optional.empty();
  }

  /** Releases what the tasks share. */
  @Override
  void close();
}
