"""Services of a known load line, their traffic, and the score of a fleet. Pure."""

import bisect
import dataclasses
import enum
import math
import typing

# Of metrics-server, and of the controller.
SCRAPE_S = 15
SYNC_S = 15

# What the plan is asked for: one instance may be lost, traffic may grow by
# 10 % per minute, and an instance takes 3 minutes. Of these, 2 are the start of
# the pod and 1 is the delay of the loop: two samples until only the new load is
# in the metric, a sync period, and as much again for what the controllers take.
FAILURES = 1
GROWTH_PCT_PER_MIN = 10
READY_IN_S = 180
POD_START_S = 120
SLACK_S = READY_IN_S - POD_START_S - 2 * SCRAPE_S - SYNC_S
FLOOR = 4

# Not scored: every fleet starts at its floor and comes to rest. Longer than the
# stabilization of scale-down, 5 min.
SETTLE_S = 480
LOSS_S = 60
RISE = 1 + GROWTH_PCT_PER_MIN / 100 * READY_IN_S / 60


@dataclasses.dataclass(frozen=True)
class Service:
    """CPU use and latency of an instance at (rate, CPU %, latency us), straight in between."""

    name: str
    cpus: int
    rows: tuple
    # The highest rate within the goal.
    capacity_rps: float

    def cpu_pct(self, rate):
        rates = [row[0] for row in self.rows]
        at = min(max(bisect.bisect_left(rates, rate), 1), len(rates) - 1)
        (x0, y0, _), (x1, y1, _) = self.rows[at - 1], self.rows[at]
        return min(max(y0 + (rate - x0) / (x1 - x0) * (y1 - y0), 0.0), 100.0)

    @property
    def peak_rps(self):
        return 6 * self.capacity_rps


def made(name, cpu_pct_of, carried):
    """A service of 1000/s at 100 % CPU use that meets its goal up to `carried`."""
    rates = range(50, 1001, 50)
    rows = tuple((r, cpu_pct_of(r), 1000 if r <= carried else 3000) for r in rates)
    return Service(name, 2, rows, float(carried))


def two_threads_a_core(rate):
    """The second thread of a core adds 28 % to what one does: at 50 % CPU use 78 % is done."""
    alone = 1000 / 1.28
    return 50 * rate / alone if rate <= alone else 50 + 50 * (rate - alone) / (1000 - alone)


def published(name, text):
    rows = [tuple(map(float, line.split(","))) for line in text.split()[1:]]
    return Service(name, 8, tuple(rows), rows[-1][0])


def rise(seconds):
    """The steepest growth that the plan allows: `RISE` in any `READY_IN_S`."""
    return RISE ** (seconds / READY_IN_S)


class Losses(enum.Enum):
    """When an instance is lost: one at once, as the plan allows."""

    NONE = "none"
    ONCE = "once, a minute after the settling"
    # The load of each is the highest then, and new instances are yet to start.
    WITH_CALLS = "when the autoscaler calls for more, each time that the last one is replaced"

    def due(self, t, last, ready, pods):
        """`t`: seconds since the settling; `last`: those of the last loss, if any."""
        match self:
            case Losses.NONE:
                return False
            case Losses.ONCE:
                return t >= LOSS_S and last is None
            case Losses.WITH_CALLS:
                return t > 0 and pods > ready and (last is None or t >= last + READY_IN_S)


@dataclasses.dataclass(frozen=True)
class Traffic:
    """Load as a share of the peak, over the seconds after the settling."""

    name: str
    share: typing.Callable
    seconds: float
    losses: Losses = Losses.NONE


CLIMB_S = READY_IN_S * math.log(3) / math.log(RISE)
STEPS = math.ceil(math.log(3) / math.log(RISE))


def ramp(t):
    return min(rise(t) / 3, 1.0)


def steps(t):
    return min(RISE ** (1 + t // READY_IN_S) / 3, 1.0) if t > 0 else 1 / 3


def beyond_the_peak(t):
    grown_min = min(max(t - LOSS_S, 0.0), READY_IN_S) / 60
    return 1 + GROWTH_PCT_PER_MIN / 100 * grown_min


TRAFFICS = (
    Traffic("ramp", ramp, CLIMB_S + 300),
    Traffic("steps", steps, STEPS * READY_IN_S + 300),
    Traffic("ramp, losses", ramp, CLIMB_S + 300, Losses.WITH_CALLS),
    Traffic("peak, loss and growth", beyond_the_peak, 600, Losses.ONCE),
)


def rate_at(service, traffic, t):
    """The load of the fleet `t` seconds after its start, settling included."""
    return service.peak_rps * traffic.share(max(t - SETTLE_S, 0.0))


@dataclasses.dataclass
class Score:
    requests: float = 0.0
    over: float = 0.0
    seconds_over: float = 0.0
    highest: float = 0.0
    fewest: int = 10**9
    most: int = 0
    instance_s: float = 0.0

    def add(self, rate, ready, capacity, seconds):
        """`seconds` of `rate` on `ready` instances of `capacity` each."""
        load = rate / (ready * capacity) if ready else math.inf
        # Binary fractions must not make an instance that is full an overloaded one.
        over = load > 1 + 1e-9
        self.requests += rate * seconds
        self.over += rate * seconds if over else 0.0
        self.seconds_over += seconds if over else 0.0
        self.highest = max(self.highest, load)
        self.fewest, self.most = min(self.fewest, ready), max(self.most, ready)
        self.instance_s += ready * seconds

    @property
    def kept(self):
        return self.over == 0.0
