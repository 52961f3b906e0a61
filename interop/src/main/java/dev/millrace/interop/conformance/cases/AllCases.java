package dev.millrace.interop.conformance.cases;

import dev.millrace.interop.conformance.CaseTable;
import java.util.ArrayList;
import java.util.List;

/** The list of case tables. */
public final class AllCases {
  private AllCases() {}

  /** Returns every table. */
  public static List<CaseTable> tables() {
    List<CaseTable> tables = new ArrayList<>(written());
    tables.add(new VariantCases(tables));
    return tables;
  }

  private static List<CaseTable> written() {
    return List.of(
        new ElementwiseCases(),
        new MathCases(),
        new ArrayCases(),
        new IndexCases(),
        new SparseCases(),
        new PlumbingCases(),
        new NnCases(),
        new ConvolutionCases(),
        new StateCases(),
        new UpdateCases(),
        new QueueCases(),
        new ControlFlowCases(),
        new CollectiveCases(),
        new TensorArrayCases(),
        new ListCases(),
        new GradientCases(),
        new TextCases(),
        new StringCases(),
        new LookupCases(),
        new ParsingCases(),
        new StatelessCases(),
        new MatrixCases(),
        new ComplexCases(),
        new SpaceCases(),
        new ScatterNdCases(),
        new FileCases(),
        new DatasetCases(),
        new SpecialCases(),
        new LinearCases(),
        new RearrangeCases(),
        new ImageCases(),
        new SegmentCases(),
        new SamplingCases());
  }
}
