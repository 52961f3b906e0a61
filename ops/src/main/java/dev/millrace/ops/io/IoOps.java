package dev.millrace.ops.io;

import dev.millrace.graph.Fusion;
import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class IoOps {
  public static final List<Op> ALL =
      Stream.of(
              Checkpoints.ALL,
              SliceTables.ALL,
              ReaderOps.ALL,
              ShardedNames.ALL,
              RegexFullMatch.ALL,
              WholeFiles.ALL,
              ParseExample.ALL,
              ParseSequenceExample.ALL,
              List.of(
                  StringJoin.OP,
                  DecodeRaw.OP,
                  DecodeCsv.OP,
                  FilePattern.MATCHING_FILES,
                  VocabRemapping.OP,
                  RemappedMatrix.OP))
          .flatMap(List::stream)
          .toList();

  /** A save that takes variables at one moment. */
  public static final List<Fusion> FUSIONS = List.of(Checkpoints::match, SliceTables::match);

  private IoOps() {}
}
