package dev.millrace.serving.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import com.google.protobuf.Int64Value;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.proto.serving.GetModelMetadataRequest;
import dev.millrace.proto.serving.GetModelStatusRequest;
import dev.millrace.proto.serving.ModelSpec;
import dev.millrace.proto.serving.PredictRequest;
import dev.millrace.proto.serving.PredictResponse;
import dev.millrace.serving.ClickModel;
import dev.millrace.serving.grpc.ServingMethods;
import dev.millrace.serving.served.ServingLimits;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The REST API and the gRPC services, version changes under load, and hostile callers. */
class ModelServerTest {
  private static final Duration DEADLINE = Duration.ofSeconds(30);
  private static final String[] SITES = {"a.org", "zzz"};
  private static final long[] ADS = {1, 2};
  private static final float[] PRICES = {.5f, 2};

  @TempDir Path folder;
  private ClickModel model;
  private ModelServer server;
  private HttpClient http;

  @BeforeEach
  void start() throws IOException {
    model = new ClickModel(folder.resolve("sites.txt"), 5);
    model.export(folder.resolve("click").resolve("1"));
    http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  }

  @AfterEach
  void close() {
    if (server != null) {
      server.close();
    }
    http.close();
    model.close();
  }

  private void serve(ServingLimits limits) {
    server =
        ModelServer.start(
            ModelServerOptions.of(Map.of("click", folder.resolve("click")))
                .withPorts(0, 0)
                .withPollEvery(Duration.ofMillis(20))
                .withLimits(limits));
  }

  private HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return http.send(request(path).GET().build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> post(String path, String body)
      throws IOException, InterruptedException {
    return http.send(
        request(path).POST(HttpRequest.BodyPublishers.ofString(body)).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.restPort() + path))
        .timeout(DEADLINE);
  }

  private static final String ROWS =
      "{\"instances\": [{\"site\": \"a.org\", \"ad\": 1, \"price\": 0.5},"
          + " {\"site\": {\"b64\": \"enp6\"}, \"ad\": 2, \"price\": 2}]}";

  @Test
  void restAnswersInRowsAndInColumns() throws Exception {
    serve(ServingLimits.DEFAULT);
    float[] expected = model.expected(SITES, ADS, PRICES);
    HttpResponse<String> rows = post("/v1/models/click:predict", ROWS);
    assertEquals(200, rows.statusCode(), rows.body());
    List<?> predictions = (List<?>) JSON.std.mapFrom(rows.body()).get("predictions");
    assertEquals(expected[1], first(predictions.get(1)), 1e-6);
    HttpResponse<String> columns =
        post(
            "/v1/models/click/versions/1:predict",
            "{\"inputs\": {\"site\": [\"a.org\", \"zzz\"], \"ad\": [1, 2], \"price\": [0.5, 2]},"
                + " \"signature_name\": \"serving_default\"}");
    assertEquals(200, columns.statusCode(), columns.body());
    List<?> outputs = (List<?>) JSON.std.mapFrom(columns.body()).get("outputs");
    assertEquals(expected[0], first(outputs.get(0)), 1e-6);
    // Not numbers go in and out as such.
    HttpResponse<String> nan =
        post(
            "/v1/models/click:predict",
            "{\"instances\": [{\"site\": \"a\", \"ad\": 1, \"price\": NaN}]}");
    assertEquals("{\"predictions\":[[NaN]]}", nan.body());
  }

  private static double first(Object list) {
    return ((Number) ((List<?>) list).get(0)).doubleValue();
  }

  @Test
  void restTellsStatusMetadataHealthAndMetrics() throws Exception {
    serve(ServingLimits.DEFAULT);
    assertEquals(
        "{\"model_version_status\":[{\"version\":\"1\",\"state\":\"AVAILABLE\",\"status\":"
            + "{\"error_code\":\"OK\",\"error_message\":\"\"}}]}",
        get("/v1/models/click").body());
    Map<String, Object> metadata = JSON.std.mapFrom(get("/v1/models/click/metadata").body());
    assertTrue(metadata.toString().contains("dtype=DT_STRING"), metadata.toString());
    assertEquals("ok\n", get("/healthz").body());
    assertEquals(200, get("/readyz").statusCode());
    post("/v1/models/click:predict", ROWS);
    String metrics = get("/metrics").body();
    assertTrue(
        metrics.contains(
            "millrace_serving_requests_total{model=\"click\",method=\"predict\",api=\"rest\","
                + "code=\"OK\"} 1\n"),
        metrics);
    assertTrue(metrics.contains("millrace_serving_model_version{model=\"click\"} 1\n"), metrics);
  }

