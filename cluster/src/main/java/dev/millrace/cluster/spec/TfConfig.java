package dev.millrace.cluster.spec;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.jr.ob.JSON;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ForeignVariables;
import dev.millrace.base.context.Context;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A cluster and a task of it, as the environment variable {@code TF_CONFIG} gives them: {@code
 * {"cluster": {"ps": ["host:port"], "worker": {"1": "host:port"}}, "task": {"type": "worker",
 * "index": 1}}}. Tasks stand in a list or by number.
 *
 * @param task null if none is given
 */
public record TfConfig(ClusterSpec cluster, TaskId task) {
  /** The environment variable. */
  public static final String VARIABLE = "TF_CONFIG";

  private static final JsonFactory STRICT =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(50).build())
          .build();

  /** What this process was given, or null. */
  public static TfConfig ofEnvironment() {
    return Context.current()
        .config()
        .find(ForeignVariables.TF_CONFIG)
        .map(TfConfig::parse)
        .orElse(null);
  }

  /** Parses the variable's value. */
  public static TfConfig parse(String text) {
    if (!(json(text) instanceof Map<?, ?> config)) {
      throw wrong("it must be an object with 'cluster' and 'task'");
    }
    if (!(config.get("cluster") instanceof Map<?, ?> jobs)) {
      throw wrong("'cluster' must be an object with the addresses of each job");
    }
    Map<String, Map<Integer, String>> spec = new TreeMap<>();
    jobs.forEach((job, tasks) -> spec.put((String) job, addresses((String) job, tasks)));
    return new TfConfig(ClusterSpec.ofSparse(spec), task(config.get("task")));
  }

  private static Object json(String text) {
    try (JsonParser parser = STRICT.createParser(text)) {
      Object value = JSON.std.anyFrom(parser);
      if (parser.nextToken() != null) {
        throw notJson(parser.currentTokenLocation(), "more follows after the end of the value");
      }
      return value;
    } catch (JacksonException e) {
      throw notJson(e.getLocation(), e.getOriginalMessage());
    } catch (IOException e) {
      throw new UncheckedIOException("A string cannot fail to be read", e);
    }
  }

  private static MillraceException notJson(JsonLocation at, String what) {
    return MillraceException.invalid(
        "%s cannot be used. Not JSON at line %d, column %d: %s.",
        VARIABLE, at == null ? 1 : at.getLineNr(), at == null ? 1 : at.getColumnNr(), what);
  }

  private static Map<Integer, String> addresses(String job, Object tasks) {
    Map<Integer, String> byIndex = new TreeMap<>();
    switch (tasks) {
      case List<?> list -> list.forEach(a -> byIndex.put(byIndex.size(), String.valueOf(a)));
      case Map<?, ?> map ->
          map.forEach((i, a) -> byIndex.put(index(String.valueOf(i)), String.valueOf(a)));
      case null, default -> throw wrong("job '" + job + "' must have a list of addresses");
    }
    return byIndex;
  }

  private static TaskId task(Object task) {
    if (task == null) {
      return null;
    }
    if (task instanceof Map<?, ?> t && t.get("type") instanceof String job) {
      return new TaskId(job, index(String.valueOf(t.get("index"))));
    }
    throw wrong("'task' must have a 'type' and an 'index'");
  }

  private static int index(String s) {
    try {
      return Integer.parseInt(s);
    } catch (NumberFormatException e) {
      throw wrong("'" + s + "' is not a task's number");
    }
  }

  private static MillraceException wrong(String what) {
    return MillraceException.invalid("%s cannot be used: %s.", VARIABLE, what);
  }
}
