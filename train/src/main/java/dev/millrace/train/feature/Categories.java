package dev.millrace.train.feature;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.OneHot;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Bucketize;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.layers.EmbeddingBag;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Categories of an example, as numbers from 0: made of strings or numbers by ops of TensorFlow's,
 * which give its values. A list has several; -1 stands where it has no more.
 *
 * <p>Threading: immutable.
 */
public final class Categories {
  /** The key that TensorFlow's crosses have unless told otherwise. */
  private static final long CROSS_KEY = 0xDECAFCAFFEL;

  private final String name;
  private final List<Column> columns;
  private final long number;

  /** Whether an example may have several. */
  private final boolean list;

  /** Makes a matrix of int64, with the categories of an example in each row. */
  private final Feature.Transform ids;

  private Categories(
      String name, List<Column> columns, long number, boolean list, Feature.Transform ids) {
    if (number < 1) {
      throw MillraceException.invalid("Feature '%s' needs at least one category.", name);
    }
    this.name = name;
    this.columns = List.copyOf(columns);
    this.number = number;
    this.list = list;
    this.ids = ids;
  }

  private static Output matrix(Scope s, Column column, Map<String, Output> all) {
    return Reshape.of(s, all.get(column.name()), Shape.of(-1, column.width()));
  }

  /** Whole numbers from 0 to {@code number - 1}, as they are. */
  public static Categories numbered(Column column, long number) {
    require(column, column.dtype() != DType.STRING, "whole numbers");
    return new Categories(
        column.name(),
        List.of(column),
        number,
        column.list(),
        (v, all) -> Cast.of(v.scope(), matrix(v.scope(), column, all), DType.INT64));
  }

  /** Strings or whole numbers by their hash, as {@code tf.strings.to_hash_bucket_fast}. */
  public static Categories hashed(Column column, long buckets) {
    return new Categories(
        column.name(),
        List.of(column),
        buckets,
        column.list(),
        (v, all) -> {
          Scope s = v.scope();
          Output x = matrix(s, column, all);
          Output hash = hash(s, text(s, x), buckets);
          return column.list() ? Select.of(s, isThere(s, x), hash, none(s, hash)) : hash;
        });
  }

  /** A column of strings by their hash. */
  public static Categories hashed(String name, long buckets) {
    return hashed(Column.of(name, DType.STRING), buckets);
  }

  /**
   * Strings by their place in {@code words}; others by their hash, in {@code others} categories
   * behind those, as in a {@code StaticVocabularyTable}.
   */
  public static Categories vocabulary(Column column, List<String> words, long others) {
    require(column, column.dtype() == DType.STRING, "strings");
    if (others < 1) {
      throw MillraceException.invalid(
          "Feature '%s' needs at least one category for words that are not in the vocabulary.",
          column.name());
    }
    int n = words.size();
    return new Categories(
        column.name(),
        List.of(column),
        n + others,
        column.list(),
        (v, all) -> {
          Scope s = v.scope();
          Output x = matrix(s, column, all);
          Output found = VocabularyTable.find(s, words, x);
          Output unknown = Arithmetic.add(s, hash(s, x, others), Const.of(s, (long) n));
          Output known = Comparisons.greaterEqual(s, found, Const.of(s, 0L));
          Output id = Select.of(s, known, found, unknown);
          return column.list() ? Select.of(s, isThere(s, x), id, none(s, id)) : id;
        });
  }

  /** Numbers by the boundaries that are not above them, as {@code tf.raw_ops.Bucketize}. */
  public static Categories bucketized(Column column, float... boundaries) {
    require(column, column.dtype() != DType.STRING && !column.list(), "single numbers");
    List<Float> all = new ArrayList<>();
    for (float b : boundaries) {
      all.add(b);
    }
    return new Categories(
        column.name(),
        List.of(column),
        boundaries.length + 1L,
        column.width() > 1,
        (v, inputs) ->
            Cast.of(
                v.scope(),
                Bucketize.of(v.scope(), matrix(v.scope(), column, inputs), all),
                DType.INT64));
  }

