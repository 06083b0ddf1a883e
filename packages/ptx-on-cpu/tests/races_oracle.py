"""A plain happens-before checker: full vector clocks, and every access of every byte."""

import numpy as np

from ptx_on_cpu.checks import races


class Oracle:
    """Order events by one clock per pair of threads, and keep every access of every byte."""

    def __init__(self, blocks, threads):
        self.threads, self.total = threads, blocks * threads
        self.seen = np.eye(self.total, dtype=int)
        self.pending = np.zeros_like(self.seen)
        self.far, self.near = [0] * self.total, [0] * self.total
        self.variables, self.barriers, self.accesses = {}, {}, {}

    def own_block(self, b, clock):
        """Return what a clock knows of one block."""
        part = np.zeros_like(clock)
        part[b * self.threads : (b + 1) * self.threads] = clock[b * self.threads : (b + 1) * self.threads]
        return part

    def released(self, place):
        return self.variables.get(place, np.zeros(self.total, int))

    def meet(self, who, more=0):
        clock = np.maximum(self.seen[who].max(0), more)
        self.seen[who] = clock
        self.seen[who, who] += 1

    def fence(self, b, g, wide, releases=True, acquires=True):
        if acquires:
            got = self.pending[g] if wide else self.own_block(b, self.pending[g])
            self.seen[g] = np.maximum(self.seen[g], got)
        if releases:
            self.near[g] = self.seen[g, g]
            if wide:
                self.far[g] = self.near[g]
            self.seen[g, g] += 1

    def synchronise(self, b, g, name, cell, flags):
        wide, far, near = name != "cta_atomic", (cell, None), (cell, b)
        if name != "vstore":
            got = self.released(far) if wide else self.own_block(b, self.released(far))
            self.pending[g] = np.maximum.reduce([self.pending[g], got, self.released(near)])
        if flags:
            self.fence(b, g, wide, bool(flags & races.RELEASE), bool(flags & races.ACQUIRE))
        if name == "vload":
            return
        if name == "vstore":
            self.variables.pop(far, None)
            self.variables.pop(near, None)
        for place, clock, does in (
            (far, self.far[g], wide),
            (near, self.near[g], not wide or self.near[g] > self.far[g]),
        ):
            if clock and does:
                now = self.seen[g].copy()
                now[g] = clock
                self.variables[place] = np.maximum(self.released(place), now)

    def partners(self, b, g, name, byte, value):
        """Return the pcs of all accesses of a byte that race with this one and were not superseded."""
        found = []
        for r in self.accesses.get(byte, []):
            strong = name not in ("load", "store") and r["name"] not in ("load", "store")
            apart = r["block"] != b and "cta_atomic" in (name, r["name"])
            reads = name in ("load", "vload") and r["name"] in ("load", "vload")
            same = name == r["name"] == "store" and value == r["value"]
            ordered = self.seen[g, r["thread"]] >= r["clock"] or g == r["thread"]
            if not (reads or same or ordered or r["superseded"] or (strong and not apart)):
                found.append(r["pc"])
        return found

    def run(self, events):
        for pc, (b, name, *rest) in enumerate(events):
            first = b * self.threads
            if name == "join":
                who = [first + t for t in rest[0]]
                self.meet(who, self.barriers.pop((b, rest[1]), 0))
            elif name == "grid":
                self.meet(list(range(self.total)))
            elif name == "arrive":
                g = first + rest[0]
                self.barriers[b, rest[1]] = np.maximum(self.barriers.get((b, rest[1]), 0), self.seen[g])
                self.seen[g, g] += 1
            elif name == "fence":
                self.fence(b, first + rest[0], rest[1] > 0)
            else:
                found = self.access(pc, b, name, *rest)
                if found:
                    return pc, found
        return None

    def access(self, pc, b, name, t, shared, offset, size, value, flags):
        g = b * self.threads + t
        memory = 1 + b if shared else 0
        for i in range(size):
            byte, part = (memory, offset + i), value >> 8 * i & 255
            found = self.partners(b, g, name, byte, part)
            if found:
                return [
                    p
                    for i in range(size)
                    for p in self.partners(b, g, name, (memory, offset + i), value >> 8 * i & 255)
                ]
        for i in range(size):
            past = self.accesses.setdefault((memory, offset + i), [])
            for r in past:  # a weak store stands for all that happened before it
                r["superseded"] |= name == "store" and (
                    g == r["thread"] or self.seen[g, r["thread"]] >= r["clock"]
                )
            now = {"block": b, "thread": g, "clock": self.seen[g, g], "value": value >> 8 * i & 255}
            past.append(now | {"pc": pc, "name": name, "superseded": False})
        if name not in ("load", "store"):
            self.synchronise(b, g, name, (memory, offset // 4), flags)
        return []
