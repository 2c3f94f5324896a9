use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::*;
use crate::onnx::testing::{Model, bytes, tensor, whole};

fn problem(file: &[u8]) -> String {
    Network::read(file).unwrap_err()
}

fn run(model: &Model, steps: &[&[f32]]) -> Vec<Vec<f32>> {
    let network = Network::read(&model.file()).unwrap();
    let mut values = network.first_values();
    steps.iter().map(|inputs| network.step(&mut values, inputs).unwrap().to_vec()).collect()
}

fn small() -> Model {
    Model::new(&[1, 2], &[1, 2])
        .node("Gemm", &["in", "weights", "biases"], "sums", &[])
        .node("Relu", &["sums"], "out", &[])
        .floats("weights", &[2, 2], &[1.0, 2.0, 3.0, 4.0])
        .floats("biases", &[2], &[0.5, -20.0])
}

#[test]
fn a_layer_is_weights_by_input_and_biases() {
    assert_eq!(run(&small(), &[&[1.0, 2.0], &[4.0, 5.0]]), [[7.5, 0.0], [19.5, 8.0]]);
    let turned = Model::new(&[2], &[2]).node("Gemm", &["in", "weights"], "out", &[("transB", 1)]).floats(
        "weights",
        &[2, 2],
        &[1.0, 2.0, 3.0, 4.0],
    );
    assert_eq!(run(&turned, &[&[1.0, 2.0]]), [[5.0, 11.0]]);
}

#[test]
fn arithmetic_and_shapes_are_those_of_onnx() {
    let model = Model::new(&[1, 4], &[2, 2])
        .node("Reshape", &["in", "shape"], "square", &[])
        .node("Flatten", &["square"], "again", &[("axis", 0)])
        .node("Sub", &["again", "row"], "less", &[])
        .node("Div", &["less", "two"], "half", &[])
        .node("Mul", &["half", "half"], "squares", &[])
        .node("Unsqueeze", &["squares", "axes"], "deep", &[])
        .node("Gather", &["deep", "first"], "flat", &[("axis", 0)])
        .node("Transpose", &["flat"], "turned", &[])
        .node("Squeeze", &["turned"], "out", &[])
        .wholes("shape", &[2, -1])
        .wholes("axes", &[0])
        .wholes("first", &[0])
        .floats("row", &[4], &[1.0, 2.0, 3.0, 4.0])
        .floats("two", &[], &[2.0]);
    assert_eq!(run(&model, &[&[3.0, 2.0, 1.0, 0.0]]), [[1.0, 0.0, 1.0, 4.0]]);
}

#[test]
fn further_inputs_are_fed_with_further_outputs() {
    let model = Model::new(&[1], &[1])
        .state("before", "after", &[1])
        .node("Add", &["in", "before"], "after", &[])
        .node("Identity", &["in"], "out", &[]);
    let sum = Model::new(&[1], &[1])
        .state("before", "after", &[1])
        .node("Add", &["in", "before"], "after", &[])
        .node("Mul", &["after", "after"], "out", &[]);
    assert_eq!(run(&model, &[&[1.0], &[2.0]]), [[1.0], [2.0]]);
    assert_eq!(run(&sum, &[&[1.0], &[2.0], &[3.0]]), [[1.0], [9.0], [36.0]]);
}

#[test]
fn a_state_that_is_not_finite_is_forgotten() {
    let sum = Model::new(&[1], &[1])
        .state("before", "after", &[1])
        .node("Add", &["in", "before"], "after", &[])
        .node("Identity", &["in"], "out", &[]);
    let network = Network::read(&sum.file()).unwrap();
    let mut values = network.first_values();
    for (input, found) in [(3e38, true), (3e38, false), (1.0, true), (f32::NAN, false), (2.0, true)] {
        assert_eq!(network.step(&mut values, &[input]).is_some(), found, "{input}");
    }
    assert_eq!(values[network.memory[0].1.start], 2.0);
}

