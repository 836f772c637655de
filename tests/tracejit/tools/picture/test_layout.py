"""The laws of the layout, on graphs of many shapes."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tracejit.tools.picture import Picture, PictureEdge, PictureNode, lay_out
from tracejit.tools.picture.layers import add_waypoints, assign_layers, count_crossings, order_layers

from ....rotation import share_of
from ....support import processor_seconds, ratio


def graph(count, pairs):
    nodes = tuple(PictureNode(str(number), (f"node {number}",)) for number in range(count))
    return Picture(nodes, tuple(PictureEdge(str(source), str(target)) for source, target in pairs))


def random_pairs(count, seed, reach):
    chance = random.Random(seed)
    return [
        (chance.randrange(max(0, number - reach), number), number)
        for number in range(1, count)
        for _ in range(chance.choice([0, 1, 1, 2, 3]))
    ]


GRAPHS = {
    "empty": (0, []),
    "one": (1, []),
    "two": (2, [(0, 1)]),
    "square": (2, [(0, 1), (0, 1)]),
    "diamond": (4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "skip": (4, [(0, 1), (1, 2), (2, 3), (0, 3)]),
    "chain": (40, [(i, i + 1) for i in range(39)]),
    "bus": (40, [(i, i + 1) for i in range(39)] + [(0, i) for i in range(2, 40)]),
    "mirror": (40, [(i, i + 1) for i in range(39)] + [(i, 39 - i) for i in range(19)]),
    "fan": (62, [(0, i) for i in range(1, 61)] + [(i, 61) for i in range(1, 61)]),
    "comb": (41, [(i, i + 2) for i in range(0, 39, 2)] + [(i, i + 1) for i in range(1, 39, 2)]),
    "parts": (30, [(i, i + 1) for i in range(0, 20, 2)] + [(1, 3), (1, 5)]),
    "complete": (12, [(i, j) for j in range(12) for i in range(j)]),
    "twice": (20, [(i, i + 1) for i in range(19) for _ in range(2)]),
    "backwards": (6, [(5, 4), (4, 3), (3, 2), (2, 1), (1, 0), (5, 0)]),
    **{f"random {seed}": (150, random_pairs(150, seed, 20)) for seed in range(4)},
    "random wide": (150, random_pairs(150, 9, 150)),
    "far": (1200, [(i, i + 1) for i in range(1199)] + [(i, 1199 - i) for i in range(590)]),
}


def sizes_of(count, seed=0):
    chance = random.Random(seed)
    return [(chance.randrange(40, 200), chance.choice([30, 46, 62])) for _ in range(count)]


@pytest.fixture(params=GRAPHS)
def laid(request):
    count, pairs = GRAPHS[request.param]
    sizes = sizes_of(count)
    return pairs, sizes, lay_out(graph(count, pairs), sizes)


def test_every_node_is_placed_with_its_size_inside_the_picture(laid):
    _, sizes, places = laid
    assert [(box.width, box.height) for box in places.boxes] == sizes
    for box in places.boxes:
        assert -1e-6 <= box.x <= box.x + box.width <= places.width + 1e-6
        assert -1e-6 <= box.y <= box.y + box.height <= places.height + 1e-6


def test_no_two_boxes_overlap(laid):
    boxes = sorted(laid[2].boxes, key=lambda box: box.y)
    for index, current in enumerate(boxes):
        for other in boxes[index + 1 :]:
            if other.y >= current.y + current.height:
                break
            assert current.x + current.width + 10 <= other.x or other.x + other.width + 10 <= current.x


def test_edges_go_down_from_box_to_box(laid):
    pairs, _, places = laid
    assert len(places.routes) == len(pairs)
    for (source, target), route in zip(pairs, places.routes, strict=True):
        above, below = places.boxes[source], places.boxes[target]
        assert above.y + above.height + 20 <= below.y
        ys = [y for _, y in route.points]
        assert ys == sorted(ys)
        first, last = route.points[0], route.points[-1]
        assert last[1] == pytest.approx(below.y)
        assert below.x < last[0] < below.x + below.width
        assert first[1] == pytest.approx(above.y + above.height)
        assert above.x < first[0] < above.x + above.width


@pytest.mark.parametrize("laid", [name for name in GRAPHS if name != "far"], indirect=True)
def test_edges_pass_no_box(laid):
    """A stretch that passes a box's height lies all to one side of it. Far edges are drawn as stubs."""
    pairs, _, places = laid
    for ends, route in zip(pairs, places.routes, strict=True):
        assert not route.far
        for (x, top), (next_x, bottom) in pairwise(route.points):
            for index, box in enumerate(places.boxes):
                if index not in ends and top < box.y + box.height - 1e-6 and bottom > box.y + 1e-6:
                    assert max(x, next_x) < box.x or min(x, next_x) > box.x + box.width


