// oneTBB behind Plimsoll's scheduler ABI: an arena with a worker per CPU, and a task
// of a task_group per job. A job that makes others ready runs a task for each.
//
// The calling thread is not in the arena: it releases the jobs that start later, and
// waits.

#include "plimsoll_scheduler.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace tbb = oneapi::tbb;
using Clock = std::chrono::steady_clock;

// Pins each worker that enters the arena to the CPU of its slot.
class Pin : public tbb::task_scheduler_observer {
public:
    Pin(tbb::task_arena &arena, std::vector<uint32_t> cpus)
        : task_scheduler_observer(arena), cpus_(std::move(cpus)) {
        observe(true);
    }
    ~Pin() override { observe(false); }

    void on_scheduler_entry(bool) override {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpus_[tbb::this_task_arena::current_thread_index()], &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }

private:
    std::vector<uint32_t> cpus_;
};

struct Scheduler {
    explicit Scheduler(std::vector<uint32_t> cpus)
        // oneTBB counts the calling thread, too.
        : threads(tbb::global_control::max_allowed_parallelism, cpus.size() + 1),
          arena(static_cast<int>(cpus.size()), /* slots for calling threads: */ 0),
          pin(arena, std::move(cpus)) {}

    tbb::global_control threads;
    tbb::task_arena arena;
    Pin pin;
    tbb::task_group group;
};

// One run of a graph.
class Run {
public:
    Run(Scheduler &scheduler, const plimsoll_jobs &jobs)
        : scheduler_(scheduler), jobs_(jobs), waits_for_(jobs.count) {
        uint32_t ends = 0;
        for (uint32_t job = 0; job < jobs.count; ++job) {
            waits_for_[job] = jobs.predecessors[job] + starts_later(job);
            ends += jobs.successor_starts[job] == jobs.successor_starts[job + 1];
        }
        // Jobs without successors: once these have ended, all have. And the first task.
        left_ = ends + 1;
    }

    void to_the_end() {
        const auto began = Clock::now();
        scheduler_.arena.enqueue([this] { spawn_first(); });
        release_in_time(began);
        std::unique_lock<std::mutex> lock(mutex_);
        ended_.wait(lock, [this] { return has_ended_; });
        lock.unlock();
        // The last task may still be on its way out.
        scheduler_.group.wait();
    }

private:
    bool starts_later(uint32_t job) const { return jobs_.start_ns && jobs_.start_ns[job] > 0; }

    // By the graph and not by the counters, which change meanwhile.
    void spawn_first() {
        for (uint32_t job = 0; job < jobs_.count; ++job) {
            if (jobs_.predecessors[job] == 0 && !starts_later(job)) spawn(job);
        }
        one_less_left();
    }

    void spawn(uint32_t job) {
        scheduler_.group.run([this, job] { execute(job); });
    }

    void execute(uint32_t job) {
        const int worker = tbb::this_task_arena::current_thread_index();
        jobs_.run_job(jobs_.context, job, static_cast<uint32_t>(worker));
        const uint32_t *next = jobs_.successors + jobs_.successor_starts[job];
        const uint32_t *end = jobs_.successors + jobs_.successor_starts[job + 1];
        if (next == end) return one_less_left();
        // Nothing of this run is touched after the last of these: it may be over then.
        for (; next != end; ++next) {
            if (needs_one_less(*next)) spawn(*next);
        }
    }

    bool needs_one_less(uint32_t job) {
        return waits_for_[job].fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

    void one_less_left() {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        std::lock_guard<std::mutex> lock(mutex_);
        has_ended_ = true;
        ended_.notify_one();
    }

    void release_in_time(Clock::time_point began) {
        std::vector<std::pair<uint64_t, uint32_t>> starts;
        for (uint32_t job = 0; job < jobs_.count; ++job) {
            if (starts_later(job)) starts.emplace_back(jobs_.start_ns[job], job);
        }
        std::sort(starts.begin(), starts.end());
        for (const auto &[start_ns, job] : starts) {
            std::this_thread::sleep_until(began + std::chrono::nanoseconds(start_ns));
            if (needs_one_less(job)) {
                scheduler_.arena.enqueue([this, job = job] { execute(job); });
            }
        }
    }

    Scheduler &scheduler_;
    const plimsoll_jobs &jobs_;
    std::vector<std::atomic<uint32_t>> waits_for_;
    std::atomic<uint32_t> left_{0};
    std::mutex mutex_;
    std::condition_variable ended_;
    bool has_ended_ = false;
};

void *start(const uint32_t *cpus, uint32_t count, char *error, size_t error_size) {
    try {
        return new Scheduler(std::vector<uint32_t>(cpus, cpus + count));
    } catch (const std::exception &e) {
        std::snprintf(error, error_size, "oneTBB: %s", e.what());
        return nullptr;
    }
}

int run(void *scheduler, const plimsoll_jobs *jobs, char *error, size_t error_size) {
    try {
        Run(*static_cast<Scheduler *>(scheduler), *jobs).to_the_end();
        return 0;
    } catch (const std::exception &e) {
        std::snprintf(error, error_size, "oneTBB: %s", e.what());
        return 1;
    }
}

void stop(void *scheduler) { delete static_cast<Scheduler *>(scheduler); }

}  // namespace

extern "C" const plimsoll_scheduler_table *plimsoll_scheduler(void) {
    static const plimsoll_scheduler_table table = {PLIMSOLL_SCHEDULER_ABI, start, run, stop};
    return &table;
}
