package dev.millrace.storage.record;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.proto.Event;
import dev.millrace.storage.Failures;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Reads an event file, also while another process writes it. An incomplete event counts as the end
 * of the file for now.
 */
public final class EventReader implements AutoCloseable {
  private final Path file;
  private final RecordReader records;

  /** Reads from the beginning of {@code file}. */
  public EventReader(Path file) {
    this.file = file;
    this.records = RecordReader.follow(file);
  }

  /**
   * The next event; empty if there is none yet. A later call may find more. The first event of
   * every file is the version.
   */
  public Optional<Event> next() {
    byte[] record = records.next();
    if (record == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(Event.parseFrom(record));
    } catch (InvalidProtocolBufferException e) {
      throw Failures.corrupt(file, "a record is not an event: %s", e.getMessage());
    }
  }

  @Override
  public void close() {
    records.close();
  }
}
