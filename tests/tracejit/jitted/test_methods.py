"""Methods of classes: ``@tj.jit def step(self, x)``."""

import copy
import dataclasses
import functools
import gc
import pickle
import weakref

import numpy as np
import pytest

import tracejit as tj

X = np.arange(3.0)


class Model:
    shared = 4.0

    def __init__(self, weight=2.0):
        self.weight = weight
        self.bias = tj.tensor([1.0, 2.0, 3.0])
        self.scale = np.ones(3)
        self.name = "plus"
        self.rates = [1.0, {"last": 2.0}]
        self.steps = 0

    @tj.jit
    def step(self, x):
        sign = 1 if self.name == "plus" else -1
        return sign * x * self.weight * self.rates[1]["last"] + self.bias * self.scale

    @tj.jit
    def counted(self, x):
        self.steps = self.steps + 1
        return x * self.steps

    @tj.jit
    def counted_by_a_helper(self, x):
        self._count()
        return x

    def _count(self):
        self.steps += 1

    @tj.jit
    def sometimes(self, x, big):
        if self.weight > 1000:
            self.steps = 7
        return x * big

    @tj.jit
    def cached(self, x):
        self.last = x * 2
        return x

    @tj.jit
    def forgets(self, x):
        del self.name
        return x

    @property
    def doubled(self):
        return self.weight * 2

    @doubled.setter
    def doubled(self, value):
        self.weight = value / 2

    @tj.jit
    def of_property(self, x):
        return x * self.doubled

    @tj.jit
    def sets_a_property(self, x):
        self.doubled = 6.0
        return x

    @functools.cached_property
    def table(self):
        return np.arange(3.0) * self.weight

    @tj.jit
    def of_cached_property(self, x):
        return x + self.table

    @tj.jit(static_argnums=1)
    def power(self, n, x):
        return x**n * self.weight

    @tj.jit(static_argnames="n")
    def named_power(self, x, n=2):
        return x**n * self.weight

    @tj.jit
    def looped(self, x):
        s = 0.0
        for i in range(30):
            s += self.weight * x[i % 3] + self.bias[1]
        return s

    def plain(self, x):
        return x * self.weight

    @tj.jit
    def of_plain(self, x):
        return self.plain(x)

    @classmethod
    @tj.jit
    def of_class(cls, x):
        return x * cls.shared

    @staticmethod
    @tj.jit
    def of_nothing(x):
        return x * 3


class Derived(Model):
    shared = 5.0

    def plain(self, x):
        return -x * self.weight

    @tj.jit
    def step(self, x):
        return super().step(x) + 1


class Slots:
    __slots__ = ("weight",)

    def __init__(self, weight):
        self.weight = weight

    @tj.jit
    def step(self, x):
        return x * self.weight

    @tj.jit
    def counted(self, x):
        self.weight = 5.0
        return x


@dataclasses.dataclass
class Fields:
    weight: float
    bias: object

    @tj.jit
    def step(self, x):
        return x * self.weight + self.bias

    @tj.jit
    def counted(self, x):
        self.weight = self.weight + 1
        return x * self.weight


def expected(model, x):
    sign = 1 if model.name == "plus" else -1
    return sign * x * np.asarray(model.weight) * model.rates[1]["last"] + model.bias.numpy() * model.scale


CHANGES = {
    "number": lambda model: setattr(model, "weight", 3.0),
    "integer": lambda model: setattr(model, "weight", 3),
    "tensor for a number": lambda model: setattr(model, "weight", tj.tensor(0.5)),
    "string": lambda model: setattr(model, "name", "minus"),
    "tensor replaced": lambda model: setattr(model, "bias", tj.tensor([7.0, 8.0, 9.0])),
    "tensor written": lambda model: model.bias.fill_(4.0),
    "array replaced": lambda model: setattr(model, "scale", np.full(3, 2.0)),
    "array written": lambda model: model.scale.fill(5.0),
    "nested item": lambda model: model.rates[1].update(last=9.0),
    "list replaced": lambda model: setattr(model, "rates", [0.0, {"last": -1.0}]),
    "all attributes": lambda model: model.__dict__.update(Model(8.0).__dict__),
}


@pytest.mark.parametrize("change", CHANGES)
def test_attributes_are_read_at_each_call(change):
    model = Model()
    np.testing.assert_allclose(model.step(X).numpy(), expected(model, X))
    CHANGES[change](model)
    np.testing.assert_allclose(model.step(X).numpy(), expected(model, X))


