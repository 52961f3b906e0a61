// A minimal HTTP server over TensorFlow's C++ runtime, as a peer of 'millrace serve'. It knows just enough of the
// predict request in column format: {"inputs": {"NAME": [NUMBER, ...], ...}}, every input a vector.
//
// usage: server MODEL_FOLDER PORT OUTPUT_OP INPUT=OP:TYPE ...       TYPE is f (float) or l (int64)
// serving_peer.py compiles and starts it.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tensorflow/c/c_api.h"

struct Input {
  TF_Output op;
  TF_DataType type;
};

static TF_Session* session;
static std::vector<Input> inputs;
static std::unordered_map<std::string, int> places;
static TF_Output output;

static void check(TF_Status* s, const char* what) {
  if (TF_GetCode(s) != TF_OK) {
    fprintf(stderr, "%s: %s\n", what, TF_Message(s));
    exit(1);
  }
}

static TF_Tensor* tensor(TF_DataType type, const std::vector<double>& values) {
  int64_t dims[] = {(int64_t)values.size()};
  size_t width = type == TF_FLOAT ? 4 : 8;
  TF_Tensor* t = TF_AllocateTensor(type, dims, 1, width * values.size());
  for (size_t i = 0; i < values.size(); i++) {
    if (type == TF_FLOAT) {
      ((float*)TF_TensorData(t))[i] = (float)values[i];
    } else {
      ((int64_t*)TF_TensorData(t))[i] = (int64_t)values[i];
    }
  }
  return t;
}

// Fills one tensor for each input; returns false if the body is not understood.
static bool parse(const char* at, std::vector<TF_Tensor*>& fed) {
  const char* p = strstr(at, "\"inputs\"");
  if (p == nullptr || (p = strchr(p, '{')) == nullptr) return false;
  std::vector<double> values;
  for (p++; *p;) {
    p += strspn(p, " ,\r\n\t");
    if (*p == '}') break;
    if (*p++ != '"') return false;
    const char* end = strchr(p, '"');
    if (end == nullptr) return false;
    auto place = places.find(std::string(p, end));
    if (place == places.end()) return false;
    p = end + 1;
    p += strspn(p, " :");
    if (*p++ != '[') return false;
    values.clear();
    while (*p && *p != ']') {
      char* behind;
      values.push_back(strtod(p, &behind));
      if (behind == p) return false;
      p = behind + strspn(behind, " ,");
    }
    if (*p++ != ']') return false;
    if (fed[place->second] != nullptr) return false;
    fed[place->second] = tensor(inputs[place->second].type, values);
  }
  for (TF_Tensor* t : fed) {
    if (t == nullptr) return false;
  }
  return true;
}

static bool answer(const char* body, std::string& out) {
  std::vector<TF_Tensor*> fed(inputs.size(), nullptr);
  bool good = parse(body, fed);
  if (good) {
    std::vector<TF_Output> ops;
    for (Input& i : inputs) ops.push_back(i.op);
    TF_Tensor* result = nullptr;
    TF_Status* s = TF_NewStatus();
    TF_SessionRun(session, nullptr, ops.data(), fed.data(), (int)fed.size(), &output, &result, 1, nullptr, 0, nullptr, s);
    good = TF_GetCode(s) == TF_OK;
    TF_DeleteStatus(s);
    if (good) {
      const float* v = (const float*)TF_TensorData(result);
      int rank = TF_NumDims(result);
      int64_t rows = TF_Dim(result, 0), columns = rank > 1 ? TF_Dim(result, 1) : 1;
      out = "{\"outputs\": [";
      char number[32];
      for (int64_t r = 0; r < rows; r++) {
        out += r ? ",[" : "[";
        for (int64_t c = 0; c < columns; c++) {
          snprintf(number, sizeof number, c ? ",%.9g" : "%.9g", v[r * columns + c]);
          out += number;
        }
        out += "]";
      }
      out += "]}";
      TF_DeleteTensor(result);
    }
  }
  for (TF_Tensor* t : fed) {
    if (t != nullptr) TF_DeleteTensor(t);
  }
  return good;
}

static void serve(int fd) {
  std::string buffer;
  char piece[65536];
  std::string out;
  while (true) {
    size_t head;
    while ((head = buffer.find("\r\n\r\n")) == std::string::npos) {
      ssize_t n = read(fd, piece, sizeof piece);
      if (n <= 0) {
        close(fd);
        return;
      }
      buffer.append(piece, n);
    }
    const char* length = strcasestr(buffer.c_str(), "content-length:");
    size_t body = length == nullptr ? 0 : strtoul(length + 15, nullptr, 10);
    while (buffer.size() < head + 4 + body) {
      ssize_t n = read(fd, piece, sizeof piece);
      if (n <= 0) {
        close(fd);
        return;
      }
      buffer.append(piece, n);
    }
    std::string request = buffer.substr(head + 4, body);
    buffer.erase(0, head + 4 + body);
    bool good = answer(request.c_str(), out);
    if (!good) out = "{\"error\": \"bad request\"}";
    char header[128];
    int n = snprintf(header, sizeof header, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     good ? "200 OK" : "400 Bad Request", out.size());
    std::string all(header, n);
    all += out;
    if (write(fd, all.data(), all.size()) != (ssize_t)all.size()) {
      close(fd);
      return;
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: server MODEL_FOLDER PORT OUTPUT_OP INPUT=OP:TYPE ...\n");
    return 2;
  }
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  const char* tags[] = {"serve"};
  session = TF_LoadSessionFromSavedModel(TF_NewSessionOptions(), nullptr, argv[1], tags, 1, graph, nullptr, s);
  check(s, argv[1]);
  output = {TF_GraphOperationByName(graph, argv[3]), 0};
  for (int i = 4; i < argc; i++) {
    std::string word = argv[i];
    size_t equals = word.find('='), colon = word.rfind(':');
    std::string name = word.substr(0, equals), op = word.substr(equals + 1, colon - equals - 1);
    TF_Operation* found = TF_GraphOperationByName(graph, op.c_str());
    if (found == nullptr || output.oper == nullptr) {
      fprintf(stderr, "no op %s or %s\n", op.c_str(), argv[3]);
      return 1;
    }
    places[name] = (int)inputs.size();
    inputs.push_back({{found, 0}, word[colon + 1] == 'f' ? TF_FLOAT : TF_INT64});
  }
  int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)atoi(argv[2]));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (sockaddr*)&address, sizeof address) || listen(listener, 1024)) {
    perror("listen");
    return 1;
  }
  socklen_t size = sizeof address;
  getsockname(listener, (sockaddr*)&address, &size);
  printf("@ %d\n", ntohs(address.sin_port));
  fflush(stdout);
  while (true) {
    int fd = accept(listener, nullptr, nullptr);
    if (fd < 0) continue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    std::thread(serve, fd).detach();
  }
}
