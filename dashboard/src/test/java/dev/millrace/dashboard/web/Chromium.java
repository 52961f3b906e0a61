package dev.millrace.dashboard.web;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * A Chromium without a window, with one page, driven by its DevTools protocol. It notes what the
 * page asks for and what it complains about.
 */
final class Chromium implements AutoCloseable {
  private static final List<Path> PLACES =
      List.of(Path.of("/usr/bin/chromium"), Path.of("/usr/bin/chromium-browser"));
  private static final long PATIENCE_SECONDS = 60;

  private final Path profile;
  private final Process process;
  private final HttpClient client = HttpClient.newHttpClient();
  private final WebSocket socket;
  private final AtomicInteger ids = new AtomicInteger();
  private final Map<Integer, CompletableFuture<Map<String, Object>>> calls =
      new ConcurrentHashMap<>();
  private final String session;

  /** The addresses that were asked for. */
  final List<String> requests = new CopyOnWriteArrayList<>();

  /** Errors and warnings of the page. */
  final List<String> complaints = new CopyOnWriteArrayList<>();

  /** Whether there is one on this machine. */
  static boolean isThere() {
    return PLACES.stream().anyMatch(Files::isExecutable);
  }

  Chromium() throws Exception {
    profile = Files.createTempDirectory("chromium");
    Path program = PLACES.stream().filter(Files::isExecutable).findFirst().orElseThrow();
    process =
        new ProcessBuilder(
                program.toString(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-extensions",
                "--disable-component-update",
                "--no-first-run",
                "--remote-debugging-port=0",
                "--user-data-dir=" + profile,
                "about:blank")
            .redirectErrorStream(true)
            .redirectOutput(profile.resolve("out.txt").toFile())
            .start();
    Path port = profile.resolve("DevToolsActivePort");
    await("Chromium listens", () -> lines(port).size() >= 2);
    List<String> lines = lines(port);
    socket =
        client
            .newWebSocketBuilder()
            .buildAsync(URI.create("ws://127.0.0.1:" + lines.get(0) + lines.get(1)), new Listener())
            .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    Object target = call(null, "Target.createTarget", Map.of("url", "about:blank")).get("targetId");
    session =
        (String)
            call(null, "Target.attachToTarget", Map.of("targetId", target, "flatten", true))
                .get("sessionId");
    for (String domain : List.of("Page", "Runtime", "Network", "Log", "Performance")) {
      call(domain + ".enable", Map.of());
    }
  }

  private static List<String> lines(Path file) {
    try {
      return Files.isRegularFile(file) ? Files.readAllLines(file) : List.of();
    } catch (IOException e) {
      return List.of();
    }
  }

  /** Waits until {@code is} is true. */
  static void await(String what, Supplier<Boolean> is) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!is.get()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("Not within " + PATIENCE_SECONDS + " s: " + what);
      }
      LockSupport.parkNanos(20_000_000);
    }
  }

  private final class Listener implements WebSocket.Listener {
    private final StringBuilder text = new StringBuilder();

    @Override
    public CompletionStage<?> onText(WebSocket webSocket, CharSequence data, boolean last) {
      text.append(data);
      if (last) {
        String whole = text.toString();
        text.setLength(0);
        try {
          received(JSON.std.mapFrom(whole));
        } catch (IOException e) {
          complaints.add(e.toString());
        }
      }
      webSocket.request(1);
      return null;
    }
  }

  @SuppressWarnings("unchecked")
  private void received(Map<String, Object> message) {
    if (message.get("id") instanceof Integer id) {
      calls.remove(id).complete(message);
      return;
    }
    Map<String, Object> p = (Map<String, Object>) message.get("params");
    switch ((String) message.get("method")) {
      case "Network.requestWillBeSent" ->
          requests.add((String) ((Map<String, Object>) p.get("request")).get("url"));
      case "Runtime.consoleAPICalled" -> {
        if (List.of("error", "warning", "assert").contains(p.get("type"))) {
          complaints.add(String.valueOf(p.get("args")));
        }
      }
      case "Runtime.exceptionThrown" -> complaints.add(String.valueOf(p.get("exceptionDetails")));
      case "Log.entryAdded" -> complaints.add(String.valueOf(p.get("entry")));
      default -> {}
    }
  }

  @SuppressWarnings("unchecked")
  private Map<String, Object> call(String to, String method, Map<String, Object> parameters)
      throws Exception {
    int id = ids.incrementAndGet();
    CompletableFuture<Map<String, Object>> answer = new CompletableFuture<>();
    calls.put(id, answer);
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("id", id);
    m.put("method", method);
    m.put("params", parameters);
    if (to != null) {
      m.put("sessionId", to);
    }
    socket.sendText(JSON.std.asString(m), true).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    Map<String, Object> whole = answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    if (whole.get("error") != null) {
      throw new AssertionError(method + ": " + whole.get("error"));
    }
    return (Map<String, Object>) whole.get("result");
  }

  Map<String, Object> call(String method, Map<String, Object> parameters) throws Exception {
    return call(session, method, parameters);
  }

  /** The size of the page, and whether the user likes it dark. */
  void look(int width, int height, boolean phone, boolean dark) throws Exception {
    call(
        "Emulation.setDeviceMetricsOverride",
        Map.of(
            "width", width, "height", height, "deviceScaleFactor", phone ? 2 : 1, "mobile", phone));
    call(
        "Emulation.setEmulatedMedia",
        Map.of(
            "features",
            List.of(Map.of("name", "prefers-color-scheme", "value", dark ? "dark" : "light"))));
  }

  void open(String address) throws Exception {
    call("Page.navigate", Map.of("url", address));
  }

  /** The value of an expression in the page. */
  @SuppressWarnings("unchecked")
  Object eval(String expression) {
    try {
      Map<String, Object> result =
          call(
              "Runtime.evaluate",
              Map.of("expression", expression, "returnByValue", true, "awaitPromise", true));
      if (result.get("exceptionDetails") != null) {
        throw new AssertionError(expression + ": " + result.get("exceptionDetails"));
      }
      return ((Map<String, Object>) result.get("result")).get("value");
    } catch (Exception e) {
      throw new AssertionError(expression, e);
    }
  }

  /** Waits until an expression in the page is true; one that fails is not. */
  void await(String expression) {
    String tried =
        "(async () => { try { return !!(await ("
            + expression
            + ")); } catch { return false; } })()";
    await(expression, () -> Boolean.TRUE.equals(eval(tried)));
  }

  void key(String key) throws Exception {
    call("Input.dispatchKeyEvent", Map.of("type", "keyDown", "key", key, "code", key));
    call("Input.dispatchKeyEvent", Map.of("type", "keyUp", "key", key, "code", key));
  }

  void mouse(String type, double x, double y) throws Exception {
    call(
        "Input.dispatchMouseEvent",
        Map.of("type", type, "x", x, "y", y, "button", "left", "clickCount", 1));
  }

  /** Writes a picture of what is visible. */
  void picture(Path file) throws Exception {
    Map<String, Object> shot = call("Page.captureScreenshot", Map.of("format", "png"));
    Files.createDirectories(file.getParent());
    Files.write(file, Base64.getDecoder().decode((String) shot.get("data")));
  }

  @Override
  public void close() {
    try {
      call(null, "Browser.close", Map.of());
    } catch (Exception e) {
      // It may have closed the connection before the answer.
    }
    List<ProcessHandle> all = new ArrayList<>(process.descendants().toList());
    all.add(process.toHandle());
    try {
      process.waitFor(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    all.forEach(ProcessHandle::destroyForcibly);
    client.shutdownNow();
    try (Stream<Path> files = Files.walk(profile)) {
      files.sorted(java.util.Comparator.reverseOrder()).forEach(f -> f.toFile().delete());
    } catch (IOException | java.io.UncheckedIOException e) {
      // Left to the system's cleaning of temporary files.
    }
  }
}