/// One unit whose gates are open, or shut: the cell adds up tanh of its input.
#[test]
fn gates_are_in_the_order_of_onnx() {
    let lstm = |biases: [f32; 8]| {
        let outputs = ["", "hidden_after", "cell_after"];
        let inputs = ["in", "w", "r", "b", "", "hidden", "cell"];
        Model::new(&[1, 1, 1], &[1, 1, 1])
            .state("hidden", "hidden_after", &[1, 1, 1])
            .state("cell", "cell_after", &[1, 1, 1])
            .node_with("LSTM", &inputs, &outputs, &[[bytes(1, b"hidden_size"), whole(3, 1)].concat()])
            .node("Identity", &["cell_after"], "out", &[])
            .floats("w", &[1, 4, 1], &[0.0, 0.0, 0.0, 1.0])
            .floats("r", &[1, 4, 1], &[0.0; 4])
            .floats("b", &[1, 8], &biases)
    };
    let [half, one] = [0.5_f32, 1.0].map(libm::tanhf);
    let steps: &[&[f32]] = &[&[0.5], &[1.0]];
    assert_eq!(run(&lstm([50.0, 50.0, 50.0, 0.0, 50.0, 0.0, 0.0, 0.0]), steps), [[half], [half + one]]);
    assert_eq!(run(&lstm([50.0, 0.0, -99.0, 0.0, 0.0, 0.0, 0.0, 0.0]), steps), [[half], [one]]);
    assert_eq!(run(&lstm([-99.0, 50.0, 50.0, 0.0, 0.0, 0.0, 0.0, 0.0]), steps), [[0.0], [0.0]]);
}

#[derive(Deserialize)]
struct Recorded {
    /// Beside the record.
    file: String,
    /// Inputs and outputs of each step.
    steps: Vec<(Vec<f32>, Vec<f32>)>,
}

/// Outputs that onnxruntime computed, of files that several programs wrote (`tests/data/onnx/record.py`). Sums of up
/// to 64 terms of a few units in another order: 64 times 2^-24 is 4e-6 of a unit.
#[test]
fn outputs_are_those_of_onnxruntime() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx");
    let text = fs::read(folder.join("recorded.json")).unwrap();
    let recorded: Vec<Recorded> = serde_json::from_slice(&text).unwrap();
    assert_eq!(recorded.len(), 9);
    for Recorded { file: name, steps } in recorded {
        let file = fs::read(folder.join(&name)).unwrap();
        let network = Network::read(&file).unwrap_or_else(|problem| panic!("{name} {problem}"));
        let mut values = network.first_values();
        for (inputs, outputs) in steps {
            let found = network.step(&mut values, &inputs).unwrap();
            for (found, output) in found.iter().zip(&outputs) {
                assert!(
                    (found - output).abs() <= 1e-5 * output.abs().max(1.0),
                    "{name}: {found} for {output}"
                );
            }
            assert_eq!(found.len(), outputs.len());
        }
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let files = [
        include_bytes!("../../policies/aurora.onnx").as_slice(),
        include_bytes!("../../policies/indigo.onnx"),
    ];
    for file in files {
        Network::read(file).unwrap();
        for length in 0..file.len() {
            let said = problem(&file[..length]);
            assert!(said.contains("cut off"), "{length}: {said}");
        }
    }
}

#[test]
fn no_damage_does_more_than_be_refused_or_run() {
    let file = small().file();
    for place in 0..file.len() {
        for byte in 0..=255 {
            let mut damaged = file.clone();
            damaged[place] = byte;
            if let Ok(network) = Network::read(&damaged) {
                let mut values = network.first_values();
                _ = network.step(&mut values, &vec![1.0; network.inputs()]);
            }
        }
    }
}

