/* A task scheduler under test for Plimsoll (plimsoll rig --scheduler ./libmine.so).
 *
 * A shared library exports one function, plimsoll_scheduler(), which returns a table
 * of three functions. Plimsoll calls
 *
 *     start      once, with the CPUs to run on;
 *     run        once for each graph of jobs, never two at a time;
 *     stop       once, when no run is under way.
 *
 * They may be called on different threads, one after the other.
 *
 * run() calls jobs->run_job(jobs->context, job, worker) once for each job, on any
 * thread, after run_job has returned for all of the job's predecessors and not before
 * its start, and returns when all jobs have ended. What a predecessor has written must
 * be visible to the job (happens-before), as a mutex or an atomic counter with
 * release/acquire ensures. A job never blocks and never throws.
 *
 * Plimsoll checks each run: jobs that are lost, run twice, started early or unknown are
 * reported, and so is a run that does not end. All else that goes wrong in a library,
 * such as a write to a wrong address, goes wrong in Plimsoll itself.
 *
 * C99 and C++. License: MIT OR Apache-2.0.
 */
#ifndef PLIMSOLL_SCHEDULER_H
#define PLIMSOLL_SCHEDULER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of what follows. A library built for another version is refused. */
#define PLIMSOLL_SCHEDULER_ABI 1u

/* The deadline of a job that has none. */
#define PLIMSOLL_NO_DEADLINE UINT64_MAX

/* The jobs of one run. Valid until run() returns. Jobs are numbered from 0, and each
 * has a higher number than its predecessors. */
typedef struct plimsoll_jobs {
    uint32_t count;
    /* For each job how many others must end before it. */
    const uint32_t *predecessors;
    /* The jobs that need job j are successors[successor_starts[j]] up to, but without,
     * successors[successor_starts[j + 1]]. */
    const uint32_t *successor_starts;
    const uint32_t *successors;
    /* For each job the earliest start, in nanoseconds since the call of run(), 0 for
     * none. NULL if no job has one. */
    const uint64_t *start_ns;
    /* For each job when it should have ended, in the same time. A job that misses it
     * runs all the same. NULL if no job has one. */
    const uint64_t *deadline_ns;
    /* To be handed to run_job as it is. */
    void *context;
    /* Does a job. worker: from 0 to the number of CPUs given to start() less one; two
     * threads that run jobs at the same time have different ones. */
    void (*run_job)(void *context, uint32_t job, uint32_t worker);
} plimsoll_jobs;

typedef struct plimsoll_scheduler_table {
    /* PLIMSOLL_SCHEDULER_ABI */
    uint32_t abi_version;
    /* Starts workers, one for each of the CPUs, and returns the scheduler, or NULL on
     * failure. */
    void *(*start)(const uint32_t *cpus, uint32_t cpu_count, char *error, size_t error_size);
    /* Runs all jobs. Returns 0, or anything else on failure. */
    int (*run)(void *scheduler, const plimsoll_jobs *jobs, char *error, size_t error_size);
    /* Ends the workers and frees the scheduler. No thread of it may run afterwards. */
    void (*stop)(void *scheduler);
    /* On failure, start and run write a sentence that says why to error: UTF-8, ended
     * by a 0, at most error_size bytes with it. They may leave it alone. */
} plimsoll_scheduler_table;

/* What the library exports. The table must stay valid while the library is loaded. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const plimsoll_scheduler_table *plimsoll_scheduler(void);

#ifdef __cplusplus
}
#endif

#endif
