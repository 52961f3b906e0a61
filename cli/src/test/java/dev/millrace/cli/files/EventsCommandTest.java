package dev.millrace.cli.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cli.Ran;
import dev.millrace.storage.record.EventWriter;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EventsCommandTest {
  @TempDir Path dir;

  @BeforeEach
  void write() {
    try (EventWriter w = new EventWriter(dir)) {
      for (int i = 0; i <= 100; i++) {
        w.addScalar("loss", 1f / (1 + i), i * 10L);
      }
    }
    try (EventWriter w = new EventWriter(dir.resolve("eval"))) {
      w.addScalar("accuracy, in percent", 97.5f, 1000);
    }
  }

  @Test
  void eachSeriesIsPlottedUnderItsName() {
    String out = Ran.millrace("events", dir.toString()).succeeded();
    assertTrue(out.contains("loss: 0.0099 at step 1000, 101 points"), out);
    assertTrue(out.contains("accuracy, in percent (eval): 97.5"), out);
    List<String> plot = out.lines().dropWhile(l -> !l.startsWith("loss")).skip(1).toList();
    // The curve falls: its beginning is at the top, its end at the bottom.
    assertTrue(plot.getFirst().matches("         1 \u2502[\u2801-\u28ff].*"), out);
    assertEquals(80, plot.get(10).length(), out);
    assertTrue(plot.get(11).matches(" *\u25140 +1000"), out);
  }

  @Test
  void csvHasOneLinePerPoint() {
    List<String> lines =
        Ran.millrace("events", dir.toString(), "--csv").succeeded().lines().toList();
    assertEquals("run,tag,step,time,value", lines.getFirst());
    assertEquals(1 + 101 + 1, lines.size());
    assertTrue(
        lines.get(1).matches("eval,\"accuracy, in percent\",1000,\\d+\\.\\d+,97.5"), lines.get(1));
    assertTrue(lines.get(2).matches(",loss,0,\\d+\\.\\d+,1.0"), lines.get(2));
  }

  @Test
  void tagsAreFilteredAndUnknownOnesNamed() {
    String out = Ran.millrace("events", dir.toString(), "--tag", "loss", "--json").succeeded();
    assertTrue(out.contains("\"loss\"") && !out.contains("accuracy"), out);
    Ran.millrace("events", dir.toString(), "--tag", "lost").wasRefusedFor("lost", "loss");
  }

  @Test
  void whatIsNotThereIsNamed(@TempDir Path empty) {
    Ran.millrace("events", empty.toString()).wasRefusedFor(empty.toString(), "tfevents");
    Path none = empty.resolve("none");
    Ran.millrace("events", none.toString()).wasRefusedFor(none.toString());
  }
}
