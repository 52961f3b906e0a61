package dev.millrace.train.simulated;

import dev.millrace.cluster.spec.TaskId;
import java.util.random.RandomGenerator;

/**
 * What a job consists of.
 *
 * @param servers how many parameter servers it has
 * @param workers how many workers, the first of which is the chief
 * @param hasChiefJob whether the chief is a task of a job of its own
 * @param backups workers whose gradients a synchronous step does not wait for
 * @param bound steps a worker may be ahead of the slowest, in bounded mode
 * @param steps after how many global steps it ends
 */
record JobShape(
    CountingModel.Mode mode,
    int servers,
    int workers,
    boolean hasChiefJob,
    int backups,
    int bound,
    int steps) {
  static JobShape random(RandomGenerator r) {
    CountingModel.Mode[] modes = CountingModel.Mode.values();
    CountingModel.Mode mode = modes[r.nextInt(modes.length)];
    int workers = 1 + r.nextInt(4);
    boolean sync = mode == CountingModel.Mode.SYNC;
    return new JobShape(
        mode,
        1 + r.nextInt(3),
        workers,
        r.nextBoolean(),
        sync && workers > 1 ? r.nextInt(Math.min(3, workers)) : 0,
        r.nextInt(4),
        4 + r.nextInt(12));
  }

  TaskId worker(int index) {
    if (!hasChiefJob) {
      return new TaskId("worker", index);
    }
    return index == 0 ? new TaskId("chief", 0) : new TaskId("worker", index - 1);
  }
}
