package dev.millrace.interop.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.interop.allreduce.AllReduceBenchmark;
import java.util.List;
import org.junit.jupiter.api.Test;

class BenchmarksTest {
  private static final List<String> ALL = AllReduceBenchmark.Settings.DEFAULT.questions();

  private static List<String> asked(String... words) {
    return Benchmarks.allReduces(List.of(words)).questions();
  }

  @Test
  void allReducesAreFoundBySuiteOrPartOfTheirName() {
    assertEquals(ALL, asked());
    assertEquals(ALL, asked("all"));
    assertEquals(ALL, asked("allreduce"));
    assertEquals(ALL, asked("all-reduce"));
    assertEquals(List.of("all-reduce of 4,096 bytes, 2 ranks"), asked(" 4,096 bytes"));
    assertEquals(
        List.of("all-reduce of 65,536 bytes, 2 ranks", "all-reduce of 1,048,576 bytes, 2 ranks"),
        asked("65,536", "1,048"));
    assertEquals(List.of(), asked("local"));
    assertEquals(List.of(), asked("mlp"));
  }
}
