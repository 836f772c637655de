"""Molecular dynamics with lists of neighbours: atoms that attract and repel (Lennard-Jones) in a box.

Shows: lists of indices that loops build and follow, inner loops as long as an array says, ``continue``, a
jitted method, and forces as the gradient of an energy that is written as a loop.

Known: two atoms have their least energy, -1, at a distance of 2 to the power 1/6; a lattice has so many
neighbours at each distance; the total energy and momentum do not change.
"""

import numpy as np

import tracejit as tj

CUTOFF, SKIN, MOST = 2.5, 0.4, 150


@tj.jit
def find_neighbours(positions, box, reach):
    """Numbers of the later atoms within `reach` of each atom, and how many they are."""
    n = len(positions)
    neighbours = np.zeros((n, MOST), np.int64)
    counts = np.zeros(n, np.int64)
    for i in range(n):
        for j in range(i + 1, n):
            square = 0.0
            for k in range(3):
                d = positions[i, k] - positions[j, k]
                d -= box * round(d / box)
                square += d * d
            if square >= reach * reach:
                continue
            neighbours[i, counts[i]] = j
            counts[i] += 1
    return neighbours, counts


def energy(positions, neighbours, counts, box):
    """The potential energy, zero at the cutoff and beyond."""
    shift = 4 * (CUTOFF**-12 - CUTOFF**-6)
    total = 0.0
    for i in range(len(positions)):
        for p in range(counts[i]):
            j = neighbours[i, p]
            square = 0.0
            for k in range(3):
                d = positions[i, k] - positions[j, k]
                d -= box * round(d / box)
                square += d * d
            if square < CUTOFF * CUTOFF:
                sixth = 1.0 / (square * square * square)
                total += 4.0 * (sixth * sixth - sixth) - shift
    return total


class Atoms:
    """Atoms of mass 1, and the box that they are in."""

    def __init__(self, positions, velocities, box):
        self.positions, self.velocities, self.box = positions, velocities, box
        self.dt = 0.004

    @tj.jit
    def forces(self, positions, neighbours, counts):
        """Minus the gradient of the energy."""
        return -tj.grad(energy)(positions, neighbours, counts, self.box)

    def run(self, steps):
        """Go `steps` on, by velocity Verlet; the total energies."""
        energies, listed = [], None
        for _ in range(steps):
            if listed is None or np.abs(self.positions - listed).max() > SKIN / 4:
                neighbours, counts = find_neighbours(self.positions, self.box, CUTOFF + SKIN)
                listed = self.positions.copy()
                forces = np.asarray(self.forces(self.positions, neighbours, counts))
            self.velocities += 0.5 * self.dt * forces
            self.positions += self.dt * self.velocities
            forces = np.asarray(self.forces(self.positions, neighbours, counts))
            self.velocities += 0.5 * self.dt * forces
            potential = float(potential_energy(self.positions, neighbours, counts, self.box))
            energies.append(potential + 0.5 * (self.velocities**2).sum())
        assert np.abs(forces.sum(0)).max() < 1e-9, "action is reaction"
        return np.array(energies)


potential_energy = tj.jit(energy)


def lattice(cells, edge):
    """A face-centred cubic lattice of ``4 cells ** 3`` atoms."""
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3), -1).reshape(-1, 1, 3)
    faces = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    return ((corners + faces) * edge).reshape(-1, 3)


def main():
    pair = np.array([[0.0, 0, 0], [2 ** (1 / 6), 0, 0]])
    shift = 4 * (CUTOFF**-12 - CUTOFF**-6)
    neighbours, counts = find_neighbours(pair, 100.0, CUTOFF)
    assert np.asarray(counts).tolist() == [1, 0]
    assert np.isclose(float(potential_energy(pair, neighbours, counts, 100.0)), -1 - shift)
    assert np.allclose(np.asarray(tj.jit(tj.grad(energy))(pair, neighbours, counts, 100.0)), 0.0, atol=1e-12)

    edge = 1.55
    positions = lattice(4, edge)
    neighbours, counts = find_neighbours(positions, 4 * edge, CUTOFF + SKIN)
    pairs = int(np.asarray(counts).sum())
    each = float(potential_energy(positions, neighbours, counts, 4 * edge)) / len(positions)
    within = sum(  # every atom of the lattice has 12, 6, 24, 12, 24 neighbours at these squared distances
        number / 2 * (4 * ((s * edge**2 / 2) ** -6 - (s * edge**2 / 2) ** -3) - shift)
        for s, number in ((1, 12), (2, 6), (3, 24), (4, 12), (5, 24))
        if s * edge**2 / 2 < CUTOFF**2
    )
    print(f"lattice: {len(positions)} atoms, {pairs} pairs, {each:.4f} each, by shells {within:.4f}")
    assert np.isclose(each, within)

    rng = np.random.default_rng(0)
    velocities = rng.normal(size=positions.shape)
    atoms = Atoms(positions, velocities - velocities.mean(0), 4 * edge)
    energies = atoms.run(30)
    print(f"energy {energies[0]:.3f}, after 30 steps {energies[-1]:.3f}")
    assert np.ptp(energies) < 2e-3 * abs(energies[0])


if __name__ == "__main__":
    main()
