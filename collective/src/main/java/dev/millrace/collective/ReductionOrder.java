package dev.millrace.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.member.Packet;
import java.util.ArrayList;
import java.util.List;

/**
 * What the negotiator tells the ranks: to run operations that all of them have submitted, or that
 * one of them has failed, or news. All ranks get orders in the same order.
 */
sealed interface ReductionOrder {
  /**
   * Run these operations as one: either a single one or several all-reduces of one kind.
   *
   * @param number runs up from 0
   * @param reports whether the rank that gets this is to say when it is done
   * @param requests what to run, as the first rank has submitted it
   * @param sizes for an all-gather every rank's rows; for an all-to-all the rows from every rank to
   *     every rank, row by row; for a sequence the bytes of a bucket; else empty
   */
  record Run(long number, boolean reports, List<Request> requests, long[] sizes)
      implements ReductionOrder {}

  /** An operation has failed on all ranks; the job goes on. */
  record Failed(Request.Key key, MillraceException cause) implements ReductionOrder {}

  /** All ranks have joined, this one last. */
  record AllJoined(int last) implements ReductionOrder {}

  /** Something a person should know. */
  record Warning(String text) implements ReductionOrder {}

  default Packet pack() {
    Packet p = Packet.empty();
    switch (this) {
      case Run r -> {
        p.putByte(0).putLong(r.number).putByte(r.reports ? 1 : 0).putInt(r.requests.size());
        r.requests.forEach(q -> q.write(p));
        p.putLongs(r.sizes);
      }
      case Failed f -> {
        p.putByte(1).putInts(f.key.members().stream().mapToInt(i -> i).toArray());
        p.putString(f.key.name()).putInt(f.cause.code().number()).putString(f.cause.getMessage());
      }
      case AllJoined j -> p.putByte(2).putInt(j.last);
      case Warning w -> p.putByte(3).putString(w.text);
    }
    return p;
  }

  static ReductionOrder unpack(Packet p) {
    int type = p.getByte();
    return switch (type) {
      case 0 -> {
        long number = p.getLong();
        boolean reports = p.getByte() == 1;
        int count = p.getInt();
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
          requests.add(Request.read(p));
        }
        yield new Run(number, reports, requests, p.getLongs());
      }
      case 1 -> {
        List<Integer> members = java.util.Arrays.stream(p.getInts()).boxed().toList();
        Request.Key key = new Request.Key(members, p.getString());
        yield new Failed(key, new MillraceException(Code.of(p.getInt()), p.getString()));
      }
      case 2 -> new AllJoined(p.getInt());
      case 3 -> new Warning(p.getString());
      default -> throw MillraceException.internal("An order of unknown type %d came.", type);
    };
  }
}