def test_numbers_and_tensors_are_inputs():
    model = Model()
    model.step(X)
    for weight in (3.0, 4.0, 5.0):
        model.weight, model.bias = weight, tj.tensor([weight, 0.0, 0.0])
        np.testing.assert_allclose(model.step(X).numpy(), expected(model, X))
    (signature,) = model.step.explain().signatures
    assert not signature.earlier
    assert {"self.weight", "self.bias", "self.scale"} <= set(signature.captures)


def test_two_instances_do_not_mix():
    first, second = Model(2.0), Model(5.0)
    for _ in range(2):
        for model in (first, second):
            np.testing.assert_allclose(model.step(X).numpy(), expected(model, X))
    first.weight = 7.0
    np.testing.assert_allclose(second.step(X).numpy(), expected(second, X))
    assert first.step is first.step
    assert first.step is not second.step


def test_subclasses():
    derived = Derived(3.0)
    np.testing.assert_allclose(derived.step(X).numpy(), expected(derived, X) + 1)
    np.testing.assert_allclose(derived.of_plain(X).numpy(), -3 * X)
    np.testing.assert_allclose(Model(3.0).of_plain(X).numpy(), 3 * X)
    derived.weight = 4.0
    np.testing.assert_allclose(derived.step(X).numpy(), expected(derived, X) + 1)


def test_methods_of_classes_and_of_nothing():
    np.testing.assert_allclose(Model.of_class(X).numpy(), 4 * X)
    np.testing.assert_allclose(Derived.of_class(X).numpy(), 5 * X)
    np.testing.assert_allclose(Derived().of_class(X).numpy(), 5 * X)
    np.testing.assert_allclose(Model.of_nothing(X).numpy(), 3 * X)
    np.testing.assert_allclose(Model().of_nothing(X).numpy(), 3 * X)


def test_a_class_attribute_changes(monkeypatch):
    Model.of_class(X)
    monkeypatch.setattr(Model, "shared", 6.0)
    np.testing.assert_allclose(Model.of_class(X).numpy(), 6 * X)


def test_a_method_that_an_instance_hides(monkeypatch):
    model = Model()
    np.testing.assert_allclose(model.of_plain(X).numpy(), 2 * X)
    model.plain = lambda x: x * 100
    np.testing.assert_allclose(model.of_plain(X).numpy(), 100 * X)
    del model.plain
    monkeypatch.setattr(Model, "plain", lambda self, x: x * 7)
    np.testing.assert_allclose(model.of_plain(X).numpy(), 7 * X)


def test_properties():
    model = Model()
    np.testing.assert_allclose(model.of_property(X).numpy(), 4 * X)
    model.weight = 5.0
    np.testing.assert_allclose(model.of_property(X).numpy(), 10 * X)
    np.testing.assert_allclose(model.of_cached_property(X).numpy(), X + 5 * np.arange(3.0))
    np.testing.assert_allclose(model.of_cached_property(X).numpy(), X + 5 * np.arange(3.0))


def line_of(method, offset):
    return method._fn.__code__.co_firstlineno + offset


ASSIGNING = {
    "counted": ("steps", line_of(Model.counted, 2)),
    "counted_by_a_helper": ("steps", Model._count.__code__.co_firstlineno + 1),
    "cached": ("last", line_of(Model.cached, 2)),
    "forgets": ("name", line_of(Model.forgets, 2)),
    "sets_a_property": ("weight", line_of(Model.sets_a_property, 2)),
}


@pytest.mark.parametrize("name", ASSIGNING)
def test_assigning_an_attribute_raises_at_its_line(name):
    attribute, line = ASSIGNING[name]
    model = Model()
    before = dict(vars(model))
    for _ in range(2):
        with pytest.raises(
            tj.TraceError, match=rf"{name}: self.{attribute} is \w+ at .*test_methods.py:{line}\."
        ):
            getattr(model, name)(X)
    after = {key: value for key, value in vars(model).items() if key in before}
    assert after == before
    assert not hasattr(model, "last")


def test_assigning_an_attribute_of_slots_raises():
    instance = Slots(2.0)
    with pytest.raises(tj.TraceError, match=r"self.weight is assigned at .*test_methods.py"):
        instance.counted(X)
    assert instance.weight == 2.0


