//! One stream of a measurement point: its window and a filter for each field that it keeps.

use super::registry::{FilterError, Properties, Registry};
use super::{Filter, Output};
use crate::protocol::{Field, Value, is_name};

/// When a window ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// After so many samples.
    Samples(u64),
    /// After so many seconds, whether or not samples came.
    Seconds(f64),
}

/// A filter that a configuration asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterChoice {
    /// The field that it reads.
    pub field: String,
    /// Its name, or several names joined by `|`; empty: the field's default filter.
    pub operation: String,
    /// What the outputs are called in the place of the field.
    pub rename: Option<String>,
    /// What is said to it.
    pub properties: Properties,
}

/// Most windows that end at one stroke (a machine that slept): later ones are left out.
const MAX_MISSED_WINDOWS: u32 = 1000;

/// Filters the samples of one stream.
pub struct Stage {
    window: Window,
    filters: Vec<Placed>,
    fields: Vec<Field>,
    /// Every sample is a row: nothing to filter.
    passes: bool,
    samples: u64,
    window_end: Option<f64>,
}

struct Placed {
    field: usize,
    outputs: usize,
    filter: Box<dyn Filter>,
}

impl Stage {
    /// A stage over samples of `fields`. Without choices, numbers are averaged over windows longer than one sample and
    /// all else is `first` (OML.md section 9).
    ///
    /// # Errors
    /// An unknown field or filter, a wrong type or property, a name twice.
    pub fn new(
        fields: &[Field],
        window: Window,
        choices: &[FilterChoice],
        registry: &Registry,
    ) -> Result<Self, FilterError> {
        check_window(window)?;
        let choices = with_defaults(choices, fields, window);
        let mut stage = Self {
            window,
            filters: Vec::new(),
            fields: Vec::new(),
            passes: window == Window::Samples(1) && choices.iter().all(|choice| choice.operation == "first"),
            samples: 0,
            window_end: None,
        };
        for choice in &choices {
            stage.place(fields, choice, registry)?;
        }
        Ok(stage)
    }

    fn place(
        &mut self,
        fields: &[Field],
        choice: &FilterChoice,
        registry: &Registry,
    ) -> Result<(), FilterError> {
        let position = fields.iter().position(|field| field.name == choice.field);
        let position = position.ok_or_else(|| FilterError::Field {
            field: choice.field.clone(),
            known: fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", "),
        })?;
        let filter = registry.make(&choice.operation, fields[position].field_type, &choice.properties)?;
        let outputs = filter.outputs();
        for output in &outputs {
            self.name_output(choice.rename.as_ref().unwrap_or(&choice.field), output)?;
        }
        self.filters.push(Placed { field: position, outputs: outputs.len(), filter });
        Ok(())
    }

    fn name_output(&mut self, field: &str, output: &Output) -> Result<(), FilterError> {
        let name = match output.suffix.as_str() {
            "" => field.to_owned(),
            suffix => format!("{field}_{suffix}"),
        };
        if !is_name(&name) || self.fields.iter().any(|field| field.name == name) {
            return Err(FilterError::Output(name));
        }
        self.fields.push(Field { name, field_type: output.field_type });
        Ok(())
    }

    /// The fields of the rows that come out.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether every sample becomes a row, so that a sample lost is a row lost.
    pub const fn passes(&self) -> bool {
        self.passes
    }

    /// Takes a sample injected at `time` (seconds); `emit` gets the time and the values of every row that this completes.
    pub fn add(&mut self, values: &[Value<'_>], time: f64, emit: &mut dyn FnMut(f64, &[Value<'_>])) {
        if self.passes {
            return self.pass(values, time, emit);
        }
        self.advance(time, emit);
        for placed in &mut self.filters {
            placed.filter.add(values[placed.field], time);
        }
        self.samples += 1;
        if matches!(self.window, Window::Samples(most) if self.samples >= most) {
            self.end_window(time, emit);
        }
    }

    fn pass(&self, values: &[Value<'_>], time: f64, emit: &mut dyn FnMut(f64, &[Value<'_>])) {
        let in_order = self.filters.iter().enumerate().all(|(place, placed)| place == placed.field);
        if in_order && self.filters.len() == values.len() {
            return emit(time, values);
        }
        let chosen: Vec<_> = self.filters.iter().map(|placed| values[placed.field]).collect();
        emit(time, &chosen);
    }

    /// Ends the windows that are over at `time`; empty ones too.
    pub fn advance(&mut self, time: f64, emit: &mut dyn FnMut(f64, &[Value<'_>])) {
        let Window::Seconds(seconds) = self.window else { return };
        let mut end = *self.window_end.get_or_insert(time + seconds);
        for _ in 0..MAX_MISSED_WINDOWS {
            if time < end {
                break;
            }
            self.end_window(end, emit);
            end += seconds;
        }
        self.window_end = Some(if time < end { end } else { time + seconds });
    }

    /// Ends the present window before its time, unless it is empty.
    pub fn flush(&mut self, time: f64, emit: &mut dyn FnMut(f64, &[Value<'_>])) {
        if self.samples > 0 {
            self.end_window(time, emit);
        }
    }

    fn end_window(&mut self, time: f64, emit: &mut dyn FnMut(f64, &[Value<'_>])) {
        let outputs = self
            .filters
            .iter()
            .flat_map(|placed| (0..placed.outputs).map(|index| placed.filter.output(index)));
        if let Some(values) = outputs.collect::<Option<Vec<_>>>() {
            emit(time, &values);
        }
        self.filters.iter_mut().for_each(|placed| placed.filter.next_window());
        self.samples = 0;
    }
}

fn check_window(window: Window) -> Result<(), FilterError> {
    let sound = match window {
        Window::Samples(samples) => samples >= 1,
        Window::Seconds(seconds) => seconds > 0.0 && seconds.is_finite(),
    };
    if sound { Ok(()) } else { Err(FilterError::Window) }
}

/// The choices, with the default filter where none is named; without choices, that of each field.
fn with_defaults(choices: &[FilterChoice], fields: &[Field], window: Window) -> Vec<FilterChoice> {
    let all =
        || fields.iter().map(|field| FilterChoice { field: field.name.clone(), ..FilterChoice::default() });
    let mut choices = if choices.is_empty() { all().collect() } else { choices.to_vec() };
    for choice in choices.iter_mut().filter(|choice| choice.operation.is_empty()) {
        let numeric = fields.iter().any(|field| field.name == choice.field && field.field_type.is_numeric());
        let operation = if numeric && window != Window::Samples(1) { "avg" } else { "first" };
        operation.clone_into(&mut choice.operation);
    }
    choices
}
