package dev.millrace.interop.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class MatchTest {
  private final List<String> turns = new ArrayList<>();

  @Test
  void contendersTakeTurnsInChangingOrderAfterAWarmUp() {
    Match match = new Match(2, Duration.ofMillis(1));
    List<Match.Result> results = match.play(List.of(new Fake("a", 10), new Fake("b", 30)));
    List<String> warmUp = List.of("a", "a", "a", "b", "b", "b");
    assertEquals(warmUp, turns.subList(0, 6));
    assertEquals(List.of("a", "b", "b", "a"), turns.subList(6, turns.size()));
    assertEquals(2, results.getFirst().samples().size());
  }

  @Test
  void theTableHasMediansAndTheRatioToTheFirst() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Match match = new Match(3, Duration.ofMillis(1));
    Match.print(
        new PrintStream(bytes, true, StandardCharsets.UTF_8),
        "question",
        match.play(List.of(new Fake("a", 10), new Fake("b", 30))));
    String last = bytes.toString(StandardCharsets.UTF_8).lines().toList().getLast();
    assertTrue(last.matches(" +b +30\\.0 .* 3\\.00"), last);
  }

  @Test
  void aSampleCountsEveryStep() {
    int[] count = {0};
    long start = System.nanoTime();
    Sample sample = Sample.of(() -> count[0]++, Duration.ofMillis(20));
    double seconds = (System.nanoTime() - start) / 1e9;
    // It took no longer than it did with everything around it, and no shorter than it should.
    assertTrue(sample.stepsPerSecond() * seconds > count[0] * 0.999, sample.toString());
    assertTrue(sample.stepsPerSecond() * 0.020 < count[0] * 1.001, sample.toString());
    assertEquals(sample, Sample.ofLine(sample.toLine()));
  }

  @Test
  void aSampleCountsWhatAStepAllocates() {
    byte[][] kept = new byte[1][];
    Sample sample = Sample.of(() -> kept[0] = new byte[1 << 20], Duration.ofMillis(20));
    assertTrue(sample.heapBytes() >= 1 << 20, sample.toString());
    assertEquals(0, sample.nativeAllocations());
  }

  @Test
  void aContenderInAProcessOfItsOwnAnswersLikeOneHere() {
    try (ContenderProcess empty =
        ContenderProcess.start(TensorFlowLocal.Empty.class, List.of("1"))) {
      assertTrue(empty.name().contains("1 thread"), empty.name());
      assertTrue(empty.run(Duration.ofMillis(50)).stepsPerSecond() > 0);
    }
  }

  private final class Fake implements Contender {
    private final String name;
    private final double rate;

    Fake(String name, double rate) {
      this.name = name;
      this.rate = rate;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public Sample run(Duration duration) {
      turns.add(name);
      return new Sample(rate, 1e6 / rate, 1e6 / rate, 0);
    }

    @Override
    public void close() {}
  }
}