  @Test
  void mistakesHaveTheRightStatusAndSayWhatIsWrong() throws Exception {
    serve(ServingLimits.DEFAULT);
    String at = "/v1/models/click:predict";
    assertAnswer(400, "instances", post(at, "{}"));
    assertAnswer(400, "not JSON", post(at, "{\"instances\": [{"));
    assertAnswer(400, "not JSON", post(at, "instances"));
    assertAnswer(400, "cannot hold", post(at, row("\"ad\": 1e30", "\"price\": 1")), "not one");
    assertAnswer(400, "is missing", post(at, "{\"instances\": [{\"site\": \"a\"}]}"));
    assertAnswer(400, "ragged", post(at, "{\"inputs\": {\"price\": [[1, 2], [3]]}}"));
    assertAnswer(400, "Closest: price", post(at, row("\"ad\": 1", "\"prize\": 1")));
    assertAnswer(
        400,
        "no signature 'x'",
        post(at, ROWS.replace("{\"inst", "{\"signature_name\":\"x\",\"inst")));
    assertAnswer(400, "nesting depth", post(at, "[".repeat(100_000)), "must be a JSON object");
    assertAnswer(
        400,
        "nested more than 32 deep",
        post(at, "{\"inputs\": {\"price\": " + "[".repeat(100_000) + "]".repeat(100_000) + "}}"));
    assertAnswer(404, "no model 'clock'", post("/v1/models/clock:predict", ROWS));
    assertAnswer(404, "version 7", post("/v1/models/click/versions/7:predict", ROWS));
    assertAnswer(404, "labelled 'x'", post("/v1/models/click/labels/x:predict", ROWS));
    assertAnswer(404, "nothing at", get("/etc/passwd"));
    assertAnswer(405, "POST", get(at));
    assertAnswer(
        400, "Ask it by predict", post("/v1/models/click:classify", "{\"examples\": [{}]}"));
    assertEquals(200, post(at, ROWS).statusCode());
  }

  private static String row(String ad, String price) {
    return "{\"instances\": [{\"site\": \"a\", " + ad + ", " + price + "}]}";
  }

  private static void assertAnswer(int status, String part, HttpResponse<String> r, String... or)
      throws IOException {
    assertEquals(status, r.statusCode(), r.body());
    String error = String.valueOf(JSON.std.mapFrom(r.body()).get("error"));
    assertTrue(error.contains(part) || List.of(or).stream().anyMatch(error::contains), error);
  }

  @Test
  void grpcPredictsAndTellsStatusAndMetadata() throws Exception {
    serve(ServingLimits.DEFAULT);
    ManagedChannel channel = channel();
    try {
      PredictResponse r = predict(channel, ModelSpec.newBuilder().setName("click"));
      assertEquals(1, r.getModelSpec().getVersion().getValue());
      try (Tensor out = TensorCodec.decode(r.getOutputsOrThrow("click"))) {
        assertArrayEquals(model.expected(SITES, ADS, PRICES), out.toFloats(), 1e-6f);
      }
      ModelSpec spec = ModelSpec.newBuilder().setName("click").build();
      assertEquals(
          30,
          call(
                  channel,
                  ServingMethods.STATUS,
                  GetModelStatusRequest.newBuilder().setModelSpec(spec).build())
              .getModelVersionStatus(0)
              .getStateValue());
      assertTrue(
          call(
                  channel,
                  ServingMethods.METADATA,
                  GetModelMetadataRequest.newBuilder()
                      .setModelSpec(spec)
                      .addMetadataField("signature_def")
                      .build())
              .containsMetadata("signature_def"));
      StatusRuntimeException e =
          assertThrows(
              StatusRuntimeException.class,
              () ->
                  predict(
                      channel,
                      ModelSpec.newBuilder().setName("click").setVersion(Int64Value.of(9))));
      assertEquals(Status.Code.NOT_FOUND, e.getStatus().getCode());
    } finally {
      channel.shutdownNow();
    }
  }

