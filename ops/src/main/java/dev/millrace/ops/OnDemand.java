package dev.millrace.ops;

import dev.millrace.graph.OpFamily;
import dev.millrace.ops.bits.BitsOps;
import dev.millrace.ops.fourier.FourierOps;
import dev.millrace.ops.image.ImageOps;
import dev.millrace.ops.linear.LinearOps;
import dev.millrace.ops.lookup.LookupOps;
import dev.millrace.ops.matrix.MatrixOps;
import dev.millrace.ops.queue.BarrierOps;
import dev.millrace.ops.random.CandidateSamplers;
import dev.millrace.ops.random.GammaPoisson;
import dev.millrace.ops.random.StatelessRandomV2;
import dev.millrace.ops.rearrange.RearrangeOps;
import dev.millrace.ops.scatter.ScatterOps;
import dev.millrace.ops.segment.SegmentOps;
import dev.millrace.ops.space.SpaceOps;
import dev.millrace.ops.special.SpecialOps;
import dev.millrace.ops.text.TextOps;
import dev.millrace.ops.volume.VolumeOps;
import java.util.List;

/**
 * The families that load when a graph has one of their ops, by the names of the ops. Until then no
 * class of theirs is loaded, so that they cost nothing at start-up.
 */
final class OnDemand {
  static final List<OpFamily> FAMILIES =
      List.of(
          OpFamily.of(
              """
              Bitcast BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift PopulationCount RightShift
              """,
              () -> BitsOps.ALL),
          OpFamily.of(
              """
              FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D
              """,
              () -> FourierOps.ALL),
          OpFamily.of(
              """
              AdjustContrastv2 AdjustHue AdjustSaturation HSVToRGB NonMaxSuppression
              NonMaxSuppressionV2 NonMaxSuppressionV3 RGBToHSV ResizeArea ResizeBilinear
              ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad
              """,
              () -> ImageOps.ALL),
          OpFamily.of(
              """
              Cholesky LogMatrixDeterminant Lu MatrixDeterminant MatrixInverse MatrixSolve
              MatrixSolveLs MatrixTriangularSolve Qr SelfAdjointEigV2 Svd TridiagonalMatMul
              TridiagonalSolve
              """,
              () -> LinearOps.ALL),
          OpFamily.of(
              """
              AnonymousHashTable AnonymousMutableDenseHashTable AnonymousMutableHashTable
              AnonymousMutableHashTableOfTensors HashTable HashTableV2 InitializeTable
              InitializeTableFromTextFile InitializeTableFromTextFileV2 InitializeTableV2
              LookupTableExport LookupTableExportV2 LookupTableFind LookupTableFindV2
              LookupTableImport LookupTableImportV2 LookupTableInsert LookupTableInsertV2
              LookupTableRemoveV2 LookupTableSize LookupTableSizeV2 MutableDenseHashTableV2
              MutableHashTable MutableHashTableOfTensors MutableHashTableOfTensorsV2
              MutableHashTableV2
              """,
              () -> LookupOps.ALL),
          OpFamily.of(
              """
              Diag DiagPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2
              MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3
              """,
              () -> MatrixOps.ALL),
          OpFamily.of(
              """
              StatelessMultinomial StatelessRandomGetAlg StatelessRandomGetKeyCounter
              StatelessRandomGetKeyCounterAlg StatelessRandomNormalV2 StatelessRandomUniformFullInt
              StatelessRandomUniformFullIntV2 StatelessRandomUniformInt StatelessRandomUniformIntV2
              StatelessRandomUniformV2 StatelessTruncatedNormalV2
              """,
              () -> StatelessRandomV2.ALL),
          OpFamily.of(
              """
              AllCandidateSampler ComputeAccidentalHits FixedUnigramCandidateSampler
              LearnedUnigramCandidateSampler LogUniformCandidateSampler
              ThreadUnsafeUnigramCandidateSampler UniformCandidateSampler
              """,
              () -> CandidateSamplers.ALL),
          OpFamily.of(
              """
              Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize
              BarrierTakeMany ConsumeMutexLock MutexLock MutexV2
              """,
              () -> BarrierOps.ALL),
          OpFamily.of("RandomGamma RandomPoisson RandomPoissonV2", () -> GammaPoisson.ALL),
          OpFamily.of(
              """
              SegmentMax SegmentMean SegmentMin SegmentProd UnsortedSegmentMax UnsortedSegmentMin
              UnsortedSegmentProd
              """,
              () -> SegmentOps.ALL),
          OpFamily.of(
              """
              Bincount DataFormatDimMap DataFormatVecPermute DenseBincount GuaranteeConst
              HistogramFixedWidth LowerBound MirrorPad MirrorPadGrad ParallelConcat ReverseSequence Roll UniqueV2
              UniqueWithCountsV2 UnravelIndex UpperBound
              """,
              () -> RearrangeOps.ALL),
          OpFamily.of(
              """
              ResourceGatherNd ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin
              ResourceScatterNdSub ResourceScatterNdUpdate ScatterNdAdd ScatterNdMax ScatterNdMin
              ScatterNdNonAliasingAdd ScatterNdSub ScatterNdUpdate TensorScatterAdd TensorScatterMax
              TensorScatterMin TensorScatterSub TensorScatterUpdate
              """,
              () -> ScatterOps.ALL),
          OpFamily.of(
              """
              BatchToSpace BatchToSpaceND DepthToSpace SpaceToBatch SpaceToBatchND SpaceToDepth
              """,
              () -> SpaceOps.ALL),
          OpFamily.of(
              """
              BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1
              BesselK1e BesselY0 BesselY1 Betainc Digamma Erfinv Igamma IgammaGradA Igammac Lgamma
              Ndtri NextAfter Polygamma RandomGammaGrad Xdivy Xlog1py Xlogy Zeta
              """,
              () -> SpecialOps.ALL),
          OpFamily.of(
              """
              AsString DecodeBase64 EncodeBase64 Fingerprint ReduceJoin RegexReplace
              StaticRegexReplace StringFormat StringLength StringLower StringSplit StringSplitV2
              StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong
              StringToNumber StringUpper Substr UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode
              UnicodeTranscode UnsortedSegmentJoin
              """,
              () -> TextOps.ALL),
          OpFamily.of(
              """
              AvgPool3D AvgPool3DGrad Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 MaxPool3D
              MaxPool3DGrad
              """,
              () -> VolumeOps.ALL));

  private OnDemand() {}
}
