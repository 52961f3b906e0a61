package dev.millrace.storage;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.proto.Event;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Reads an event file, also while it is being written: an event that is not complete yet ends the
 * file for now.
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
   * The next event; empty when there is none yet. Ask again later: more may have been written. The
   * first event of every file is its version.
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
