package dev.millrace.cli.launch;

import java.io.IOException;
import java.util.List;

/** The tasks of a job and what they share while the job runs, such as ports or a coordinator. */
public interface JobPlan extends AutoCloseable {
  /** The tasks to start. Called again when all of them must start again together. */
  List<JobTask> tasks() throws IOException;

  /** Releases what the tasks share. */
  @Override
  void close();

  /** A plan whose tasks share nothing. */
  static JobPlan of(List<JobTask> tasks) {
    return new JobPlan() {
      @Override
      public List<JobTask> tasks() {
        return tasks;
      }

      @Override
      public void close() {
        // Nothing is shared.
      }
    };
  }
}