#[test]
fn lengths_that_lie_ask_for_nothing() {
    for length in [0x7fff_ffff_u64, u64::MAX] {
        let lie = [crate::onnx::testing::varint(7 << 3 | 2), crate::onnx::testing::varint(length)].concat();
        assert!(problem(&lie).contains("said to follow"), "{length}");
    }
    for shape in [&[1 << 31, 1 << 31][..], &[1 << 40], &[-1], &[1 << 20, 2], &[i64::MAX; 8]] {
        let said = problem(&small().floats("huge", shape, &[]).file());
        assert!(said.contains("axis of length") || said.contains("has more than 1048576 values"), "{said}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let weights = |values: &[f32]| {
        Model::new(&[1, 2], &[1, 2]).node("MatMul", &["in", "weights"], "out", &[]).floats(
            "weights",
            &[2, 2],
            values,
        )
    };
    let outside = [tensor("weights", &[2, 2], 1, &[]), whole(14, 1)].concat();
    let plain = || Model::new(&[1, 2], &[1, 2]);
    let layer = |shape: &[i64], count: usize| {
        plain().node("MatMul", &["in", "weights"], "out", &[]).floats("weights", shape, &vec![0.0; count])
    };
    let lstm = |attribute: &str| {
        plain().node("LSTM", &["in", "w", "r"], "out", &[("hidden_size", 1), (attribute, 1)])
    };
    let foreign = [bytes(4, b"Gemm"), bytes(7, b"com.microsoft")].concat();
    for (model, said) in [
        (weights(&[1.0, f32::NAN, 0.0, 0.0]), "the tensor \"weights\" has a value that is not finite"),
        (weights(&[f32::INFINITY; 4]), "not finite"),
        (weights(&[1.0; 3]), "has 3 values where its shape [2, 2] has 4"),
        (plain().field(bytes(5, &outside)), "is in another file: save the model with its weights inside"),
        (plain().field(bytes(5, &tensor("w", &[1], 11, &[0; 8]))), "is of type 11"),
        (plain().field(bytes(5, &tensor("w", &[1], 1, &[0; 3]))), "ends within a value"),
        (plain().field(bytes(15, &[])), "has sparse tensors"),
        (
            plain().node("Conv", &["in"], "out", &[]),
            "has the operator \"Conv\", which is not known here: known are Gemm, ",
        ),
        (plain().field(bytes(1, &foreign)), "uses operators of \"com.microsoft\""),
        (Model { domain: "ai.onnx.ml", ..small() }, "uses operators of \"ai.onnx.ml\""),
        (layer(&[3, 2], 6), "has [1, 2] values for the weights \"weights\" of 3 inputs"),
        (layer(&[4], 4), "not of two axes"),
        (layer(&[2, 1 << 18], 1 << 19), "has more than 262144 weights in a step"),
        (plain(), "has nothing of the name \"out\""),
        (plain().node("Relu", &["nothing"], "out", &[]), "nothing of the name \"nothing\""),
        (plain().node("Gemm", &["in"], "out", &[]), "without its input 2"),
        (plain().node("Gemm", &["in", "in"], "out", &[("transA", 1)]), "has a Gemm with factors"),
        (lstm("input_forget"), "has an LSTM that goes both ways"),
        (plain().node("LSTM", &["in", "w", "r"], "out", &[]), "has an LSTM of 0 units"),
        (plain().node("LSTM", &["in", "w", "r"], "out", &[("hidden_size", -1)]), "has an LSTM of 0 units"),
        (small().state("before", "before", &[1, 2]), "has a state that goes in as output 2"),
        (small().state("before", "out", &[1, 3]), "has 2 values of output 2, and 3 of the input"),
        (
            Model::new(&[1 << 17], &[1]).node("Relu", &["in"], "out", &[]),
            "has more than 65536 values in a step",
        ),
    ] {
        let found = problem(&model.file());
        assert!(found.contains(said), "{found}\nfor {said}");
    }
    assert!(problem(b"not a network at all").contains("is no ONNX file"));
    let many = (0..600).fold(small(), |model, _| model.node("Relu", &["in"], "again", &[]));
    assert!(problem(&many.file()).contains("more than 512 operators"));
}
