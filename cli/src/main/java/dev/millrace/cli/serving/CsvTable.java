package dev.millrace.cli.serving;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The rows of a CSV file with a header, with the lines they began in. Fields may be quoted. */
final class CsvTable implements AutoCloseable {
  private final String file;
  private final char separator;
  private final BufferedReader in;
  private final List<String> header;
  private long lines;
  private long line;

  /** Opens a file; {@code -} is the standard input. */
  CsvTable(String file, char separator) {
    this.file = file.equals("-") ? "standard input" : file;
    this.separator = separator;
    try {
      in =
          new BufferedReader(
              new InputStreamReader(
                  file.equals("-") ? System.in : Files.newInputStream(Path.of(file)),
                  StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new MillraceException(Code.NOT_FOUND, file + " cannot be read: " + e, e);
    }
    header = next();
    if (header == null) {
      throw MillraceException.invalid(
          "%s is empty; its first line must name the columns.", this.file);
    }
  }

  List<String> header() {
    return header;
  }

  /** The place of the last row, for messages: the file and the line. */
  String place() {
    return file + ", line " + line;
  }

  /** The next row; null at the end. Empty lines are skipped. */
  List<String> next() {
    try {
      String text = readLine();
      while (text != null && text.isEmpty()) {
        text = readLine();
      }
      if (text == null) {
        return null;
      }
      line = lines;
      List<String> fields = fields(text);
      if (header != null && fields.size() != header.size()) {
        throw MillraceException.invalid(
            "%s: %d fields, but the header has %d.", place(), fields.size(), header.size());
      }
      return fields;
    } catch (IOException e) {
      throw new MillraceException(
          Code.DATA_LOSS, file + " cannot be read behind line " + lines + ": " + e, e);
    }
  }

  private String readLine() throws IOException {
    String text = in.readLine();
    lines += text == null ? 0 : 1;
    return lines == 1 && text != null && text.startsWith("\uFEFF") ? text.substring(1) : text;
  }

  private List<String> fields(String first) throws IOException {
    List<String> fields = new ArrayList<>();
    StringBuilder field = new StringBuilder();
    String text = first;
    boolean quoted = false;
    int i = 0;
    while (true) {
      if (i == text.length()) {
        if (!quoted) {
          fields.add(field.toString());
          return fields;
        }
        text = readLine();
        if (text == null) {
          throw MillraceException.invalid(
              "%s: a quote is opened and not closed before the end of the file.", place());
        }
        field.append('\n');
        i = 0;
        continue;
      }
      char c = text.charAt(i++);
      if (quoted) {
        if (c != '"') {
          field.append(c);
        } else if (i < text.length() && text.charAt(i) == '"') {
          field.append('"');
          i++;
        } else {
          quoted = false;
        }
      } else if (c == '"' && field.isEmpty()) {
        quoted = true;
      } else if (c == separator) {
        fields.add(field.toString());
        field.setLength(0);
      } else {
        field.append(c);
      }
    }
  }

  @Override
  public void close() {
    try {
      in.close();
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }
}
