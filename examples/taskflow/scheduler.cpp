// Taskflow behind Plimsoll's scheduler ABI: an executor with a worker per CPU, and a
// task per job in one graph that is built for each run.
//
// Taskflow has no timers: a job that starts later is a task that the executor gets
// only then. Graphs with such starts are refused.

#include "plimsoll_scheduler.h"

#include <taskflow/taskflow.hpp>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace {

// Pins each worker to its CPU.
class Pin : public tf::WorkerInterface {
public:
    explicit Pin(std::vector<uint32_t> cpus) : cpus_(std::move(cpus)) {}

    void scheduler_prologue(tf::Worker &worker) override {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpus_[worker.id()], &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
    void scheduler_epilogue(tf::Worker &, std::exception_ptr) override {}

private:
    std::vector<uint32_t> cpus_;
};

void *start(const uint32_t *cpus, uint32_t count, char *error, size_t error_size) {
    try {
        auto pin = tf::make_worker_interface<Pin>(std::vector<uint32_t>(cpus, cpus + count));
        return new tf::Executor(count, std::move(pin));
    } catch (const std::exception &e) {
        std::snprintf(error, error_size, "Taskflow: %s", e.what());
        return nullptr;
    }
}

int run(void *scheduler, const plimsoll_jobs *jobs, char *error, size_t error_size) {
    auto &executor = *static_cast<tf::Executor *>(scheduler);
    const auto later = [](uint64_t start_ns) { return start_ns > 0; };
    if (jobs->start_ns && std::any_of(jobs->start_ns, jobs->start_ns + jobs->count, later)) {
        std::snprintf(error, error_size, "Taskflow has no timers; give a graph without starts");
        return 1;
    }
    try {
        tf::Taskflow graph;
        std::vector<tf::Task> tasks;
        tasks.reserve(jobs->count);
        for (uint32_t job = 0; job < jobs->count; ++job) {
            tasks.push_back(graph.emplace([&executor, jobs, job] {
                const auto worker = static_cast<uint32_t>(executor.this_worker_id());
                jobs->run_job(jobs->context, job, worker);
            }));
        }
        for (uint32_t job = 0; job < jobs->count; ++job) {
            const uint32_t *next = jobs->successors + jobs->successor_starts[job];
            const uint32_t *end = jobs->successors + jobs->successor_starts[job + 1];
            for (; next != end; ++next) tasks[job].precede(tasks[*next]);
        }
        executor.run(graph).wait();
        return 0;
    } catch (const std::exception &e) {
        std::snprintf(error, error_size, "Taskflow: %s", e.what());
        return 1;
    }
}

void stop(void *scheduler) { delete static_cast<tf::Executor *>(scheduler); }

}  // namespace

extern "C" const plimsoll_scheduler_table *plimsoll_scheduler(void) {
    static const plimsoll_scheduler_table table = {PLIMSOLL_SCHEDULER_ABI, start, run, stop};
    return &table;
}
