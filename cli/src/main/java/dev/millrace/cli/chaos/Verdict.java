package dev.millrace.cli.chaos;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.job.Mode;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.CheckpointFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Compares what the parameter servers have counted at the end with what the workers were told. An
 * update that was acknowledged counts once in every variable, one that was begun and whose worker
 * was killed once or not at all.
 *
 * <p>Threading: one thread.
 */
final class Verdict {
  /** Shares of synchronous updates need not be exact. */
  private static final double SMALL = 1e-2;

  private final ChaosSettings settings;
  private final Path folder;
  private final int[] begun = new int[CountingModel.SLOTS];
  private final int[] acknowledged = new int[CountingModel.SLOTS];
  private final List<String> findings = new ArrayList<>();
  private long updates;
  private long abandoned;
  private double lost;
  private double doubled;
  private double globalStep;

  Verdict(ChaosSettings settings, Path folder) {
    this.settings = settings;
    this.folder = folder;
  }

  /** Looks at the parameter servers, the histories and the last checkpoint. */
  void read(String address) throws IOException {
    for (int w = 0; w < settings.workers(); w++) {
      for (TaskHistory.Event e : TaskHistory.read(folder, new TaskId("worker", w))) {
        if (e.kind() == TaskHistory.Kind.UP) {
          continue;
        }
        int slot = ChaosTask.slot(e.update(), w, settings.workers());
        if (e.kind() == TaskHistory.Kind.BEGUN) {
          begun[slot]++;
          abandoned++;
        } else {
          acknowledged[slot]++;
          updates++;
          abandoned--;
        }
      }
    }
    Scope scope = Scope.of(new Graph(StandardOps.registry()));
    CountingModel.Counters model = CountingModel.Counters.of(scope, settings.ps());
    ConfigProto servers = ConfigProto.newBuilder().addDeviceFilters("/job:ps").build();
    try (var session = new ClusterSession(scope.graph(), "grpc://" + address, servers)) {
      try (Tensor t = session.fetch(model.globalStep().read())) {
        globalStep = t.longValue();
      }
      for (int ps = 0; ps < settings.ps(); ps++) {
        try (Tensor ledger = session.fetch(model.ledgers().get(ps).read());
            Tensor ballast = session.fetch(model.ballasts().get(ps).read());
            Tensor table = session.fetch(model.tables().get(ps).read())) {
          slots("ledger" + ps, ledger.toFloats(), 1);
          slots("table" + ps, table.toFloats(), CountingModel.WIDTH);
          total("ballast" + ps, ballast.toFloats());
        }
      }
    }
    total("global_step", new float[] {(float) globalStep});
    checkpoint();
  }

  /**
   * How many updates a count of 1 stands for. A synchronous step applies the average over all
   * workers; that of a row is over those who have a gradient of it, which is one.
   */
  private double share() {
    return settings.mode() == Mode.SYNC ? settings.workers() : 1;
  }

  private void slots(String name, float[] values, int width) {
    for (int slot = 0; slot < CountingModel.SLOTS; slot++) {
      for (int i = 0; i < width; i++) {
        judge(
            name + "[" + slot + "]",
            values[slot * width + i],
            acknowledged[slot],
            begun[slot],
            i == 0);
      }
    }
  }

  private void total(String name, float[] values) {
    for (int i = 0; i < values.length; i++) {
      judge(name, values[i] * share(), updates, updates + abandoned, i == 0);
    }
  }

  private void judge(String name, double count, long least, long most, boolean counts) {
    if (count < least - SMALL) {
      lost += counts ? least - count : 0;
      finding("%s counts %.2f; %d updates were acknowledged", name, count, least);
    } else if (count > most + SMALL) {
      doubled += counts ? count - most : 0;
      finding("%s counts %.2f; %d updates were begun", name, count, most);
    }
  }

  private void finding(String format, Object... args) {
    if (findings.size() < 20) {
      findings.add(String.format(Locale.ROOT, format, args));
    }
  }

  private void checkpoint() throws IOException {
    Path latest = CheckpointFolder.latest(folder.resolve("train")).orElse(null);
    if (latest == null) {
      finding("there is no checkpoint");
      return;
    }
    try (BundleReader reader = new BundleReader(latest)) {
      for (String name : reader.names()) {
        reader.read(name).close();
      }
    } catch (MillraceException e) {
      finding("the last checkpoint cannot be read: %s", e.getMessage());
    }
  }

  long updates() {
    return updates;
  }

  long abandoned() {
    return abandoned;
  }

  double lost() {
    return lost;
  }

  double doubled() {
    return doubled;
  }

  double globalStep() {
    return globalStep;
  }

  List<String> findings() {
    return findings;
  }
}
