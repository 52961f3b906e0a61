package dev.millrace.dashboard.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the server of the page answers, and to whom. */
@Timeout(60)
class DashboardServerTest {
  private static final List<String> PATHS =
      List.of(
          "/",
          "/page.js",
          "/page.css",
          "/icon.svg",
          "/metrics",
          "/api/job",
          "/api/series",
          "/api/task?name=ps%2F0%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
          "/api/log",
          "/api/runs",
          "/api/curves?runs=x",
          "/api/graph");

  private final SimulatedJob job =
      new SimulatedJob(() -> 1_700_000_060_000L, 1, 4, null, "<img src=x onerror=alert(1)>");
  private final DashboardServer server = DashboardServer.start(job, 0);
  private final String origin = server.address().replaceFirst("/\\?.*", "");
  private final HttpClient client = HttpClient.newHttpClient();

  @AfterEach
  void close() {
    server.close();
    client.close();
  }

  private HttpResponse<String> get(String path, String... headers) throws Exception {
    HttpRequest.Builder b =
        HttpRequest.newBuilder(URI.create(origin + path)).timeout(Duration.ofSeconds(20));
    if (headers.length > 0) {
      b.headers(headers);
    }
    return client.send(b.build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> known(String path) throws Exception {
    return get(path, "Authorization", "Bearer " + server.key());
  }

  // README claim: see-dashboard
  @Test
  void aStrangerSeesNothingOnAnyPath() throws Exception {
    for (String path : PATHS) {
      for (HttpResponse<String> r :
          List.of(
              get(path),
              get(path, "Authorization", "Bearer 00000000000000000000000000000000"),
              get(path, "Cookie", "millrace_key_1=" + server.key()),
              get(path + (path.contains("?") ? "&" : "?") + "key=" + server.key().substring(1)))) {
        assertEquals(401, r.statusCode(), path);
        assertFalse(r.body().contains("worker"), path);
        assertFalse(r.body().contains("Millrace"), path);
      }
    }
  }

  @Test
  void theAddressGivesACookieThatAdmits() throws Exception {
    HttpResponse<String> first = get("/?key=" + server.key());
    assertEquals(303, first.statusCode());
    assertEquals("/", first.headers().firstValue("Location").orElseThrow());
    String cookie = first.headers().firstValue("Set-Cookie").orElseThrow();
    assertTrue(cookie.endsWith("; Path=/; HttpOnly; SameSite=Strict"), cookie);
    String value = cookie.substring(0, cookie.indexOf(';'));
    for (String path : PATHS) {
      assertEquals(200, get(path, "Cookie", "other=1; " + value).statusCode(), path);
    }
  }

  @Test
  void everyAnswerForbidsWhatThePageDoesNotNeed() throws Exception {
    for (String path : PATHS) {
      for (HttpResponse<String> r : List.of(get(path), known(path), known("/nothing"))) {
        String policy = r.headers().firstValue("Content-Security-Policy").orElse("");
        assertTrue(policy.startsWith("default-src 'none'; script-src 'self';"), policy);
        assertFalse(policy.contains("unsafe"), policy);
        assertEquals("nosniff", r.headers().firstValue("X-Content-Type-Options").orElse(""));
      }
    }
  }

  @Test
  void aHostNameOfOthersIsRefused() throws Exception {
    int port = URI.create(origin).getPort();
    for (String host : List.of("evil.example", "evil.example:" + port, "127.0.0.1.evil.example")) {
      String answer =
          raw(
              port,
              "GET /api/job HTTP/1.1\r\nHost: "
                  + host
                  + "\r\nAuthorization: Bearer "
                  + server.key()
                  + "\r\nConnection: close\r\n\r\n");
      assertTrue(answer.startsWith("HTTP/1.1 401"), answer);
    }
  }

  @Test
  void garbageIsRefusedAndTheServerGoesOn() throws Exception {
    int port = URI.create(origin).getPort();
    for (String request :
        List.of(
            "\0\1\2\r\n\r\n",
            "GET\r\n\r\n",
            "GET /%zz?%%%=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
      raw(port, request);
    }
    assertEquals(405, post("/api/job"));
    assertEquals(404, known("/api/../../etc/passwd").statusCode());
    assertEquals("{}", known("/api/curves?runs=..%2F..%2Fetc").body());
    assertEquals(200, known("/api/job").statusCode());
  }

  private int post(String path) throws Exception {
    return client
        .send(
            HttpRequest.newBuilder(URI.create(origin + path))
                .header("Authorization", "Bearer " + server.key())
                .POST(HttpRequest.BodyPublishers.ofString("x"))
                .build(),
            HttpResponse.BodyHandlers.ofString())
        .statusCode();
  }

  private static String raw(int port, String request) throws IOException {
    try (Socket s = new Socket(InetAddress.ofLiteral("127.0.0.1"), port)) {
      s.setSoTimeout(20_000);
      s.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      s.getOutputStream().flush();
      s.shutdownOutput();
      return new String(s.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    } catch (java.net.SocketException e) {
      return "";
    }
  }

  @Test
  @SuppressWarnings("unchecked")
  void theJobIsToldAsJson() throws Exception {
    job.slow = "worker/2<img src=x onerror=alert(1)>";
    Map<String, Object> m = JSON.std.mapFrom(known("/api/job").body());
    List<Map<String, Object>> tasks = (List<Map<String, Object>>) m.get("tasks");
    assertEquals(5, tasks.size());
    Map<String, Object> phases = (Map<String, Object>) tasks.get(3).get("phaseMillis");
    assertEquals(12.3, ((Number) phases.get("compute")).doubleValue(), 0.1);
    Map<String, Object> verdict = (Map<String, Object>) m.get("verdict");
    assertEquals(job.slow, verdict.get("task"));
    assertEquals("a larger batch", verdict.get("cause"));
  }

  @Test
  void prometheusUnderstandsTheMetrics() throws Exception {
    String text = known("/metrics").body();
    assertTrue(text.contains("\nmillrace_task_phase_seconds{task=\"worker/0"), text);
    Path tool = Path.of("/usr/bin/promtool");
    if (!tool.toFile().canExecute()) {
      System.err.println(
          "== promtool is missing (apt install prometheus): the metrics are not checked by it");
      return;
    }
    Process p =
        new ProcessBuilder(tool.toString(), "check", "metrics").redirectErrorStream(true).start();
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    try (var in = p.getOutputStream()) {
      in.write(text.getBytes(StandardCharsets.UTF_8));
    }
    p.getInputStream().transferTo(said);
    assertTrue(p.waitFor(20, TimeUnit.SECONDS));
    assertEquals(0, p.exitValue(), said.toString(StandardCharsets.UTF_8));
  }
}
