package dev.millrace.cli.text;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.PrettyPrinter;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.JsonGeneratorDelegate;
import com.fasterxml.jackson.core.util.Separators;
import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/**
 * Writes maps, lists, strings, numbers, booleans and nulls as JSON; any other value becomes its
 * {@code toString()}. NaN and the infinities, which JSON does not have, become null.
 */
public final class Json {
  private static final JsonFactory FACTORY = new JsonFactory();

  private static final JSON WRITER = JSON.std.without(JSON.Feature.HANDLE_JAVA_BEANS);

  /** Two spaces per level, {@code "name": value}. */
  private static final DefaultPrettyPrinter INDENTED =
      new DefaultPrettyPrinter(
              Separators.createDefaultInstance()
                  .withObjectFieldValueSpacing(Separators.Spacing.AFTER)
                  .withObjectEmptySeparator("")
                  .withArrayEmptySeparator(""))
          .withObjectIndenter(new DefaultIndenter("  ", "\n"))
          .withArrayIndenter(new DefaultIndenter("  ", "\n"));

  private Json() {}

  /** Returns the text of a value, two spaces per level. */
  public static String of(Object value) {
    return text(value, INDENTED.createInstance());
  }

  /** Returns the text of a value on one line. */
  public static String compact(Object value) {
    return text(value, null);
  }

  /** Returns a string in quotes, as both JSON and YAML read it. */
  static String quoted(String s) {
    // YAML does not allow an unescaped DEL; JSON does.
    return compact(s).replace("\u007f", "\\u007f");
  }

  private static String text(Object value, PrettyPrinter printer) {
    StringWriter text = new StringWriter();
    try (JsonGenerator generator = new FiniteNumbers(FACTORY.createGenerator(text))) {
      generator.setPrettyPrinter(printer);
      WRITER.write(value, generator);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot be written as JSON: " + e.getMessage(), e);
    }
    return text.toString();
  }

  /** Writes null for numbers that are not finite. */
  private static final class FiniteNumbers extends JsonGeneratorDelegate {
    FiniteNumbers(JsonGenerator target) {
      super(target);
    }

    @Override
    public void writeNumber(double value) throws IOException {
      if (Double.isFinite(value)) {
        super.writeNumber(value);
      } else {
        writeNull();
      }
    }

    @Override
    public void writeNumber(float value) throws IOException {
      if (Float.isFinite(value)) {
        super.writeNumber(value);
      } else {
        writeNull();
      }
    }
  }
}
