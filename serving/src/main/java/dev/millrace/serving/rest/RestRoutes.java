package dev.millrace.serving.rest;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.SignatureDef;
import dev.millrace.proto.TensorInfo;
import dev.millrace.proto.serving.ClassificationResult;
import dev.millrace.proto.serving.Classifications;
import dev.millrace.proto.serving.Regression;
import dev.millrace.proto.serving.RegressionResult;
import dev.millrace.serving.served.ExampleCalls;
import dev.millrace.serving.served.ModelChoice;
import dev.millrace.serving.served.ServedModels;
import dev.millrace.serving.served.ServingLimits;
import dev.millrace.serving.served.VersionStatus;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The paths of TensorFlow Serving's REST API, and those of health and metrics.
 *
 * <p>Threading: any thread.
 */
final class RestRoutes {
  private static final Pattern MODEL =
      Pattern.compile(
          "/v1/models/([^/:]+)(?:/versions/([0-9]{1,18})|/labels/([^/:]+))?"
              + "(?::(predict|classify|regress)|/(metadata))?");
  private static final String API = "rest";

  private final ServedModels models;
  private final JsonFactory json;

  RestRoutes(ServedModels models, ServingLimits limits) {
    this.models = models;
    json =
        JsonFactory.builder()
            .streamReadConstraints(
                StreamReadConstraints.builder()
                    .maxNestingDepth(limits.jsonDepth())
                    .maxStringLength(limits.bodyBytes())
                    .maxNumberLength(400)
                    .maxNameLength(10_000)
                    .build())
            // Names come from callers: to keep them would be a leak.
            .configure(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES, false)
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .disable(JsonWriteFeature.WRITE_NAN_AS_STRINGS)
            .build();
  }

  /** Whether this path is answered at once, without a thread: it asks how the server is. */
  boolean isQuick(String path) {
    return path.equals("/healthz") || path.equals("/readyz");
  }

  /** The answer to a request. */
  Reply answer(String method, String uri, byte[] body, int length) {
    int query = uri.indexOf('?');
    String path = query < 0 ? uri : uri.substring(0, query);
    boolean get = method.equals("GET");
    if (!get && !method.equals("POST")) {
      return Reply.error(405, "The method " + method + " is not used here; GET and POST are.");
    }
    return switch (path) {
      case "/healthz" -> Reply.text(200, "ok\n");
      case "/readyz" ->
          models.isReady() ? Reply.text(200, "ready\n") : Reply.text(503, "not ready\n");
      case "/metrics", "/monitoring/prometheus/metrics" -> Reply.text(200, models.metricsText());
      case "/v1/models" -> Reply.json(write(this::names));
      default -> {
        Matcher m = MODEL.matcher(path);
        yield m.matches() ? answer(m, get, body, length) : nothingAt(path);
      }
    };
  }

  private static Reply nothingAt(String path) {
    return Reply.error(
        404,
        "There is nothing at "
            + shown(path)
            + ". Models are at /v1/models/NAME[/versions/VERSION|/labels/LABEL], with :predict,"
            + " :classify, :regress or /metadata behind it; and there are /healthz, /readyz and"
            + " /metrics.");
  }

  private void names(JsonGenerator g) throws IOException {
    g.writeStartObject();
    g.writeArrayFieldStart("models");
    for (String name : models.names()) {
      g.writeString(name);
    }
    g.writeEndArray();
    g.writeEndObject();
  }

  private static String shown(String path) {
    return path.length() > 100 ? path.substring(0, 100) + "..." : path;
  }

  private Reply answer(Matcher m, boolean get, byte[] body, int length) {
    String verb = m.group(4) != null ? m.group(4) : m.group(5) != null ? "metadata" : "status";
    boolean asks = m.group(4) == null;
    if (get != asks) {
      return Reply.error(405, "'" + verb + "' is asked with " + (asks ? "GET." : "POST."));
    }
    try {
      ModelChoice choice =
          new ModelChoice(
              decoded(m.group(1)),
              m.group(2) == null ? -1 : Long.parseLong(m.group(2)),
              m.group(3) == null ? "" : decoded(m.group(3)),
              "");
      return Reply.json(
          switch (verb) {
            case "predict" -> predict(choice, body, length);
            case "classify" -> classify(choice, body, length);
            case "regress" -> regress(choice, body, length);
            case "metadata" -> metadata(choice);
            default -> status(choice);
          });
    } catch (MillraceException e) {
      return Reply.error(e);
    }
  }

