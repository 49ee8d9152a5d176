/* A CUDA driver that writes down what it is asked, to test the calls on a machine without a GPU. Its memory is the
   host's; of kernels it knows one, `scale`, which multiplies by a number, and that on command it faults or hangs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_BYTES 65536
static char log_text[LOG_BYTES];
static size_t log_used;
static void *current;
static int argument_widths[16], n_arguments, faulted;
static char function_name[64];

#define NOTE(...) \
  log_used += (size_t)snprintf(log_text + log_used, LOG_BYTES - log_used, __VA_ARGS__)

const char *fake_log(void) { return log_text; }
void fake_reset(void) { log_used = 0; log_text[0] = 0; current = 0; n_arguments = 0; }
void fake_set_current(void *context) { current = context; }
void fake_expect_nothing(void) { n_arguments = 0; }
void fake_expect_argument(int width) { argument_widths[n_arguments++] = width; }

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) {
  if (ordinal > 1) return 101;
  *device = ordinal + 40;
  return 0;
}
int cuDeviceGetName(char *name, int length, int device) { snprintf(name, (size_t)length, "Fake %d", device); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = (size_t)141 << 30; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : attribute == 38 ? 60 << 20 : 1980000;
  return 0;
}
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = (void *)(0x7f0000000000ull + (unsigned)device);
  NOTE("retain %d\n", device);
  return 0;
}
int cuCtxGetCurrent(void **context) { *context = current; return 0; }
int cuCtxPushCurrent_v2(void *context) { current = context; NOTE("push %llx\n", (unsigned long long)context); return 0; }
int cuCtxPopCurrent_v2(void **context) { *context = current; current = 0; NOTE("pop\n"); return 0; }
int cuModuleLoadData(void **module, const void *image) {
  *module = (void *)0x7e0000000001ull;
  NOTE("load %.3s\n", (const char *)image + 1);
  return memcmp(image, "\x7f" "ELF", 4) ? 200 : 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = (void *)0x7d0000000002ull;
  NOTE("function %llx %s\n", (unsigned long long)module, name);
  snprintf(function_name, sizeof function_name, "%s", name);
  return 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  (void)function;
  *value = attribute == 1 ? 512 : -1;
  return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  NOTE("attribute %llx %d %d\n", (unsigned long long)function, attribute, value);
  return 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_bytes, void *stream, void **arguments, void **extra) {
  NOTE("launch %llx grid %u %u %u block %u %u %u shared %u stream %llx extra %p", (unsigned long long)function, gx, gy,
       gz, bx, by, bz, shared_bytes, (unsigned long long)stream, (void *)extra);
  for (int i = 0; i < n_arguments; i++) {
    unsigned long long value = 0;
    memcpy(&value, arguments[i], (size_t)argument_widths[i]);
    NOTE(" %llx", value);
  }
  NOTE("\n");
  if (!n_arguments && !strcmp(function_name, "scale")) {
    const float *x = *(const float **)arguments[0];
    float *out = *(float **)arguments[1], factor = *(float *)arguments[3];
    for (long long i = 0; i < *(long long *)arguments[2]; i++) out[i] = x[i] * factor;
    faulted = factor == 666.0f;
    while (factor == 777.0f) sleep(1);
  }
  return shared_bytes == 666 ? 719 : 0;
}
int cuStreamSynchronize(void *stream) {
  NOTE("synchronize %llx\n", (unsigned long long)stream);
  return faulted ? 700 : 0;
}
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  *address = (unsigned long long)aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *address ? 0 : 2;
}
int cuMemFree_v2(unsigned long long address) { free((void *)address); return 0; }
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) { memcpy((void *)to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) { memcpy(to, (void *)from, bytes); return 0; }
int cuGetErrorName(int status, const char **name) {
  *name = status == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
int cuGetErrorString(int status, const char **text) { (void)status; *text = "as the test wants it"; return 0; }
