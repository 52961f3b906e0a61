package dev.millrace.cluster.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TfConfigTest {
  @Test
  void jobsAndTheTaskAreRead() {
    TfConfig c =
        TfConfig.parse(
            """
            {"cluster": {"ps": ["ps0:2222", "ps1:2222"], "worker": {"3": "w3:2222"}},
             "environment": "cloud", "task": {"type": "worker", "index": 3}}
            """);
    assertEquals(new TaskId("worker", 3), c.task());
    assertEquals(
        ClusterSpec.ofSparse(
            Map.of("ps", Map.of(0, "ps0:2222", 1, "ps1:2222"), "worker", Map.of(3, "w3:2222"))),
        c.cluster());
  }

  @Test
  void aTaskMayBeMissingAndItsNumberMayBeText() {
    assertNull(TfConfig.parse("{\"cluster\":{\"a\":[\"h:1\"]}}").task());
    assertEquals(
        new TaskId("a", 0),
        TfConfig.parse("{\"cluster\":{\"a\":[\"h:1\"]},\"task\":{\"type\":\"a\",\"index\":\"0\"}}")
            .task());
    assertEquals(
        ClusterSpec.of(Map.of("a", List.of())),
        TfConfig.parse("{\"cluster\":{\"a\":[]}}").cluster());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "[]",
        "{\"cluster\": 1}",
        "{\"cluster\": {\"ps\": 1}}",
        "{\"cluster\": {}, \"task\": {\"type\": \"ps\"}}",
        "{\"cluster\": {\"ps\": [\"nowhere\"]}}",
        "{\"cluster\": {}} x",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
      })
  void whatCannotBeUsedIsRefused(String text) {
    MillraceException e = assertThrows(MillraceException.class, () -> TfConfig.parse(text));
    assertTrue(e.getMessage().length() > 20, e::getMessage);
    if (e.getMessage().contains("JSON")) {
      assertTrue(e.getMessage().startsWith("TF_CONFIG cannot be used. Not JSON"), e::getMessage);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"a\":1 \"b\":2} | line 1, column 8: ",
        "[1 2 3] | line 1, column 4: ",
        "{\"a\":tru} | line 1, column 6: Unrecognized token 'tru'",
        "{\"a\":1,} | line 1, column 8: ",
        "{\"a\":1,\"a\":2} | line 1, column 11: Duplicate field 'a'",
        "{'a':1} | line 1, column 2: ",
        "{} [] | line 1, column 4: more follows after the end of the value",
        "01 | line 1, column 2: ",
      })
  void malformedJsonIsRefusedWithItsPosition(String text, String message) {
    MillraceException e = assertThrows(MillraceException.class, () -> TfConfig.parse(text));
    assertTrue(
        e.getMessage().startsWith("TF_CONFIG cannot be used. Not JSON at " + message),
        e::getMessage);
  }

  /** The cluster of an Estimator; in another order, as JSON objects may be. */
  @Test
  void theChiefComesBeforeTheWorkers() {
    String jobs = "\"worker\": [\"w0:1\", \"w1:1\"], \"ps\": [\"p:1\"]";
    assertEquals(
        List.of(new TaskId("worker", 0), new TaskId("worker", 1)),
        TfConfig.parse("{\"cluster\": {" + jobs + "}}").cluster().replicas());
    for (String chief : List.of("chief", "master")) {
      assertEquals(
          List.of(new TaskId(chief, 0), new TaskId("worker", 0), new TaskId("worker", 1)),
          TfConfig.parse("{\"cluster\": {" + jobs + ", \"" + chief + "\": [\"c:1\"]}}")
              .cluster()
              .replicas());
    }
    ClusterSpec two = ClusterSpec.of(Map.of("chief", List.of("c:1"), "master", List.of("m:1")));
    assertThrows(MillraceException.class, two::replicas);
  }
}
