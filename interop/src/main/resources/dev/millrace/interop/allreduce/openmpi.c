/* How long does MPI_Allreduce of float32 take? mpirun -np N openmpi SECONDS BYTES...
   Prints a line "bytes seconds" per size: the median of the calls as rank 0 sees them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double seconds = atof(argv[1]);
  for (int i = 2; i < argc; i++) {
    long bytes = atol(argv[i]);
    float *data = malloc(bytes);
    memset(data, 0, bytes);
    double start = MPI_Wtime();
    int warm = 0, more = 1;
    while (more) {
      MPI_Allreduce(MPI_IN_PLACE, data, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      warm++;
      more = MPI_Wtime() - start < seconds / 3;
      MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    double wanted = seconds / ((MPI_Wtime() - start) / warm);
    int count = wanted < 5 ? 5 : wanted > 20000 ? 20000 : (int)wanted;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double *times = malloc(count * sizeof(double));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < count; k++) {
      double from = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, data, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      times[k] = MPI_Wtime() - from;
    }
    qsort(times, count, sizeof(double), by_value);
    if (rank == 0) {
      printf("%ld %.9f\n", bytes, times[count / 2]);
      fflush(stdout);
    }
    free(times);
    free(data);
  }
  MPI_Finalize();
  return 0;
}