  private ManagedChannel channel() {
    return NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
  }

  private static <Q, R> R call(
      ManagedChannel channel, io.grpc.MethodDescriptor<Q, R> method, Q request) {
    return ClientCalls.blockingUnaryCall(
        channel,
        method,
        CallOptions.DEFAULT.withDeadlineAfter(DEADLINE.toSeconds(), TimeUnit.SECONDS),
        request);
  }

  private static PredictResponse predict(ManagedChannel channel, ModelSpec.Builder spec) {
    try (Tensor site = Tensor.vector(SITES);
        Tensor ad = Tensor.vector(ADS);
        Tensor price = Tensor.vector(PRICES)) {
      return call(
          channel,
          ServingMethods.PREDICT,
          PredictRequest.newBuilder()
              .setModelSpec(spec)
              .putInputs("site", TensorCodec.encode(site))
              .putInputs("ad", TensorCodec.encode(ad))
              .putInputs("price", TensorCodec.encode(price))
              .build());
    }
  }

  @Test
  void versionsChangeTenTimesUnderLoadWithoutAnError() throws Exception {
    serve(ServingLimits.DEFAULT);
    AtomicBoolean stop = new AtomicBoolean();
    AtomicLong answers = new AtomicLong();
    ManagedChannel channel = channel();
    try (ExecutorService pool = Executors.newFixedThreadPool(4)) {
      List<Future<?>> callers =
          List.of(
              pool.submit(() -> rest(stop, answers)),
              pool.submit(() -> rest(stop, answers)),
              pool.submit(() -> grpc(channel, stop, answers)),
              pool.submit(() -> grpc(channel, stop, answers)));
      try {
        for (long v = 2; v <= 11; v++) {
          model.export(folder.resolve("click").resolve(Long.toString(v)));
          awaitVersion(v);
        }
      } finally {
        stop.set(true);
      }
      for (Future<?> c : callers) {
        c.get(30, TimeUnit.SECONDS);
      }
      assertTrue(answers.get() > 100, answers + " answers");
      assertAnswer(404, "version 1", post("/v1/models/click/versions/1:predict", ROWS));
    } finally {
      channel.shutdownNow();
    }
  }

  private void awaitVersion(long version) throws Exception {
    long end = Timers.system().now() + DEADLINE.toNanos();
    while (!get("/v1/models/click")
        .body()
        .contains("\"" + version + "\",\"state\":\"AVAILABLE\"")) {
      assertTrue(Timers.system().now() < end, "Version " + version + " did not come.");
      Timers.system().sleep(Duration.ofMillis(10));
    }
  }

  private Void rest(AtomicBoolean stop, AtomicLong answers) throws Exception {
    while (!stop.get()) {
      HttpResponse<String> r = post("/v1/models/click:predict", ROWS);
      assertEquals(200, r.statusCode(), r.body());
      answers.incrementAndGet();
    }
    return null;
  }

  private Void grpc(ManagedChannel channel, AtomicBoolean stop, AtomicLong answers) {
    while (!stop.get()) {
      predict(channel, ModelSpec.newBuilder().setName("click"));
      answers.incrementAndGet();
    }
    return null;
  }

  @Test
  void damagedVersionIsReportedAndTheOldOneGoesOn() throws Exception {
    serve(ServingLimits.DEFAULT);
    Path bad = Files.createDirectories(folder.resolve("click").resolve("2"));
    Files.write(bad.resolve("saved_model.pb"), new byte[] {8, 1, 18, 99});
    long end = Timers.system().now() + DEADLINE.toNanos();
    while (!get("/v1/models/click").body().contains("DATA_LOSS")) {
      assertTrue(Timers.system().now() < end, get("/v1/models/click").body());
      Timers.system().sleep(Duration.ofMillis(10));
    }
    assertEquals(200, post("/v1/models/click:predict", ROWS).statusCode());
  }

