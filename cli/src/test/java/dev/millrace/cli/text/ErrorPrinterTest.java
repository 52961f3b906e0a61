package dev.millrace.cli.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cli.Millrace;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class ErrorPrinterTest {
  @Test
  void nodesOfAFailedStepAreLeftOut() {
    StringWriter err = new StringWriter();
    CommandLine line = Millrace.commandLine(new Millrace()).setErr(new PrintWriter(err, true));
    int code =
        ErrorPrinter.failed(
            new MillraceException(
                Code.RESOURCE_EXHAUSTED,
                "Cannot write /f: No space left on device.\n\t [[{{node save/SaveV2}}]]"),
            line,
            false);
    assertEquals(ErrorPrinter.FAILURE, code);
    assertEquals(
        "millrace: Cannot write /f: No space left on device.", err.toString().stripTrailing());
  }
}
