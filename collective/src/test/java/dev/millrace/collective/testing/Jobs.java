package dev.millrace.collective.testing;

import dev.millrace.collective.Settings;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.member.Timeouts;
import dev.millrace.collective.peers.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Jobs whose ranks are threads of the test but talk as processes do. */
public final class Jobs {
  /** Patient enough for a busy machine. */
  public static final Timeouts TERMS =
      new Timeouts(Duration.ofSeconds(30), Duration.ofSeconds(20), Duration.ofSeconds(5));

  private Jobs() {}

  /** Settings for each rank of a new job on this host. */
  public static List<Settings> settings(int size, Transport transport) {
    String job = "test-" + UUID.randomUUID();
    List<Settings> all = new ArrayList<>();
    for (int r = 0; r < size; r++) {
      RankConfig place = new RankConfig(r, size, null, null, null, "127.0.0.1", job, r == 0);
      all.add(Settings.of(place).withTransport(transport).withTerms(TERMS));
    }
    return all;
  }
}