  /** Combinations of the categories of single columns, as {@code tf.sparse.cross_hashed}. */
  public static Categories crossed(String name, long buckets, Column... crossed) {
    for (Column c : crossed) {
      boolean single = c.dtype() == DType.STRING || c.dtype() == DType.INT64;
      require(c, single && c.width() == 1, "single strings or int64 values to be crossed");
    }
    if (crossed.length < 2) {
      throw MillraceException.invalid("Feature '%s' crosses at least two columns.", name);
    }
    List<DType> types = List.of(crossed).stream().map(Column::dtype).toList();
    return new Categories(
        name,
        List.of(crossed),
        buckets,
        false,
        (v, all) -> {
          Scope s = v.scope();
          List<Output> inputs = List.of(crossed).stream().map(c -> matrix(s, c, all)).toList();
          Output values =
              s.node("SparseCross")
                  .inputs(List.of())
                  .inputs(List.of())
                  .inputs(List.of())
                  .inputs(inputs)
                  .attr("hashed_output", true)
                  .attr("num_buckets", buckets)
                  .attr("hash_key", CROSS_KEY)
                  .attr("out_type", DType.INT64)
                  .attr("internal_type", DType.STRING)
                  .attr("sparse_types", List.of())
                  .attr("dense_types", types)
                  .add()
                  .output(1);
          return Reshape.of(s, values, Shape.of(-1, 1));
        });
  }

  private static void require(Column column, boolean fits, String what) {
    if (!fits) {
      throw MillraceException.invalid(
          "Column '%s' of %s%s does not have %s.",
          column.name(), column.dtype(), column.list() ? " lists" : "", what);
    }
  }

  private static Output text(Scope s, Output x) {
    return x.dtype() == DType.STRING ? x : s.node("AsString").input(x).add().output();
  }

  private static Output hash(Scope s, Output text, long buckets) {
    return s.node("StringToHashBucketFast").input(text).attr("num_buckets", buckets).add().output();
  }

  /** Which places of a list have a value. */
  private static Output isThere(Scope s, Output x) {
    return x.dtype() == DType.STRING
        ? s.node("NotEqual").input(x).input(Const.of(s, "")).add().output()
        : Comparisons.greaterEqual(s, x, Const.of(s, x.dtype(), 0));
  }

  private static Output none(Scope s, Output like) {
    Output zeros = s.node("ZerosLike").input(like).add().output();
    return Arithmetic.sub(s, zeros, Const.of(s, 1L));
  }

  /** The columns that are read for them. */
  public List<Column> columns() {
    return columns;
  }

  /** The numbers of the categories in the graph, a row for each example. */
  public Output ids(VariableScope variables, Map<String, Output> inputs) {
    return ids.apply(variables, inputs);
  }

  /** A vector with 1 for every category that the example has, and 0 for the others. */
  public Feature oneHot() {
    int depth = Math.toIntExact(number);
    return new Feature(
        name,
        columns,
        (v, all) -> Reduction.max(v.scope(), OneHot.of(v.scope(), ids.apply(v, all), depth), 1));
  }

  /** A row of {@code width} for each category, which is trained; of a list their mean. */
  public Feature embedding(int width) {
    return embedding(width, EmbeddingBag.Combiner.MEAN);
  }

  /** The same, of a list combined by {@code combiner}. */
  public Feature embedding(int width, EmbeddingBag.Combiner combiner) {
    return new Feature(
        name,
        columns,
        (v, all) -> {
          Output numbers = ids.apply(v, all);
          return list
              ? EmbeddingBag.of(v.scope(), table(v, width), numbers, null, combiner)
              : Embedding.lookup(
                  v.scope(),
                  table(v, width),
                  Reshape.of(v.scope(), numbers, Const.ints(v.scope(), -1)));
        });
  }

  /** The same with the rows of a list weighted by those of another list, of fractions. */
  public Feature embedding(int width, EmbeddingBag.Combiner combiner, Column weights) {
    Column own = columns.getFirst();
    if (!list || !weights.list() || weights.length() != own.length()) {
      throw MillraceException.invalid(
          "Feature '%s' is weighted by '%s': both must be lists of the same length.",
          name, weights.name());
    }
    return new Feature(
        name,
        Feature.joined(columns, weights),
        (v, all) -> {
          Output w = Cast.of(v.scope(), matrix(v.scope(), weights, all), DType.FLOAT);
          return EmbeddingBag.of(v.scope(), table(v, width), ids.apply(v, all), w, combiner);
        });
  }

  private GraphVariable table(VariableScope v, int width) {
    double bound = 1 / Math.sqrt(width);
    return v.variable(
        "table",
        Shape.of(number, width),
        Initializers.randomUniform((float) -bound, (float) bound));
  }

  /** Columns {@code prefix + first} to {@code prefix + last}, all hashed and embedded alike. */
  public static List<Feature> hashedEmbeddings(
      String prefix, int first, int last, long buckets, int width) {
    return IntStream.rangeClosed(first, last)
        .mapToObj(i -> hashed(prefix + i, buckets).embedding(width))
        .toList();
  }
}
