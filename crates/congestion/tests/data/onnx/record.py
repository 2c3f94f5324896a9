"""Record what onnxruntime computes, for the test `outputs_are_those_of_onnxruntime` of the reader in this crate.

    pip install onnx onnxruntime scikit-learn skl2onnx
    python crates/congestion/tests/data/onnx/record.py

Recorded with onnx 1.23, onnxruntime 1.32 and skl2onnx 1.20; inputs are drawn from a seed. Networks: the policies that ship, regressors
as the exporter of scikit-learn writes them, and graphs of the operators that PyTorch's exporter writes for perceptrons and LSTMs.
"""

import json
import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.neural_network import MLPRegressor

HERE = Path(__file__).parent
POLICIES = HERE.parents[2] / "policies"
STEPS = 5
CHANCE = np.random.default_rng(1)


def floats(name, *shape):
    return numpy_helper.from_array(CHANCE.normal(0, 0.5, shape).astype(np.float32), name)


def wholes(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def shaped(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, inputs, outputs, tensors, version=17):
    graph = helper.make_graph(nodes, "main_graph", inputs, outputs, tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made.SerializeToString()


def perceptron():
    """torch.nn.Sequential(Linear, ReLU, Dropout, Linear, Sigmoid) with a batch of any size."""
    nodes = [
        helper.make_node("Gemm", ["obs", "0.weight", "0.bias"], ["/0/Gemm"], alpha=1.0, beta=1.0, transB=1),
        helper.make_node("Relu", ["/0/Gemm"], ["/1/Relu"]),
        helper.make_node("Identity", ["/1/Relu"], ["/2/Dropout"]),
        helper.make_node(
            "Gemm", ["/2/Dropout", "3.weight", "3.bias"], ["/3/Gemm"], alpha=1.0, beta=1.0, transB=1
        ),
        helper.make_node("Sigmoid", ["/3/Gemm"], ["action"]),
    ]
    tensors = [
        floats("0.weight", 64, 30),
        floats("0.bias", 64),
        floats("3.weight", 1, 64),
        floats("3.bias", 1),
    ]
    return model(nodes, [shaped("obs", "batch", 30)], [shaped("action", "batch", 1)], tensors)


def recurrent(version):
    """torch.nn.LSTM(batch_first=True) and Linear on its last step, with h and c as inputs and outputs."""
    axes = {"axes": [1]} if version < 13 else {}
    more = [] if version < 13 else ["axis_1"]
    nodes = [
        helper.make_node("Transpose", ["obs"], ["/lstm/Transpose"], perm=[1, 0, 2]),
        helper.make_node(
            "LSTM", ["/lstm/Transpose", "W", "R", "B", "", "h0", "c0"], ["/lstm/Y", "hn", "cn"], hidden_size=8
        ),
        helper.make_node("Squeeze", ["/lstm/Y", *more], ["/lstm/Squeeze"], **axes),
        helper.make_node("Transpose", ["/lstm/Squeeze"], ["/lstm/Turned"], perm=[1, 0, 2]),
        helper.make_node(
            "Constant", [], ["/Constant"], value=numpy_helper.from_array(np.array(-1, np.int64))
        ),
        helper.make_node("Gather", ["/lstm/Turned", "/Constant"], ["/Gather"], axis=1),
        helper.make_node(
            "Gemm", ["/Gather", "fc.weight", "fc.bias"], ["action"], alpha=1.0, beta=1.0, transB=1
        ),
    ]
    tensors = [floats("W", 1, 32, 9), floats("R", 1, 32, 8), floats("B", 1, 64)]
    tensors += [floats("fc.weight", 5, 8), floats("fc.bias", 5)] + ([wholes("axis_1", 1)] if more else [])
    state = [shaped(name, 1, 1, 8) for name in ("h0", "c0", "hn", "cn")]
    inputs = [shaped("obs", 1, 1, 9), *state[:2]]
    return model(nodes, inputs, [shaped("action", 1, 5), *state[2:]], tensors, version)


def scaled():
    """What goes in less its mean, over its deviation, through two layers without Gemm."""
    nodes = [
        helper.make_node("Sub", ["obs", "mean"], ["less"]),
        helper.make_node("Div", ["less", "deviation"], ["even"]),
        helper.make_node("Reshape", ["even", "flat"], ["row"]),
        helper.make_node("MatMul", ["row", "w1"], ["m1"]),
        helper.make_node("Add", ["b1", "m1"], ["s1"]),
        helper.make_node("Tanh", ["s1"], ["t1"]),
        helper.make_node("MatMul", ["t1", "w2"], ["m2"]),
        helper.make_node("Mul", ["m2", "scale"], ["action"]),
    ]
    tensors = [floats("mean", 9), floats("deviation", 9), wholes("flat", 0, -1), floats("w1", 9, 16)]
    tensors += [floats("b1", 16), floats("w2", 16, 5), floats("scale")]
    return model(nodes, [shaped("obs", 1, 9)], [shaped("action", 1, 5)], tensors)


def regressor(activation):
    """As scikit-learn's exporter writes it."""
    inputs = CHANCE.normal(0, 1, (200, 9)).astype(np.float32)
    outputs = np.stack([inputs[:, 0] * inputs[:, 1], inputs.sum(axis=1)], axis=1)
    fit = MLPRegressor(hidden_layer_sizes=(16, 8), activation=activation, random_state=1, max_iter=50).fit(
        inputs, outputs
    )
    return to_onnx(fit, inputs[:1], target_opset=17).SerializeToString()


def recorded(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    first, *rest = session.get_inputs()
    state = {each.name: np.zeros(each.shape, np.float32) for each in rest}
    shape = [length if isinstance(length, int) else 1 for length in first.shape]
    steps = []
    for _ in range(STEPS):
        seen = CHANCE.uniform(0, 1, shape).astype(np.float32)
        action, *after = session.run(None, {first.name: seen, **state})
        state = dict(zip(state, after, strict=False))
        steps.append([[float(value) for value in each.ravel()] for each in (seen, action)])
    return {"file": os.path.relpath(path, HERE), "steps": steps}


def main():
    made = {"perceptron": perceptron(), "recurrent": recurrent(17), "recurrent-9": recurrent(9)}
    made |= {"scaled": scaled()}
    made |= {f"regressor-{name}": regressor(name) for name in ("relu", "tanh", "logistic")}
    paths = [POLICIES / f"{name}.onnx" for name in ("aurora", "indigo")]
    for name, file in made.items():
        paths.append(HERE / f"{name}.onnx")
        paths[-1].write_bytes(file)
    (HERE / "recorded.json").write_text(
        "[\n" + ",\n".join(json.dumps(recorded(path)) for path in paths) + "\n]\n"
    )


if __name__ == "__main__":
    main()
