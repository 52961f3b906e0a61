package dev.millrace.train.data;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The lines of CSV files. Fields may be quoted, with doubled quotes inside. */
record CsvLines(List<Path> files, CsvFormat format) implements Dataset {
  @Override
  public int positionLength() {
    return 2;
  }

  @Override
  public Elements elements() {
    return new FileElements(files.size()) {
      private Path file;
      private BufferedReader reader;
      private long line;

      @Override
      void open(int number) {
        file = files.get(number);
        line = 0;
        try {
          reader = Files.newBufferedReader(file);
        } catch (IOException e) {
          throw unreadable(file, e);
        }
        if (format.header()) {
          readLine();
        }
      }

      private String readLine() {
        try {
          line++;
          return reader.readLine();
        } catch (IOException e) {
          throw unreadable(file, e);
        }
      }

      @Override
      Tensor[] read() {
        String text = readLine();
        while (text != null && text.isBlank()) {
          text = readLine();
        }
        return text == null ? null : parse(text, file + " line " + line);
      }

      @Override
      void closeFile() {
        try {
          reader.close();
        } catch (IOException e) {
          throw unreadable(file, e);
        }
      }
    };
  }

  private Tensor[] parse(String text, String place) {
    List<String> fields = fields(text, format.separator());
    if (fields.size() != format.types().size()) {
      throw MillraceException.invalid(
          "%s has %d fields; %d were expected.", place, fields.size(), format.types().size());
    }
    Tensor[] element = new Tensor[fields.size()];
    for (int i = 0; i < element.length; i++) {
      element[i] = value(fields.get(i), format.types().get(i), place, i);
    }
    return element;
  }

  private static Tensor value(String field, DType type, String place, int column) {
    if (type == DType.STRING) {
      return Tensor.scalar(field);
    }
    Tensor t = Tensor.allocate(type, Shape.scalar());
    try {
      if (type.isFloating()) {
        t.setDouble(0, Double.parseDouble(field.strip()));
      } else {
        long value = Long.parseLong(field.strip());
        t.setLong(0, value);
        if (t.longValue() != value) {
          throw new NumberFormatException("out of range");
        }
      }
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "%s: field %d is '%s', which is not a %s.", place, column + 1, field, type);
    }
    return t;
  }

  static List<String> fields(String line, char separator) {
    List<String> fields = new ArrayList<>();
    StringBuilder field = new StringBuilder();
    boolean quoted = false;
    for (int i = 0; i < line.length(); i++) {
      char c = line.charAt(i);
      if (quoted && c == '"' && i + 1 < line.length() && line.charAt(i + 1) == '"') {
        field.append('"');
        i++;
      } else if (c == '"' && (quoted || field.isEmpty())) {
        quoted = !quoted;
      } else if (c == separator && !quoted) {
        fields.add(field.toString());
        field.setLength(0);
      } else {
        field.append(c);
      }
    }
    fields.add(field.toString());
    return fields;
  }

  private static MillraceException unreadable(Path file, IOException e) {
    return new MillraceException(Code.NOT_FOUND, "Cannot read " + file + ": " + e, e);
  }
}
