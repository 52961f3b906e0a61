package dev.millrace.dashboard.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.storage.record.EventWriter;
import dev.millrace.testkit.Slow;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The page in a real Chromium. With {@code -Dmillrace.test.pictures=FOLDER} it leaves pictures
 * there.
 */
@Slow
@Timeout(300)
class PageTest {
  private static final String MARKUP = "<img src=x onerror=document.title='broken'>";

  @TempDir Path temp;
  private final AtomicLong seconds = new AtomicLong();
  private final long start = System.currentTimeMillis();
  private Chromium browser;
  private DashboardServer server;

  @BeforeEach
  void start() throws Exception {
    if (!Chromium.isThere()) {
      System.err.println("== Chromium is missing (apt install chromium): the page is not tested");
    }
    org.junit.jupiter.api.Assumptions.assumeTrue(Chromium.isThere(), "no Chromium");
    browser = new Chromium();
  }

  @AfterEach
  void close() {
    if (server != null) {
      server.close();
    }
    if (browser != null) {
      browser.close();
    }
  }

  private SimulatedJob serve(int servers, int workers, String suffix) throws Exception {
    Path folder = temp.resolve("runs/mnist-now");
    for (String run : List.of("mnist-before", "mnist-now")) {
      try (EventWriter events = new EventWriter(temp.resolve("runs").resolve(run))) {
        for (int s = 0; s < 3000; s += 50) {
          events.addScalar(
              "accuracy", (float) (0.97 - 0.8 / (1 + s / (run.endsWith("w") ? 90. : 160.))), s);
          events.addScalar("loss", (float) (2.2 / (1 + s / (run.endsWith("w") ? 120. : 200.))), s);
        }
      }
    }
    Files.writeString(
        folder.resolve("graph.pbtxt"),
        """
        node { name: "dense/weights" op: "VariableV2" device: "/job:ps/task:0" }
        node { name: "dense/matmul" op: "MatMul" input: "dense/weights" device: "/job:worker/task:0" }
        node { name: "loss/<b>mean</b>" op: "Mean" input: "dense/matmul" device: "/job:worker/task:0" }
        node { name: "train/update" op: "ApplyAdam" input: "loss/<b>mean</b>" device: "/job:ps/task:0" }
        """);
    SimulatedJob job =
        new SimulatedJob(() -> start + 1000 * seconds.get(), servers, workers, folder, suffix);
    server = DashboardServer.start(job, 0);
    return job;
  }

  private void open() throws Exception {
    browser.open(server.address());
    browser.await("document.getElementById('live').textContent === 'live'");
  }

  private String text(String id) {
    return (String) browser.eval("document.getElementById('" + id + "').textContent");
  }

  private void assertQuiet() {
    assertEquals(List.of(), browser.complaints);
    String origin = server.address().replaceFirst("/\\?.*", "");
    for (String r : browser.requests) {
      assertTrue(r.startsWith(origin + "/") || r.equals("about:blank"), r);
    }
  }

  private void picture(String name) throws Exception {
    String folder = System.getProperty("millrace.test.pictures");
    if (folder != null) {
      browser.picture(Path.of(folder, name + ".png"));
    }
  }

  // README claim: see-dashboard
  @Test
  void thePageIsThereWithinASecondAndLives() throws Exception {
    SimulatedJob job = serve(1, 4, "");
    browser.look(1200, 1000, false, false);
    open();
    // The second visit: what a person waits for is this, not the start of Chromium.
    browser.open(server.address());
    browser.await("document.getElementById('live').textContent === 'live'");
    double loaded =
        ((Number) browser.eval("performance.getEntriesByType('navigation')[0].loadEventEnd"))
            .doubleValue();
    assertTrue(loaded > 0 && loaded < 1000, "loaded after " + loaded + " ms");
    assertEquals("Nothing is slow", text("verdict-state"));
    String before = text("facts");
    job.slow = "worker/2";
    seconds.addAndGet(10);
    browser.await("document.getElementById('verdict-text').textContent.includes('worker/2')");
    assertTrue(text("verdict-text").contains("its batch has 200 examples"), text("verdict-text"));
    assertFalse(before.equals(text("facts")));
    browser.await("document.getElementById('matrix').textContent.includes('▲ worker/2')");
    picture("dashboard");
    browser.look(1200, 1000, false, true);
    picture("dashboard-dark");
    browser.look(390, 844, true, false);
    assertEquals(
        true,
        browser.eval("document.documentElement.scrollWidth <= window.innerWidth"),
        "the page of a phone does not scroll sideways");
    picture("dashboard-phone");
    browser.look(1200, 1000, false, false);
    browser.eval("document.getElementById('curves').scrollIntoView()");
    picture("dashboard-curves");
    browser.eval("document.getElementById('cluster').scrollIntoView()");
    picture("dashboard-cluster");
    job.gone = "worker/1";
    seconds.addAndGet(2);
    browser.await("document.getElementById('verdict-text').textContent.includes('worker/1')");
    browser.await("document.getElementById('matrix').textContent.includes('✕')");
    assertQuiet();
  }