def test_ports_of_a_box_are_apart(laid):
    pairs, _, places = laid
    ends: dict[int, list[float]] = {}
    for (_, target), route in zip(pairs, places.routes, strict=True):
        ends.setdefault(target, []).append(route.points[-1][0])
    for arrow_ends in ends.values():
        arrow_ends.sort()
        assert all(right - left > 0.1 for left, right in pairwise(arrow_ends))


def test_the_same_again(laid):
    pairs, sizes, places = laid
    again = lay_out(graph(len(sizes), pairs), sizes)
    assert again == places


def test_parallel_edges_take_different_ways():
    places = lay_out(graph(2, [(0, 1), (0, 1)]), [(60, 30), (60, 30)])
    assert [route.points for route in places.routes] == [((22.0, 30), (22.0, 64)), ((38.0, 30), (38.0, 64))]


def test_chains_are_straight_although_constants_join_them():
    count = 30  # even numbers are the chain, odd ones constants that join it
    pairs = [(i, i + 2) for i in range(0, count - 2, 2)] + [(i - 1, i) for i in range(2, count, 2)]
    places = lay_out(graph(count, pairs), [(100, 46) if i % 2 == 0 else (50, 30) for i in range(count)])
    middles = {box.x + box.width / 2 for box in places.boxes[4::2]}
    assert max(middles) - min(middles) < 0.02
    assert places.width < 350


def test_constants_stand_beside_their_use():
    # 0 -> 1 -> ... -> 9, and 10 -> 11 -> 9: the short branch is drawn down to where it joins
    places = lay_out(graph(12, [*((i, i + 1) for i in range(9)), (10, 11), (11, 9)]), [(50, 30)] * 12)
    assert places.boxes[11].y == places.boxes[8].y
    assert places.boxes[10].y == places.boxes[7].y


def test_a_tree_has_no_crossings():
    count = 63
    pairs = [(i, (i - 1) // 2) for i in range(1, count)]
    order = list(reversed(range(count)))
    layered = add_waypoints(count, pairs, assign_layers(count, pairs, order))
    order_layers(layered)
    assert count_crossings(layered) == 0


def test_crossings_are_counted_and_removed():
    pairs = [(0, 4), (1, 3), (2, 5), (0, 3)]  # 0-4 crosses 1-3
    layered = add_waypoints(6, pairs, assign_layers(6, pairs, range(6)))
    layered.layers[:] = [[0, 1, 2], [3, 4, 5]]
    assert count_crossings(layered) == 1
    layered.layers[:] = [[2, 1, 0], [3, 4, 5]]
    # 2-5 crosses 1-3, 0-3, 0-4; and nothing else crosses
    assert count_crossings(layered) == 3
    order_layers(layered)
    assert count_crossings(layered) == 0


def test_shared_waypoints():
    pairs = [(i, i + 1) for i in range(9)] + [(0, i) for i in range(2, 10)]
    layered = add_waypoints(10, pairs, assign_layers(10, pairs, range(10)))
    assert layered.items == 10 + 8  # one trunk, not 8 * 9 / 2


#: Edges of a graph of so many nodes.
LARGE = {
    "random": lambda count: random_pairs(count, 2, 30),
    "chain": lambda count: [(i, i + 1) for i in range(count - 1)],
    "bus": lambda count: [(i, i + 1) for i in range(count - 1)] + [(0, i) for i in range(2, count)],
    "mirror": lambda count: [
        *((i, i + 1) for i in range(count - 1)), *((i, count - 1 - i) for i in range(count * 49 // 100)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", share_of(list(LARGE), 2))
def test_layouts_of_large_graphs_take_linear_time(name):
    def seconds(count):
        picture = graph(count, LARGE[name](count))

        def run():
            places = lay_out(picture, [(80, 40)] * count)
            assert len(places.boxes) == count
            assert sum(len(route.points) for route in places.routes) < 10 * count

        return processor_seconds(run)

    # ten times is linear, a hundred times quadratic
    assert ratio(lambda: seconds(10_000), lambda: seconds(1_000), 40, turns=4) < 40
