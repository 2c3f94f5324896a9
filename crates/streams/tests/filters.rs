//! Filters against what liboml2 sent of the same samples, against definitions, and their empty windows.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use common::{Found, Owned, decode_all, double, owned, recorded};
use proptest::prelude::*;
use trialwise_streams::filter::{
    Filter, FilterChoice, FilterError, Output, Properties, Quantiles, Registry, Stage, Window,
};
use trialwise_streams::protocol::{Field, FieldType, Value};

fn field(name: &str, field_type: FieldType) -> Field {
    Field { name: name.to_owned(), field_type }
}

fn choice(field: &str, operation: &str) -> FilterChoice {
    FilterChoice { field: field.to_owned(), operation: operation.to_owned(), ..FilterChoice::default() }
}

fn with(field: &str, operation: &str, properties: &[(&str, &str)]) -> FilterChoice {
    let pairs = properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    FilterChoice { properties: Properties(pairs.collect()), ..choice(field, operation) }
}

fn stage_of(fields: &[Field], window: Window, choices: &[FilterChoice]) -> Stage {
    Stage::new(fields, window, choices, &Registry::default()).unwrap()
}

/// Rows that a stage gives of samples with times, flushed at the end.
fn run(stage: &mut Stage, samples: &[(f64, Vec<Value<'_>>)]) -> Vec<(f64, Vec<Owned>)> {
    let mut rows = Vec::new();
    let mut emit =
        |time: f64, values: &[Value<'_>]| rows.push((time, values.iter().copied().map(owned).collect()));
    for (time, values) in samples {
        stage.add(values, *time, &mut emit);
    }
    stage.flush(samples.last().map_or(0.0, |(time, _)| *time), &mut emit);
    rows
}

fn of_numbers(operation: &str, window: Window, numbers: &[f64]) -> Vec<Vec<f64>> {
    numbers_of(&with("x", operation, &[]), window, numbers)
}

fn numbers_of(choice: &FilterChoice, window: Window, numbers: &[f64]) -> Vec<Vec<f64>> {
    let mut stage = stage_of(&[field("x", FieldType::Double)], window, std::slice::from_ref(choice));
    let samples: Vec<_> =
        numbers.iter().enumerate().map(|(at, &x)| (at as f64, vec![Value::Double(x)])).collect();
    run(&mut stage, &samples).into_iter().map(|(_, values)| values.iter().map(as_f64).collect()).collect()
}

fn as_f64(value: &Owned) -> f64 {
    match value {
        Owned::Double(bits) => f64::from_bits(*bits),
        Owned::Integer(value) => *value as f64,
        other => panic!("{other:?} is no number"),
    }
}

fn names(stage: &Stage) -> Vec<String> {
    stage.fields().iter().map(|field| field.name.clone()).collect()
}

/// Samples that liboml2 was given, as its unfiltered stream `one` shows them: (label, i, d, u, flag).
fn recorded_samples(all: &[Found]) -> Vec<Vec<Owned>> {
    let one = all.iter().filter_map(|found| match found {
        Found::Row { name, values, .. } if name == "vecapp_one" => Some(values.clone()),
        _ => None,
    });
    one.collect()
}

type Recorded = (&'static str, u64, &'static [(&'static str, &'static str)]);

/// Stream, window, and filters in the reverse of the configuration's order, as liboml2 has them.
const RECORDED: [Recorded; 8] = [
    ("vecapp_f_std1", 1, &[("d", "stddev")]),
    ("vecapp_f_std", 5, &[("d", "stddev")]),
    ("vecapp_f_delta", 5, &[("d", "delta"), ("i", "delta")]),
    ("vecapp_f_last", 5, &[("flag", "last"), ("d", "last"), ("label", "last")]),
    ("vecapp_f_first", 5, &[("d", "first"), ("label", "first")]),
    ("vecapp_f_sum", 5, &[("u", "sum"), ("d", "sum"), ("i", "sum")]),
    ("vecapp_f_avg", 5, &[("d", "avg"), ("i", "avg")]),
    ("vecapp_deflt", 4, &[]),
];

fn point_fields() -> Vec<Field> {
    vec![
        field("label", FieldType::String),
        field("i", FieldType::Int32),
        field("d", FieldType::Double),
        field("u", FieldType::UInt64),
        field("flag", FieldType::Bool),
    ]
}

fn sample_value(value: &Owned, field_type: FieldType) -> Value<'_> {
    match (field_type, value) {
        (FieldType::String, Owned::Bytes(bytes)) => Value::String(bytes),
        (FieldType::Int32, Owned::Integer(value)) => Value::Int32(*value as i32),
        (FieldType::UInt64, Owned::Integer(value)) => Value::UInt64(*value as u64),
        (FieldType::Double, Owned::Double(bits)) => Value::Double(f64::from_bits(*bits)),
        (FieldType::Bool, Owned::Bool(value)) => Value::Bool(*value),
        other => panic!("{other:?}"),
    }
}

fn near(ours: &Owned, theirs: &Owned) -> bool {
    match (ours, theirs) {
        (Owned::Double(ours), Owned::Double(theirs)) => {
            let (ours, theirs) = (f64::from_bits(*ours), f64::from_bits(*theirs));
            (ours.is_nan() && theirs.is_nan()) || (ours - theirs).abs() <= 1e-6 + theirs.abs() * 1e-8
        }
        _ => ours == theirs,
    }
}

#[test]
fn filters_give_what_liboml2_gave_of_the_same_samples() {
    let Some(folder) = recorded() else { return };
    for stream in ["filters_text.txt", "filters_binary.bin"] {
        let all = decode_all(&std::fs::read(folder.join(stream)).unwrap());
        let samples = recorded_samples(&all);
        assert_eq!(samples.len(), 13);
        for (name, window, choices) in RECORDED {
            let choices: Vec<_> = choices.iter().map(|(field, operation)| choice(field, operation)).collect();
            let mut stage = stage_of(&point_fields(), Window::Samples(window), &choices);
            let samples: Vec<_> = samples
                .iter()
                .map(|row| {
                    row.iter().zip(point_fields()).map(|(v, f)| sample_value(v, f.field_type)).collect()
                })
                .map(|values| (0.0, values))
                .collect();
            let ours = run(&mut stage, &samples);
            let theirs: Vec<_> = all
                .iter()
                .filter_map(|found| match found {
                    Found::Row { name: row, values, .. } if row == name => Some(values),
                    _ => None,
                })
                .collect();
            assert_eq!(ours.len(), theirs.len(), "{name}");
            for ((_, ours), theirs) in ours.iter().zip(theirs) {
                assert!(ours.iter().zip(theirs).all(|(a, b)| near(a, b)), "{name}: {ours:?} {theirs:?}");
            }
        }
    }
}

#[test]
fn outputs_are_named_as_oml_names_them() {
    let fields = point_fields();
    let stage = stage_of(&fields, Window::Samples(4), &[]);
    let expected = "label i_avg i_min i_max d_avg d_min d_max u_avg u_min u_max flag";
    assert_eq!(names(&stage).join(" "), expected);
    assert_eq!(names(&stage_of(&fields, Window::Samples(1), &[])).join(" "), "label i d u flag");
    let renamed = FilterChoice { rename: Some("y".into()), ..choice("i", "stddev") };
    let choices = [renamed, choice("d", "delta|quantiles"), choice("u", "loss"), choice("d", "first")];
    let expected = "y_stddev y_variance d_delta_p50 d_delta_p90 d_delta_p99 \
        u_received u_lost u_duplicate u_reordered d";
    assert_eq!(names(&stage_of(&fields, Window::Samples(4), &choices)).join(" "), expected);
}

#[test]
fn a_choice_without_an_operation_is_the_default_of_its_field() {
    let choices = ["label", "i", "d"].map(|field| choice(field, ""));
    let names_over = |window| names(&stage_of(&point_fields(), window, &choices)).join(" ");
    assert_eq!(names_over(Window::Samples(2)), "label i_avg i_min i_max d_avg d_min d_max");
    assert_eq!(names_over(Window::Samples(1)), "label i d");
}

#[test]
fn a_choice_that_cannot_be_is_refused_with_what_can() {
    let refuse = |choice: FilterChoice, window| {
        Stage::new(&point_fields(), window, &[choice], &Registry::default()).err().unwrap().to_string()
    };
    let samples = Window::Samples(2);
    assert!(refuse(choice("nope", "avg"), samples).contains("label, i, d, u, flag"));
    assert!(refuse(choice("i", "median"), samples).contains("quantiles"));
    assert!(refuse(choice("label", "avg"), samples).contains("use first or last"));
    assert!(refuse(choice("d", "loss"), samples).contains("integers"));
    assert!(refuse(choice("i", "histogram"), samples).contains("\"low\""));
    assert!(refuse(with("i", "quantiles", &[("q", "50")]), samples).contains("0 to 1"));
    assert!(refuse(choice("i", "avg"), Window::Samples(0)).contains("at least 1"));
    assert!(refuse(choice("i", "avg"), Window::Seconds(f64::NAN)).contains("positive"));
    let twice = [choice("i", "avg"), choice("i", "avg")];
    let error = Stage::new(&point_fields(), samples, &twice, &Registry::default()).err().unwrap();
    assert_eq!(error, FilterError::Output("i_avg".into()));
}

#[test]
fn an_empty_window_is_empty_and_not_stale() {
    let fields = [field("d", FieldType::Double), field("s", FieldType::String)];
    let choices = ["avg", "sum", "first", "last", "delta", "stddev", "quantiles", "jitter"]
        .map(|operation| FilterChoice { rename: Some(format!("d_{operation}")), ..choice("d", operation) });
    let choices =
        [&choices[..], &[choice("s", "last"), with("d", "histogram", &[("low", "0"), ("high", "9")])]]
            .concat();
    let mut stage = stage_of(&fields, Window::Seconds(1.0), &choices);
    let sample = |time: f64| (time, vec![Value::Double(5.0), Value::from("here")]);
    let rows = run(&mut stage, &[sample(10.0), sample(10.5), sample(12.5)]);
    assert_eq!(rows.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [11.0, 12.0, 12.5]);
    let empty = &rows[1].1;
    let expected_sum = stage.fields().iter().position(|field| field.name == "d_sum_sum").unwrap();
    for (place, value) in empty.iter().enumerate() {
        let expected = match value {
            Owned::Double(_) if place == expected_sum => double(0.0),
            Owned::Double(_) => double(f64::NAN),
            Owned::Bytes(_) => Owned::Bytes(vec![]),
            _ => Owned::Vector(vec![Owned::Integer(0); 12]),
        };
        assert_eq!(value, &expected, "{}", stage.fields()[place].name);
    }
    let delta = stage.fields().iter().position(|field| field.name == "d_delta_delta").unwrap();
    assert_eq!(rows[2].1[delta], double(0.0), "the step goes over the empty window");
}

#[test]
fn a_type_without_an_empty_value_gives_no_row_for_an_empty_window() {
    let mut stage = stage_of(&[field("i", FieldType::Int32)], Window::Seconds(1.0), &[choice("i", "last")]);
    let rows = run(&mut stage, &[(0.0, vec![Value::Int32(7)]), (5.5, vec![Value::Int32(8)])]);
    assert_eq!(rows, [(1.0, vec![Owned::Integer(7)]), (5.5, vec![Owned::Integer(8)])]);
}

#[test]
fn a_clock_that_leaps_gives_a_bounded_number_of_rows() {
    let mut stage = stage_of(&[field("d", FieldType::Double)], Window::Seconds(0.001), &[choice("d", "sum")]);
    let rows = run(&mut stage, &[(0.0, vec![Value::Double(1.0)]), (1e9, vec![Value::Double(1.0)])]);
    assert_eq!(rows.len(), 1001);
}

#[test]
fn loss_counts_gaps_duplicates_and_late_arrivals_across_a_wrap() {
    let count = |bits: &str, numbers: &[f64]| {
        let choice = with("x", "loss", &[("bits", bits)]);
        let mut stage = stage_of(&[field("x", FieldType::Int64)], Window::Samples(100), &[choice]);
        let samples: Vec<_> = numbers.iter().map(|&x| (0.0, vec![Value::Int64(x as i64)])).collect();
        run(&mut stage, &samples)[0].1.iter().map(as_f64).collect::<Vec<_>>()
    };
    assert_eq!(count("16", &[65534.0, 65535.0, 0.0, 1.0]), [4.0, 0.0, 0.0, 0.0]);
    assert_eq!(count("16", &[65533.0, 1.0]), [2.0, 3.0, 0.0, 0.0]);
    assert_eq!(count("64", &[1.0, 2.0, 5.0, 4.0, 4.0, 3.0, 6.0]), [7.0, 0.0, 1.0, 2.0]);
    assert_eq!(count("64", &[5.0, 4.0, 6.0]), [3.0, 0.0, 0.0, 1.0]);
    assert_eq!(count("64", &[1.0, 1_000_001.0, 2.0]), [3.0, 999_999.0, 0.0, 1.0]);
}

#[test]
fn jitter_follows_the_example_of_the_definition() {
    // Transit times 1, 3, 2: |D| is 2, then 1 (RFC 1889, 6.3.1).
    let mut stage = stage_of(
        &[field("x", FieldType::Double)],
        Window::Samples(3),
        &[with("x", "jitter", &[("rate", "10")])],
    );
    let sample = |sent: f64, arrival: f64| (arrival, vec![Value::Double(sent * 10.0)]);
    let rows = run(&mut stage, &[sample(0.0, 1.0), sample(1.0, 4.0), sample(2.0, 4.0)]);
    let first = 2.0 / 16.0;
    assert_eq!(as_f64(&rows[0].1[0]), first + (1.0 - first) / 16.0);
}

#[test]
fn a_program_adds_its_own_filter() {
    struct Count(i64);
    impl Filter for Count {
        fn outputs(&self) -> Vec<Output> {
            vec![Output::new("count", FieldType::Int64)]
        }
        fn add(&mut self, _value: Value<'_>, _time: f64) {
            self.0 += 1;
        }
        fn output(&self, _index: usize) -> Option<Value<'_>> {
            Some(Value::Int64(self.0))
        }
        fn next_window(&mut self) {
            self.0 = 0;
        }
    }
    let mut registry = Registry::default();
    registry.register("count", Arc::new(|_, _| Ok(Box::new(Count(0))))).unwrap();
    assert!(registry.register("avg", Arc::new(|_, _| Ok(Box::new(Count(0))))).is_err());
    let choices = [choice("s", "count")];
    let mut stage =
        Stage::new(&[field("s", FieldType::String)], Window::Samples(2), &choices, &registry).unwrap();
    let rows = run(&mut stage, &vec![(0.0, vec![Value::from("a")]); 3]);
    assert_eq!(rows, [(0.0, vec![Owned::Integer(2)]), (0.0, vec![Owned::Integer(1)])]);
}

#[test]
fn chained_filters_work_on_each_other() {
    assert_eq!(of_numbers("delta|avg", Window::Samples(4), &[1.0, 3.0, 6.0, 10.0]), [[2.5, 1.0, 4.0]]);
}

#[test]
fn sketches_merge_without_loss_of_accuracy() {
    let make = || Quantiles::new(vec![0.5], 0.01).unwrap();
    let (mut left, mut right) = (make(), make());
    for value in 1..=500 {
        left.add(Value::Int32(value), 0.0);
        right.add(Value::Int32(value + 500), 0.0);
    }
    left.merge(&right).unwrap();
    let Some(Value::Double(median)) = left.output(0) else { panic!() };
    assert!((median - 500.0).abs() <= 6.0, "{median}");
    assert!(left.merge(&Quantiles::new(vec![0.5], 0.1).unwrap()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn moments_equal_their_definitions(numbers in prop::collection::vec(-1e6_f64..1e6, 2..60)) {
        let n = numbers.len() as f64;
        let window = Window::Samples(1000);
        let mean = numbers.iter().sum::<f64>() / n;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        let spread = &of_numbers("stddev", window, &numbers)[0];
        prop_assert!(close(spread[0], variance.sqrt()) && close(spread[1], variance));
        let average = &of_numbers("avg", window, &numbers)[0];
        let minimum = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let maximum = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(close(average[0], mean) && average[1] == minimum && average[2] == maximum);
    }

    #[test]
    fn quantiles_are_within_their_accuracy(mut numbers in prop::collection::vec(1e-3_f64..1e9, 1..200)) {
        let choice = with("x", "quantiles", &[("q", "0,0.5,0.99,1"), ("accuracy", "0.02")]);
        let found = numbers_of(&choice, Window::Samples(1000), &numbers);
        numbers.sort_by(f64::total_cmp);
        for (quantile, found) in [0.0, 0.5, 0.99, 1.0].into_iter().zip(&found[0]) {
            let exact = numbers[(quantile * (numbers.len() - 1) as f64) as usize];
            prop_assert!((found - exact).abs() <= 0.02 * exact * 1.001, "{quantile}: {found} for {exact}");
        }
    }

    #[test]
    fn a_histogram_counts_every_number_once(numbers in prop::collection::vec(-2.0_f64..12.0, 0..80)) {
        let choice = with("x", "histogram", &[("low", "0"), ("high", "10"), ("bins", "5")]);
        let mut stage = stage_of(&[field("x", FieldType::Double)], Window::Samples(1000), &[choice]);
        let samples: Vec<_> = numbers.iter().map(|&x| (0.0, vec![Value::Double(x)])).collect();
        let rows = run(&mut stage, &samples);
        prop_assume!(!numbers.is_empty());
        let Owned::Vector(counts) = &rows[0].1[0] else { panic!() };
        let edges = [f64::NEG_INFINITY, 0.0, 2.0, 4.0, 6.0, 8.0, 10.0, f64::INFINITY];
        for (place, edge) in edges.windows(2).enumerate() {
            let expected = numbers.iter().filter(|&&x| edge[0] <= x && x < edge[1]).count();
            prop_assert_eq!(&counts[place], &Owned::Integer(expected as i128));
        }
    }
}