  private static String decoded(String part) {
    try {
      return URLDecoder.decode(part, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw MillraceException.invalid("'%s' is not encoded as a part of a path.", part);
    }
  }

  private byte[] predict(ModelChoice choice, byte[] body, int length) {
    return models.answer(
        choice,
        "predict",
        API,
        target -> {
          PredictBody request =
              PredictBody.read(json, body, length, n -> target.predictor().signature(n));
          Tensor[] outputs = ServedModels.predict(target, request.signature(), request.inputs());
          try {
            return write(
                g -> {
                  if (request.rows()) {
                    PredictAnswer.rows(g, request.signature(), outputs);
                  } else {
                    PredictAnswer.columns(g, request.signature(), outputs);
                  }
                });
          } finally {
            for (Tensor t : outputs) {
              t.close();
            }
          }
        });
  }

  private byte[] classify(ModelChoice choice, byte[] body, int length) {
    ExamplesBody request = ExamplesBody.read(json, body, length);
    ClassificationResult result =
        models.answer(
            withSignature(choice, request),
            "classify",
            API,
            target -> ExampleCalls.classify(target, request.examples()));
    return write(
        g -> {
          g.writeStartObject();
          g.writeArrayFieldStart("results");
          for (Classifications c : result.getClassificationsList()) {
            g.writeStartArray();
            for (dev.millrace.proto.serving.Class one : c.getClassesList()) {
              g.writeStartArray();
              g.writeString(one.getLabel());
              g.writeNumber(one.getScore());
              g.writeEndArray();
            }
            g.writeEndArray();
          }
          g.writeEndArray();
          g.writeEndObject();
        });
  }

  private byte[] regress(ModelChoice choice, byte[] body, int length) {
    ExamplesBody request = ExamplesBody.read(json, body, length);
    RegressionResult result =
        models.answer(
            withSignature(choice, request),
            "regress",
            API,
            target -> ExampleCalls.regress(target, request.examples()));
    return write(
        g -> {
          g.writeStartObject();
          g.writeArrayFieldStart("results");
          for (Regression r : result.getRegressionsList()) {
            g.writeNumber(r.getValue());
          }
          g.writeEndArray();
          g.writeEndObject();
        });
  }

  private static ModelChoice withSignature(ModelChoice c, ExamplesBody body) {
    return new ModelChoice(c.model(), c.version(), c.label(), body.signature());
  }

  private byte[] status(ModelChoice choice) {
    var all = models.status(choice);
    return write(
        g -> {
          g.writeStartObject();
          g.writeArrayFieldStart("model_version_status");
          for (VersionStatus v : all) {
            g.writeStartObject();
            g.writeStringField("version", Long.toString(v.version()));
            g.writeStringField("state", v.state().name());
            g.writeObjectFieldStart("status");
            g.writeStringField("error_code", v.code().name());
            g.writeStringField("error_message", v.error());
            g.writeEndObject();
            g.writeEndObject();
          }
          g.writeEndArray();
          g.writeEndObject();
        });
  }

  private byte[] metadata(ModelChoice choice) {
    Map.Entry<Long, Map<String, SignatureDef>> found = models.metadata(choice, API);
    return write(
        g -> {
          g.writeStartObject();
          g.writeObjectFieldStart("model_spec");
          g.writeStringField("name", choice.model());
          g.writeStringField("signature_name", "");
          g.writeStringField("version", Long.toString(found.getKey()));
          g.writeEndObject();
          g.writeObjectFieldStart("metadata");
          g.writeObjectFieldStart("signature_def");
          g.writeObjectFieldStart("signature_def");
          for (Map.Entry<String, SignatureDef> e : new TreeMap<>(found.getValue()).entrySet()) {
            g.writeObjectFieldStart(e.getKey());
            infos(g, "inputs", e.getValue().getInputsMap());
            infos(g, "outputs", e.getValue().getOutputsMap());
            g.writeStringField("method_name", e.getValue().getMethodName());
            g.writeEndObject();
          }
          g.writeEndObject();
          g.writeEndObject();
          g.writeEndObject();
          g.writeEndObject();
        });
  }

  private static void infos(JsonGenerator g, String field, Map<String, TensorInfo> infos)
      throws IOException {
    g.writeObjectFieldStart(field);
    for (Map.Entry<String, TensorInfo> e : new TreeMap<>(infos).entrySet()) {
      TensorInfo info = e.getValue();
      g.writeObjectFieldStart(e.getKey());
      g.writeStringField("dtype", info.getDtype().name());
      g.writeObjectFieldStart("tensor_shape");
      g.writeArrayFieldStart("dim");
      for (var dim : info.getTensorShape().getDimList()) {
        g.writeStartObject();
        g.writeStringField("size", Long.toString(dim.getSize()));
        g.writeStringField("name", dim.getName());
        g.writeEndObject();
      }
      g.writeEndArray();
      g.writeBooleanField("unknown_rank", info.getTensorShape().getUnknownRank());
      g.writeEndObject();
      g.writeStringField("name", info.getName());
      g.writeEndObject();
    }
    g.writeEndObject();
  }

  /** Writes JSON. */
  private interface Writer {
    void write(JsonGenerator g) throws IOException;
  }

  private byte[] write(Writer writer) {
    try (ByteArrayBuilder out = new ByteArrayBuilder(1024);
        JsonGenerator g = json.createGenerator(out)) {
      writer.write(g);
      g.flush();
      return out.toByteArray();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
