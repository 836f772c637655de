"""Autograd from the beginning: the steps of PyTorch's classic tutorial, with tracejit's tensors.

Shows: ``requires_grad``, ``grad_fn``, ``backward`` from a scalar and with a vector, ``grad``, ``data``,
``no_grad`` and ``detach``. What differs from PyTorch is in docs/autograd.md.
"""

import tracejit as tj

tj.random.seed(0)

# -- what is recorded ------------------------------------------------------------------------------

# A leaf: a tensor that we made, and that we ask derivatives for.
x = tj.ones((2, 2), requires_grad=True)
print(x)

# Whatever is computed from it remembers which operation made it.
y = x + 2
print(y)
print(y.grad_fn)

# More operations, more nodes. At the end stands a number.
z = y * y * 3
out = z.mean()
print(z, out)

# Without a leaf that asks for them, there are no gradients; requires_grad_() asks, in place.
a = tj.random.randn(2, 2)
a = (a * 3) / (a - 1)
print(a.requires_grad)
a.requires_grad_(True)
print(a.requires_grad)
b = (a * a).sum()
print(b.grad_fn)

# -- gradients -------------------------------------------------------------------------------------

# out = 1/4 sum 3 (x + 2)^2, so its derivative by each x is 3/2 (x + 2), which is 4.5 at 1.
out.backward()
print(x.grad)
assert out.item() == 27
assert (x.grad == 4.5).all()

# The graph is what ran: a loop, with a test of the values so far, is as good as a formula.
# (.data is the same memory, and nothing done to it is recorded.)
x = tj.random.randn(3, requires_grad=True)
y = x * 2
doublings = 1
while y.data.norm() < 1000:
    y = y * 2
    doublings += 1
print(y)

# y is no number, so backward needs to know what to multiply its Jacobian by, from the left.
v = tj.tensor([0.1, 1.0, 0.0001])
y.backward(v)
print(x.grad)
assert (x.grad == v * 2**doublings).all()

# -- without gradients -----------------------------------------------------------------------------

# For a block of code ...
print(x.requires_grad)
print((x**2).requires_grad)
with tj.no_grad():
    print((x**2).requires_grad)

# ... or for one tensor: the same values, cut off from what computed them.
print(x.requires_grad)
y = x.detach()
print(y.requires_grad)
print(x.eq(y).all())
