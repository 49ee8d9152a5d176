// The simulator's engine as one translation unit: fibers, address spaces, shadow memory, the block
// scheduler and the C interface that the Python side binds. Uses the C library and POSIX only.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
// Other machines switch with the C library, which is ten times slower.
#if !defined(__x86_64__) && !defined(__aarch64__)
#define AK_SIM_UCONTEXT 1
#endif
#if defined(AK_SIM_UCONTEXT)
#include <ucontext.h>
#endif

#include "../shim/abi.h"
#include "../shim/hopper_abi.h"
#include "interface.h"
#include "fiber.h"
#include "state.h"
#include "hooks.h"
#include "findings.h"
#include "scheduler.h"
#include "warp.h"
#include "barrier.h"
#include "space.h"
#include "shadow.h"
#include "memory.h"
// Ordinary kernels run on an engine without the rest, which takes longer to build than all above.
#if defined(AK_SIM_ASYNCHRONOUS)
#include "clocks.h"
#include "history.h"
#include "products.h"
#include "operations.h"
#include "mbarrier.h"
#include "bulk.h"
#include "copies.h"
#include "matrix.h"
#include "wgmma.h"
#include "cluster.h"
#include "asynchronous.h"
#else
#include "synchronous.h"
#endif
#include "faults.h"
#include "launch.h"
