"""The row of Siconos in peers.py, by an interpreter that has it: `siconos_row.py PROBLEM.npz ANSWER.npz`.

Siconos has no wheel; distributions have it for their own interpreter (`apt install python3-siconos`). So this file knows nothing
of delassus: it reads W, q and mu, solves by NSGS, and writes the impulses and the least seconds of `rounds` runs.
"""

import sys
import time

import numpy as np
import siconos.numerics as siconos


def main(given: str, answer: str) -> None:
    data = np.load(given)
    W, q, mu = (np.ascontiguousarray(data[name], dtype=float) for name in ("W", "q", "mu"))
    problem = siconos.FrictionContactProblem(3, len(mu), W, q, mu)
    options = siconos.SolverOptions(siconos.SICONOS_FRICTION_3D_NSGS)
    options.dparam[siconos.SICONOS_DPARAM_TOL] = float(data["tolerance"])
    options.iparam[siconos.SICONOS_IPARAM_MAX_ITER] = 100_000
    reaction, velocity = np.zeros_like(q), np.zeros_like(q)
    best = float("inf")
    for _ in range(int(data["rounds"])):
        reaction.fill(0.0)
        velocity.fill(0.0)
        start = time.perf_counter()
        siconos.fc3d_driver(problem, reaction, velocity, options)
        best = min(best, time.perf_counter() - start)
    np.savez(answer, reaction=reaction, seconds=best)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
