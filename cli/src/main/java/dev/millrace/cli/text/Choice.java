package dev.millrace.cli.text;

import java.util.Arrays;
import java.util.stream.Collectors;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads one of a few words from the command line, and names them all when it is another. */
public record Choice<E extends Enum<E>>(Class<E> type) implements ITypeConverter<E> {
  @Override
  public E convert(String word) {
    return Arrays.stream(type.getEnumConstants())
        .filter(e -> e.toString().equalsIgnoreCase(word))
        .findFirst()
        .orElseThrow(
            () ->
                new TypeConversionException(
                    Arrays.stream(type.getEnumConstants())
                        .map(Object::toString)
                        .collect(Collectors.joining(", ", "'" + word + "' is none of ", ""))));
  }
}