  @Test
  void theControlsWork() throws Exception {
    serve(1, 4, "");
    browser.look(1200, 1000, false, false);
    open();
    browser.eval(
        "document.getElementById('theme').click(); document.getElementById('theme').click()");
    assertEquals("dark", browser.eval("document.documentElement.dataset.theme"));
    assertEquals("Colours: dark", text("theme"));
    browser.eval(
        "{ const f = document.getElementById('filter'); f.value = 'worker/3';"
            + " f.dispatchEvent(new Event('input')); }");
    assertEquals(1, browser.eval("document.querySelectorAll('#matrix tbody tr').length"));
    browser.eval("document.querySelector('#matrix tbody button').click()");
    browser.await("document.querySelectorAll('#task-charts figure').length > 2");
    assertEquals("worker/3", text("task-name"));
    browser.eval("document.getElementById('task-close').click()");
    assertEquals(true, browser.eval("document.getElementById('task-card').hidden"));
    browser.await("document.querySelectorAll('#event-charts figure').length === 2");
    assertEquals(
        1,
        browser.eval("document.querySelectorAll('#event-charts figure:first-child path').length"));
    browser.eval("document.querySelectorAll('#runs input')[1].click()");
    browser.await(
        "document.querySelectorAll('#event-charts figure:first-child path').length === 2");
    zoom();
    browser.eval(
        "{ const w = document.getElementById('log-warnings'); w.checked = true;"
            + " w.dispatchEvent(new Event('change')); }");
    browser.await("document.querySelectorAll('#log-lines .warning').length === 1");
    browser.await("document.querySelectorAll('#log-lines div').length === 1");
    browser.await("document.getElementById('graph-table').textContent.includes('ps/0')");
    assertQuiet();
  }

  /** Drags over a chart, then goes on with the keyboard. */
  @SuppressWarnings("unchecked")
  private void zoom() throws Exception {
    String chart = "document.querySelector('#event-charts svg')";
    browser.eval(chart + ".scrollIntoView({block: 'center'})");
    String ends = chart + ".querySelectorAll('text')[4].textContent";
    String all = (String) browser.eval(ends);
    Map<String, Object> box =
        (Map<String, Object>)
            browser.eval(
                "(() => { const b = "
                    + chart
                    + ".getBoundingClientRect();"
                    + " return {x: b.x, y: b.y, w: b.width, h: b.height}; })()");
    double x = ((Number) box.get("x")).doubleValue();
    double w = ((Number) box.get("w")).doubleValue();
    double y = ((Number) box.get("y")).doubleValue() + 60;
    browser.mouse("mousePressed", x + w * 0.3, y);
    browser.mouse("mouseMoved", x + w * 0.5, y);
    browser.mouse("mouseReleased", x + w * 0.5, y);
    String zoomed = (String) browser.eval(ends);
    assertFalse(all.equals(zoomed), zoomed);
    browser.eval(chart + ".focus()");
    browser.key("0");
    assertEquals(all, browser.eval(ends));
    browser.key("+");
    assertFalse(all.equals(browser.eval(ends)));
  }

  @Test
  void namesWithMarkupAreText() throws Exception {
    SimulatedJob job = serve(1, 3, MARKUP);
    job.slow = "worker/1" + MARKUP;
    job.log().line("worker/0" + MARKUP, MARKUP);
    job.log().event("worker/0" + MARKUP, MARKUP, true);
    browser.look(1200, 1000, false, false);
    open();
    seconds.addAndGet(3);
    browser.await("document.querySelectorAll('#log-lines div').length >= 3");
    browser.await("document.getElementById('graph-table').textContent.includes('loss')");
    browser.eval("document.querySelector('#matrix tbody button').click()");
    browser.await("!document.getElementById('task-card').hidden");
    assertEquals(
        0,
        browser.eval(
            "document.images.length + document.querySelectorAll('b').length"
                + " - document.querySelectorAll('figcaption b').length"
                + " - document.querySelectorAll('#log-lines b').length"));
    assertTrue(text("matrix").contains(MARKUP), text("matrix"));
    assertFalse("broken".equals(browser.eval("document.title")));
    assertQuiet();
  }

  @Test
  @SuppressWarnings("unchecked")
  void aThousandTasksStayReadable() throws Exception {
    SimulatedJob job = serve(16, 984, "");
    job.slow = "worker/700";
    browser.look(1200, 1000, false, false);
    open();
    browser.await("document.querySelectorAll('#matrix tbody tr').length === 40");
    assertTrue(text("matrix").contains("worker/700"), "the slow one is among those shown");
    double before = seconds("ThreadTime");
    long began = System.nanoTime();
    seconds.addAndGet(1);
    browser.await("new Promise(r => setTimeout(() => r(true), 12000))");
    double passed = (System.nanoTime() - began) / 1e9;
    double busy = (seconds("TaskDuration") - before) / passed;
    browser.call("HeapProfiler.collectGarbage", Map.of());
    double heap = ((Number) browser.eval("performance.memory.usedJSHeapSize")).doubleValue() / 1e6;
    System.err.printf("== 1,000 tasks: %.1f MB, %.1f %% of a core%n", heap, 100 * busy);
    assertTrue(heap < 50, heap + " MB");
    picture("dashboard-thousand");
    assertQuiet();
  }

  @SuppressWarnings("unchecked")
  private double seconds(String metric) throws Exception {
    for (Map<String, Object> m :
        (List<Map<String, Object>>)
            browser.call("Performance.getMetrics", Map.of()).get("metrics")) {
      if (m.get("name").equals("TaskDuration")) {
        return ((Number) m.get("value")).doubleValue();
      }
    }
    throw new AssertionError(metric);
  }
}
