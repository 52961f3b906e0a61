// How long does Gloo's all-reduce of float32 over TCP take? gloo ring|halving RANKS FOLDER SECONDS BYTES...
// Starts its own ranks, which meet in FOLDER; rank 0 prints a line "bytes seconds" per size: the
// median of the calls as it sees them.
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static int agree(const std::shared_ptr<gloo::Context>& context, int value) {
  std::vector<int*> at{&value};
  gloo::BroadcastOneToAll<int> broadcast(context, at, 1, 0);
  broadcast.run();
  return value;
}

static void measure(
    const std::shared_ptr<gloo::Context>& context, bool ring, double seconds, long bytes) {
  std::vector<float> data(bytes / 4);
  std::vector<float*> at{data.data()};
  std::unique_ptr<gloo::Algorithm> reduce;
  if (ring) {
    reduce.reset(new gloo::AllreduceRingChunked<float>(context, at, data.size()));
  } else {
    reduce.reset(new gloo::AllreduceHalvingDoubling<float>(context, at, data.size()));
  }
  double start = now();
  for (int i = 0; i < 3; i++) {
    reduce->run();
  }
  double per = (now() - start) / 3;
  int warm = agree(context, std::clamp(static_cast<int>(seconds / 3 / per), 1, 5000));
  start = now();
  for (int i = 0; i < warm; i++) {
    reduce->run();
  }
  per = (now() - start) / warm;
  int count = agree(context, std::clamp(static_cast<int>(seconds / per), 5, 20000));
  std::vector<double> times(count);
  gloo::BarrierAllToAll(context).run();
  for (double& t : times) {
    double from = now();
    reduce->run();
    t = now() - from;
  }
  std::sort(times.begin(), times.end());
  if (context->rank == 0) {
    std::printf("%ld %.9f\n", bytes, times[count / 2]);
    std::fflush(stdout);
  }
}

int main(int argc, char** argv) {
  bool ring = std::strcmp(argv[1], "ring") == 0;
  int size = std::atoi(argv[2]);
  int rank = 0;
  // Open for writing as long as a rank has work left: nobody may close its connections before.
  int busy[2];
  if (pipe(busy) != 0) {
    return 1;
  }
  for (int r = 1; r < size; r++) {
    if (fork() == 0) {
      rank = r;
      break;
    }
  }
  gloo::rendezvous::FileStore store(argv[3]);
  gloo::transport::tcp::attr attr;
  attr.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attr);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(store, device);
  for (int i = 5; i < argc; i++) {
    measure(context, ring, std::atof(argv[4]), std::atol(argv[i]));
  }
  close(busy[1]);
  char none;
  while (read(busy[0], &none, 1) > 0) {
  }
  if (rank == 0) {
    while (wait(nullptr) > 0) {
    }
  }
  return 0;
}
