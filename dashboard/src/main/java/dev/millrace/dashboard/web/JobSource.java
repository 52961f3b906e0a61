package dev.millrace.dashboard.web;

import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobSnapshot;
import dev.millrace.dashboard.watch.JobWatch;
import dev.millrace.dashboard.watch.StepTimeline;
import java.util.List;

/** What the page shows: a job that is watched, or a simulated one in tests. */
public interface JobSource {
  /** The job now. */
  JobSnapshot state();

  /** What was blamed so far, the oldest first. */
  List<JobVerdict> blamed();

  /** What the tasks printed, and what happened to them. */
  JobLog log();

  /** Records the next steps of all tasks, and waits for that. */
  StepTimeline record(int steps);

  /** A job that {@code watch} watches. */
  static JobSource of(JobWatch watch) {
    return new JobSource() {
      @Override
      public JobSnapshot state() {
        return watch.state();
      }

      @Override
      public List<JobVerdict> blamed() {
        return watch.blamed();
      }

      @Override
      public JobLog log() {
        return watch.log();
      }

      @Override
      public StepTimeline record(int steps) {
        return watch.record(steps);
      }
    };
  }
}
