//! What no schedule of a graph can beat, and one that can be kept.

use crate::JobGraph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

/// The least time that a graph takes, in grains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// T1: the work of all jobs.
    pub total_work: u64,
    /// T-infinity: the work on the longest path (the critical path, the span).
    pub critical_path: u64,
}

impl Bounds {
    /// Of a graph.
    pub fn of(graph: &JobGraph) -> Bounds {
        let works = graph.nodes().map(|node| u64::from(graph.weight(node)));
        Bounds {
            total_work: works.sum(),
            critical_path: paths_to_end(graph).into_iter().max().unwrap_or(0),
        }
    }

    /// max(ceil(T1 / P), T-infinity): no schedule on P workers is shorter (Brent's and
    /// Graham's lower bounds). Work is whole grains and a job stays with its worker, so
    /// the fraction of a grain is rounded up.
    pub fn shortest(&self, workers: NonZeroU32) -> u64 {
        let shared = self.total_work.div_ceil(u64::from(workers.get()));
        shared.max(self.critical_path)
    }
}

/// The work on the longest path from each node to an end, with the node itself.
fn paths_to_end(graph: &JobGraph) -> Vec<u64> {
    let mut paths = vec![0u64; graph.count() as usize];
    for node in graph.nodes().rev() {
        let after = graph.successors(node).iter();
        let longest = after.map(|next| paths[*next as usize]).max().unwrap_or(0);
        paths[node as usize] = longest + u64::from(graph.weight(node));
    }
    paths
}

/// The least time on so many workers, in grains.
///
/// A job that all others wait for, or that waits for them, parts the graph: what is
/// before it ends before it starts. So the bounds of the parts, `max(ceil(T1 / P),
/// T-infinity)` of each, and the work of such jobs add up, which is never below the
/// bound of the whole: a chain between two bursts keeps one worker busy, whatever the
/// bursts are.
fn shortest_by_parts(graph: &JobGraph, paths: &[u64], workers: NonZeroU32) -> u64 {
    let partings = partings(graph);
    let mut sum = 0;
    let mut begin = 0;
    // The longest path of what is left; the last part has none after it.
    let mut left = paths.iter().max().copied().unwrap_or(0);
    for end in partings.into_iter().map(Some).chain([None]) {
        let part = begin..end.unwrap_or(graph.count());
        let work: u64 = part.map(|node| u64::from(graph.weight(node))).sum();
        let after = end.map_or(0, |end| paths[end as usize]);
        let shared = work.div_ceil(u64::from(workers.get()));
        sum += shared.max(left - after);
        if let Some(end) = end {
            let weight = u64::from(graph.weight(end));
            sum += weight;
            left = after - weight;
            begin = end + 1;
        }
    }
    sum
}

/// The jobs that are before or after every other one, ascending: all after it have a
/// predecessor that is not before it, and all before it a successor that is not after.
fn partings(graph: &JobGraph) -> Vec<u32> {
    let count = graph.count();
    // For each node the lowest, over all nodes after it, of their highest predecessor
    // plus one: 0 where one has none.
    let mut lowest = vec![u32::MAX; count as usize];
    for node in (1..count).rev() {
        let own = graph.predecessors(node).last().map_or(0, |last| last + 1);
        lowest[node as usize - 1] = lowest[node as usize].min(own);
    }
    let mut highest = 0;
    let mut found = Vec::new();
    for node in 0..count {
        if highest <= node && lowest[node as usize] > node {
            found.push(node);
        }
        let own = graph.successors(node).first().copied().unwrap_or(u32::MAX);
        highest = highest.max(own);
    }
    found
}

/// The schedule that gives each free worker the ready job with the longest path to an
/// end (Graham's list scheduling by critical path, SIAM Journal on Applied Mathematics
/// 17, 1969). Among equals the job with the lowest number goes first.
///
/// It can be kept, and its length is at most 2 - 1/P times that of the best schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSchedule {
    workers: NonZeroU32,
    starts: Vec<u64>,
    length: u64,
    bounds: Bounds,
    shortest: u64,
}

impl ListSchedule {
    /// Of a graph on so many workers. Takes time in proportion to n log n.
    pub fn of(graph: &JobGraph, workers: NonZeroU32) -> ListSchedule {
        let paths = paths_to_end(graph);
        let count = graph.count() as usize;
        let mut missing: Vec<u32> = graph
            .nodes()
            .map(|node| graph.predecessors(node).len() as u32)
            .collect();
        let mut starts = vec![0u64; count];
        let mut ready: BinaryHeap<(u64, Reverse<u32>)> = BinaryHeap::new();
        let first = graph.nodes().filter(|node| missing[*node as usize] == 0);
        ready.extend(first.map(|node| (paths[node as usize], Reverse(node))));
        let mut running: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let mut now = 0;
        loop {
            while running.len() < workers.get() as usize
                && let Some((_, Reverse(node))) = ready.pop()
            {
                starts[node as usize] = now;
                running.push(Reverse((now + u64::from(graph.weight(node)), node)));
            }
            let Some(Reverse((end, node))) = running.pop() else {
                break;
            };
            now = end;
            for &next in graph.successors(node) {
                missing[next as usize] -= 1;
                if missing[next as usize] == 0 {
                    ready.push((paths[next as usize], Reverse(next)));
                }
            }
        }
        ListSchedule {
            workers,
            starts,
            length: now,
            bounds: Bounds::of(graph),
            shortest: shortest_by_parts(graph, &paths, workers),
        }
    }

    /// The number of workers.
    pub fn workers(&self) -> NonZeroU32 {
        self.workers
    }

    /// When a node starts, in grains.
    pub fn start(&self, node: u32) -> u64 {
        self.starts[node as usize]
    }

    /// When the last job ends, in grains.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What no schedule can beat.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// A time that no schedule on its workers can beat: that of [`Bounds::shortest`], or
    /// more where all jobs wait for one. Then the parts before and after it add up,
    /// each with its own bound.
    pub fn shortest(&self) -> u64 {
        self.shortest
    }

    /// At a stress, how long the shortest possible schedule is as a share of the given
    /// one: `stress * shortest / length`. What breaks at a share of 0.9 breaks when a
    /// tenth of the time is left over.
    pub fn share_of_bound(&self, stress: f64) -> f64 {
        match self.length {
            0 => stress,
            length => stress * self.shortest() as f64 / length as f64,
        }
    }
}

#[cfg(test)]
mod tests;
