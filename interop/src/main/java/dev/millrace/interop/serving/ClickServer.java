package dev.millrace.interop.serving;

import dev.millrace.interop.ChildProcess;
import dev.millrace.serving.server.ModelServer;
import dev.millrace.serving.server.ModelServerOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/** The process of a server: tells its ports and serves until its standard input ends. */
final class ClickServer {
  private ClickServer() {}

  static void main(String[] args) throws IOException {
    ModelServerOptions options =
        ModelServerOptions.of(Map.of(ClickExport.MODEL, Path.of(args[0]))).withPorts(0, 0);
    try (ModelServer server = ModelServer.start(options)) {
      ChildProcess.reply(System.out, server.restPort() + " " + server.grpcPort());
      while (System.in.read() >= 0) {
        // Nothing is said.
      }
    }
    Runtime.getRuntime().halt(0);
  }
}