  @Test
  void hostileConnectionsAreCutAndOthersServed() throws Exception {
    serve(
        new ServingLimits(
            10_000, 1 << 20, 16, 8, 20, Duration.ofMillis(400), Duration.ofMillis(800)));
    String at = "/v1/models/click:predict";
    assertAnswer(413, "longer than 10000", post(at, " ".repeat(20_000)));
    try (Socket silent = connect("");
        Socket slowHeader = connect("POST " + at + " HTT");
        Socket slowBody =
            connect("POST " + at + " HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{");
        Socket lies =
            connect("POST " + at + " HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n");
        Socket chunks =
            connect(
                "POST "
                    + at
                    + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4e20\r\n"
                    + "x".repeat(20_000));
        Socket longHeader =
            connect("GET / HTTP/1.1\r\nHost: x\r\nX: " + "y".repeat(50_000) + "\r\n\r\n");
        Socket garbage = connect("\u0016\u0003\u0001 no HTTP at all\r\n\r\n")) {
      assertEquals(200, post(at, ROWS).statusCode());
      assertEquals("", all(silent));
      assertEquals("", all(slowHeader));
      assertStatus(408, slowBody);
      assertStatus(413, lies);
      assertStatus(413, chunks);
      assertStatus(431, longHeader);
      assertStatus(400, garbage);
      assertEquals(200, post(at, ROWS).statusCode());
    }
  }

  /** Connections that wait, silent or in the midst of a request, do not keep others out. */
  @Test
  void heldConnectionsMakeRoomForOthers() throws Exception {
    serve(
        new ServingLimits(10_000, 1 << 20, 16, 8, 9, Duration.ofMinutes(2), Duration.ofMinutes(2)));
    String at = "/v1/models/click:predict";
    List<Socket> held = new ArrayList<>();
    try {
      for (int i = 0; i < 3; i++) {
        held.add(connect(""));
        held.add(connect("POST " + at + " HTT"));
        held.add(connect("POST " + at + " HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{"));
      }
      long end = Timers.system().now() + DEADLINE.toNanos();
      int status = 0;
      while (status == 0) {
        try {
          status = post(at, ROWS).statusCode();
        } catch (IOException e) {
          assertTrue(Timers.system().now() < end, "no room was made");
          Timers.system().sleep(Duration.ofMillis(50));
        }
      }
      assertEquals(200, status);
    } finally {
      for (Socket s : held) {
        s.close();
      }
    }
  }

  private static void assertStatus(int status, Socket s) throws IOException {
    String answer = all(s);
    assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), status + " expected: " + answer);
  }

  private Socket connect(String bytes) throws IOException {
    Socket s = new Socket(InetAddress.getLoopbackAddress(), server.restPort());
    s.setSoTimeout((int) DEADLINE.toMillis());
    s.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
    s.getOutputStream().flush();
    return s;
  }

  /** What comes until the server closes the connection. */
  private static String all(Socket s) throws IOException {
    return new String(s.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
  }

  @Test
  void otherAddressesNeedConsent() {
    ModelServerOptions o = ModelServerOptions.of(Map.of("click", folder.resolve("click")));
    ModelServerOptions open =
        new ModelServerOptions(
            o.models(),
            o.labels(),
            1,
            o.pollEvery(),
            "0.0.0.0",
            0,
            0,
            false,
            o.predictor(),
            o.limits());
    MillraceException e =
        assertThrows(MillraceException.class, () -> ModelServer.start(open).close());
    assertTrue(e.getMessage().contains("--insecure"), e.getMessage());
  }

  @Test
  void stopAnswersWhatIsUnderWay() throws Exception {
    serve(ServingLimits.DEFAULT);
    assertEquals(200, post("/v1/models/click:predict", ROWS).statusCode());
    assertTrue(server.stop(Duration.ofSeconds(5)));
    assertThrows(IOException.class, () -> get("/healthz"));
  }
}
