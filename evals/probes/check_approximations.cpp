// Compare approximation_model.h with the recorded digests of the hardware's results over all 2^32 inputs of
// each function, on a CPU. Usage: check_approximations APPROXIMATIONS.jsonl RESULT.jsonl [FUNCTION...]
// Build: g++ -O2 -std=c++17 check_approximations.cpp -lpthread (no -march flags: they change host rounding)
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "approximation_model.h"

using Digests = std::vector<uint64_t>;

static uint64_t mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static uint64_t digest_of(uint32_t (*model)(uint32_t), uint32_t chunk) {
  uint64_t d = 0;
  for (uint32_t i = 0; i < 1u << 23; ++i) {
    uint32_t x = chunk << 23 | i;
    d += mix64((uint64_t(x) << 32 | model(x)) + 0x9e3779b97f4a7c15ull);
  }
  return d;
}

// Lines of the form {..., "function":"NAME","digests_2_23":["...", ...]}, written by the probe.
static std::map<std::string, Digests> read_digests(const char* path) {
  std::map<std::string, Digests> all;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    size_t list = line.find("\"digests_2_23\":["), name = line.find("\"function\":\"");
    if (list == std::string::npos || name == std::string::npos) continue;
    name += 12;
    Digests& digests = all[line.substr(name, line.find('"', name) - name)];
    for (size_t at = line.find('"', list + 15); at != std::string::npos; at = line.find('"', line.find('"', at + 1) + 1))
      digests.push_back(strtoull(line.c_str() + at + 1, nullptr, 16));
  }
  return all;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  auto recorded = read_digests(argv[1]);
  FILE* out = fopen(argv[2], "w");
  if (!out) return 2;
  const std::map<std::string, uint32_t (*)(uint32_t)> models = {
      {"rcp.approx.ftz.f32", unit_rcp},  {"rcp.approx.f32", model_rcp},       {"rsqrt.approx.ftz.f32", unit_rsqrt},
      {"rsqrt.approx.f32", model_rsqrt}, {"ex2.approx.ftz.f32", unit_ex2}, {"ex2.approx.f32", model_ex2}};
  bool all_equal = true;
  unit_rcp(0x3fc00000u);  // fill the table of squares before threads share it
  for (auto& [function, model] : models) {
    bool wanted = argc == 3;
    for (int i = 3; i < argc; ++i) wanted |= function == argv[i];
    const Digests& want = recorded[function];
    if (!wanted || want.size() != 512) continue;
    std::atomic<int> next{0}, equal{0}, first_unequal{512};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
      threads.emplace_back([&, model = model] {
        for (int chunk; (chunk = next++) < 512;) {
          if (digest_of(model, uint32_t(chunk)) == want[size_t(chunk)]) ++equal;
          else if (chunk < first_unequal) first_unequal = chunk;
        }
      });
    for (auto& t : threads) t.join();
    fprintf(out, "{\"probe\":\"approximation_model\",\"function\":\"%s\",\"inputs\":4294967296,\"digests\":512,\"digests_equal\":%d}\n",
            function.c_str(), equal.load());
    all_equal &= equal == 512;
  }
  fclose(out);
  return all_equal ? 0 : 1;
}
