package dev.millrace.dashboard.web;

import com.fasterxml.jackson.jr.ob.JSON;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.dashboard.watch.JobSnapshot;
import dev.millrace.dashboard.watch.TaskState;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the live page of a job on a port of the loopback address, to whoever knows its key ({@link
 * PageAccess}). The page is a file, a script and a style sheet; what they show comes as JSON. No
 * request changes the job; one has the tasks record their next steps.
 *
 * <p>Threading: any thread; each request has a virtual thread.
 */
public final class DashboardServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DashboardServer.class);
  private static final JSON JSON_WRITER = JSON.std.without(JSON.Feature.HANDLE_JAVA_BEANS);
  private static final int MOST_LINES = 500;
  private static final int TRACED_STEPS = 20;

  private static final Map<String, String> FILES =
      Map.of(
          "/", "text/html; charset=utf-8",
          "/page.js", "text/javascript; charset=utf-8",
          "/page.css", "text/css; charset=utf-8",
          "/icon.svg", "image/svg+xml");

  private static final Map<String, String> HEADERS =
      Map.of(
          "Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src"
              + " 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          "X-Content-Type-Options",
          "nosniff",
          "Referrer-Policy",
          "no-referrer",
          "Cross-Origin-Resource-Policy",
          "same-origin",
          "Cross-Origin-Opener-Policy",
          "same-origin",
          "Cache-Control",
          "no-store");

  private final JobSource job;
  private final HttpServer server;
  private final PageAccess access;
  private final Curves curves = new Curves();

  /** One recording at a time: a second one would end the first. */
  private final Semaphore recording = new Semaphore(1);

  private final GraphPicture graph = new GraphPicture();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  private DashboardServer(JobSource job, HttpServer server) {
    this.job = job;
    this.server = server;
    this.access =
        new PageAccess(Context.current().platform().secureRandom(), server.getAddress().getPort());
  }

  /** Serves from now on. A port of 0 takes any that is free. */
  public static DashboardServer start(JobSource job, int port) {
    try {
      HttpServer server =
          HttpServer.create(
              new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port), 0);
      DashboardServer d = new DashboardServer(job, server);
      server.createContext("/", d::handle);
      server.setExecutor(d.threads);
      server.start();
      return d;
    } catch (IOException e) {
      throw new MillraceException(
          Code.UNAVAILABLE,
          "The dashboard cannot listen on port "
              + port
              + " of 127.0.0.1: "
              + e.getMessage()
              + ". Choose another with --dashboard-port.",
          e);
    }
  }

  /** The address to open in a browser; it has the key. */
  public String address() {
    return access.address();
  }

  /** The key that programs send as a bearer token. */
  public String key() {
    return access.key();
  }

  private void handle(HttpExchange request) throws IOException {
    try (request) {
      HEADERS.forEach(request.getResponseHeaders()::set);
      switch (access.check(request)) {
        case REFUSED ->
            send(
                request,
                401,
                "text/plain; charset=utf-8",
                "Open the address that the command printed: it has the key of this page.\n");
        case EXCHANGE -> {
          request.getResponseHeaders().set("Set-Cookie", access.cookie());
          request.getResponseHeaders().set("Location", "/");
          request.sendResponseHeaders(303, -1);
        }
        case WELCOME -> answer(request);
      }
    } catch (RuntimeException e) {
      LOG.warn("The dashboard could not answer {}: {}", request.getRequestURI(), e.toString());
      send(request, 500, "text/plain; charset=utf-8", "The answer failed; see the log.\n");
    }
  }

  private void answer(HttpExchange request) throws IOException {
    if (!request.getRequestMethod().equals("GET")) {
      send(request, 405, "text/plain; charset=utf-8", "Only GET.\n");
      return;
    }
    String path = request.getRequestURI().getPath();
    if (FILES.containsKey(path)) {
      file(request, path);
      return;
    }
    if (path.equals("/metrics")) {
      send(
          request, 200, "text/plain; version=0.0.4; charset=utf-8", PrometheusText.of(job.state()));
      return;
    }
    Object value = json(path, parameters(request));
    if (value == null) {
      send(request, 404, "text/plain; charset=utf-8", "There is nothing at this address.\n");
    } else {
      send(request, 200, "application/json", JSON_WRITER.asString(value));
    }
  }

  private Object json(String path, Map<String, String> parameters) {
    JobSnapshot state = job.state();
    return switch (path) {
      case "/api/job" -> JobJson.job(state, job.blamed(), job.log());
      case "/api/series" -> JobJson.series(state);
      case "/api/task" ->
          state.tasks().stream()
              .filter(t -> t.name().equals(parameters.get("name")))
              .findFirst()
              .map(JobJson::history)
              .orElse(null);
      case "/api/log" ->
          JobJson.lines(
              job.log()
                  .after(
                      number(parameters.get("after")),
                      parameters.getOrDefault("task", ""),
                      parameters.getOrDefault("text", ""),
                      parameters.containsKey("warnings"),
                      MOST_LINES));
      case "/api/runs" -> folder(state).map(curves::runs).orElse(List.of());
      case "/api/curves" ->
          folder(state)
              .map(f -> curves.of(f, List.of(parameters.getOrDefault("runs", "").split("\n", -1))))
              .orElse(Map.of());
      case "/api/trace" -> {
        recording.acquireUninterruptibly();
        try {
          yield job.record(TRACED_STEPS).json();
        } finally {
          recording.release();
        }
      }
      case "/api/graph" -> folder(state).map(graph::of).orElse(Map.of());
      default -> null;
    };
  }

  private static Optional<Path> folder(JobSnapshot state) {
    return state.tasks().stream()
        .map((TaskState t) -> t.note("folder"))
        .filter(f -> !f.isEmpty())
        .findFirst()
        .map(Path::of);
  }

  private static long number(String text) {
    try {
      return text == null ? 0 : Long.parseLong(text);
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  private static Map<String, String> parameters(HttpExchange request) {
    Map<String, String> found = new HashMap<>();
    String query = request.getRequestURI().getRawQuery();
    if (query != null) {
      for (String pair : query.split("&", -1)) {
        int at = pair.indexOf('=');
        String value = at < 0 ? "" : pair.substring(at + 1);
        try {
          found.put(
              at < 0 ? pair : pair.substring(0, at),
              URLDecoder.decode(value, StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
          found.put(pair, "");
        }
      }
    }
    return found;
  }

  private static void file(HttpExchange request, String path) throws IOException {
    String name = path.equals("/") ? "page.html" : path.substring(1);
    try (InputStream in = DashboardServer.class.getResourceAsStream(name)) {
      byte[] bytes = in.readAllBytes();
      request.getResponseHeaders().set("Content-Type", FILES.get(path));
      request.sendResponseHeaders(200, bytes.length);
      request.getResponseBody().write(bytes);
    }
  }

  private static void send(HttpExchange request, int code, String type, String text)
      throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    request.getResponseHeaders().set("Content-Type", type);
    request.sendResponseHeaders(code, bytes.length);
    request.getResponseBody().write(bytes);
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