def test_an_assignment_that_does_not_run_is_none():
    np.testing.assert_allclose(Model().sometimes(X, 2.0).numpy(), 2 * X)


def test_slots():
    first, second = Slots(2.0), Slots(3.0)
    np.testing.assert_allclose(first.step(X).numpy(), 2 * X)
    np.testing.assert_allclose(second.step(X).numpy(), 3 * X)
    first.weight = 5.0
    np.testing.assert_allclose(first.step(X).numpy(), 5 * X)


def test_dataclasses_are_arguments():
    fields = Fields(2.0, np.ones(3))
    np.testing.assert_allclose(fields.step(X).numpy(), 2 * X + 1)
    fields.weight = 3.0
    np.testing.assert_allclose(fields.step(X).numpy(), 3 * X + 1)
    np.testing.assert_allclose(Fields(5.0, np.zeros(3)).step(X).numpy(), 5 * X)
    assert len(Fields.step.explain().signatures) == 1
    for count in (1, 2):  # what it assigns, each call assigns
        np.testing.assert_allclose(fields.counted(X).numpy(), (3 + count) * X)
        assert fields.weight == 3 + count
    gradient = tj.grad(lambda fields: Fields.step(fields, X).sum())(fields)
    assert float(gradient.weight) == X.sum()


def test_parameters_of_a_model_get_gradients():
    model = Model()
    model.bias = tj.tensor([1.0, 2.0, 3.0], requires_grad=True)
    model.step(X).sum().backward()
    np.testing.assert_allclose(model.bias.grad.numpy(), np.ones(3))
    model.bias = tj.tensor(np.zeros(3), requires_grad=True)
    model.step(X).sum().backward()
    np.testing.assert_allclose(model.bias.grad.numpy(), np.ones(3))


def test_static_arguments_are_counted_from_self():
    model = Model()
    np.testing.assert_allclose(model.power(2, X).numpy(), 2 * X**2)
    np.testing.assert_allclose(model.power(3, X).numpy(), 2 * X**3)
    np.testing.assert_allclose(model.named_power(X, n=3).numpy(), 2 * X**3)
    np.testing.assert_allclose(model.named_power(X).numpy(), 2 * X**2)


def test_loops_and_transforms():
    model = Model()
    value = 2.0 * X[np.arange(30) % 3].sum() + 60.0
    assert float(model.looped(X)) == pytest.approx(value)
    assert [loop.outcome for loop in model.looped.explain().signatures[0].loops] == ["compiled"]
    np.testing.assert_allclose(tj.grad(model.looped)(X).numpy(), np.full(3, 20.0))
    mapped = tj.jit(tj.vmap(model.step))(np.stack([X, 2 * X]))
    np.testing.assert_allclose(mapped.numpy(), np.stack([expected(model, X), expected(model, 2 * X)]))


def test_calls_through_the_class():
    model = Model()
    np.testing.assert_allclose(Model.step(model, X).numpy(), expected(model, X))
    np.testing.assert_allclose(Model.step(model, x=X).numpy(), expected(model, X))
    np.testing.assert_allclose(model.step(x=X).numpy(), expected(model, X))


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_copies_are_instances_of_their_own(copied):
    model = Model()
    model.step(X)
    other = copied(model)
    other.weight = 9.0
    np.testing.assert_allclose(other.step(X).numpy(), expected(other, X))
    np.testing.assert_allclose(model.step(X).numpy(), expected(model, X))


def test_instances_are_freed():
    model = Model()
    model.step(X)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_an_instance_that_is_handed_on_is_guarded_without_its_functions():
    class Handed(Model):
        @tj.jit
        def step(self, x):
            return x * len(vars(self))

    model = Handed()
    first = model.step(X)
    np.testing.assert_allclose(model.step(X).numpy(), first.numpy())
    assert not model.step.explain().signatures[0].earlier


class Named(list):
    weight = 2.0

    @tj.jit
    def step(this, x):
        return x * this.weight * len(this)

    @classmethod
    @tj.jit
    def changes_the_class(cls, x):
        cls.weight = 5.0
        return x


def test_other_names_of_self_and_classes_derived_from_containers():
    named = Named([1.0, 2.0])
    np.testing.assert_allclose(named.step(X).numpy(), 4 * X)
    with pytest.raises(tj.TraceError, match=r"self.weight is assigned at .*test_methods.py"):
        Named.changes_the_class(X)
    assert Named.weight == 2.0
