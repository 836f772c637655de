"""Train a small convolutional network on handwritten digits, eagerly and with the same step compiled.

Shows: ``tj.nn`` and ``tj.optim.Adam`` in the loop that PyTorch's users write, with dropout from the default
generator; then the step as one jitted function, by ``tj.value_and_grad`` and ``tj.optim.adam``.
"""

import time

import numpy as np

import tracejit as tj
from tracejit.tools.demo import load_digits

EPOCHS, BATCH, RATE = 6, 32, 0.005


def initial():
    """He's initial weights: two convolutions, and a linear layer on what two poolings leave of 8 x 8."""
    tj.random.seed(0)
    shapes = {"conv1": (8, 1, 3, 3), "conv2": (16, 8, 3, 3), "out": (10, 64)}
    weights = {name: tj.random.randn(*shape, dtype=tj.float32) for name, shape in shapes.items()}
    weights = {name: w * np.sqrt(2 / np.prod(w.shape[1:])) for name, w in weights.items()}
    biases = {f"{name}_bias": tj.zeros(shape[0], dtype=tj.float32) for name, shape in shapes.items()}
    return weights | biases


def logits(net, images, training=False):
    x = images.reshape(-1, 1, 8, 8)
    x = tj.nn.max_pool2d(tj.nn.relu(tj.nn.conv2d(x, net["conv1"], net["conv1_bias"], padding=1)), 2)
    x = tj.nn.max_pool2d(tj.nn.relu(tj.nn.conv2d(x, net["conv2"], net["conv2_bias"], padding=1)), 2)
    x = tj.nn.dropout(x.reshape(-1, 64), 0.1, training)
    return tj.nn.linear(x, net["out"], net["out_bias"])


def loss_of(net, images, labels):
    return tj.nn.cross_entropy(logits(net, images, training=True), labels)


def batches(data):
    rng = np.random.default_rng(0)
    for _ in range(EPOCHS):
        order = rng.permutation(len(data))
        for rows in order[: len(order) // BATCH * BATCH].reshape(-1, BATCH):
            yield tj.tensor(data.images[rows]), tj.tensor(data.labels[rows])


def train_eagerly(data):
    net = {name: w.requires_grad_() for name, w in initial().items()}
    optimizer = tj.optim.Adam(net, lr=RATE)
    seconds = []
    for images, labels in batches(data):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss_of(net, images, labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    return net, np.median(seconds)


def train_jitted(data):
    net = initial()
    optimizer = tj.optim.adam(lr=RATE)
    state = optimizer.init(net)

    @tj.jit
    def step(net, state, images, labels):
        _, gradients = tj.value_and_grad(loss_of)(net, images, labels)
        return optimizer.update(net, gradients, state)

    seconds = []
    for images, labels in batches(data):
        start = time.perf_counter()
        net, state = step(net, state, images, labels)
        seconds.append(time.perf_counter() - start)
    return net, np.median(seconds)


def accuracy(net, data):
    with tj.no_grad():
        scores = logits(net, tj.tensor(data.images))
    return float((scores.argmax(axis=1) == data.labels).mean())


def main():
    training, held_out = load_digits(np.float32)
    times = {}
    for name, train in (("eager", train_eagerly), ("jitted", train_jitted)):
        net, times[name] = train(training)
        right = accuracy(net, held_out)
        print(f"{name:7} {right:.1%} of {len(held_out)} held-out digits, {times[name] * 1e3:.2f} ms a step")
        assert right >= 0.95
    print(f"a compiled step takes {times['jitted'] / times['eager']:.0%} of the time of an eager one")


if __name__ == "__main__":
    main()
