//! Which streams a measurement point becomes, under the configuration.

use std::sync::Arc;

use super::LOSSES_STREAM;
use super::counters::{Losses, Route};
use super::stream::{Stream, StreamRoute};
use crate::config::{Collect, Config, Destination};
use crate::filter::{FilterChoice, FilterError, Registry, Stage, Window};
use crate::protocol::{Content, Encoder, Field, Schema, SchemaError, is_name};

/// Why a measurement point cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclareError {
    /// A name or a field.
    #[error("measurement point {0:?}: {1}")]
    Schema(String, SchemaError),
    /// A filter that the configuration asks for.
    #[error("stream {0:?}: {1}")]
    Filter(String, FilterError),
    /// Two points, or two different streams, under one name.
    #[error("stream {0:?} exists with other fields or filters; give it another name")]
    Taken(String),
    /// Longer than PostgreSQL and OML keep.
    #[error(
        "stream name {0:?} has more than {MAX_STREAM_NAME} bytes; shorten the program's or the point's name"
    )]
    Long(String),
    /// A collector takes only so many of one connection.
    #[error("a client has {MAX_STREAMS} streams at most")]
    TooMany,
    /// A definition that does not fit in a binary row.
    #[error(
        "the definition of stream {0:?} has more than 254 characters, too long to be sent in binary after the start; \
         declare it before the start, shorten its names, or send text"
    )]
    LateDefinition(String),
}

/// Longest name of a stream (OML.md section 9).
const MAX_STREAM_NAME: usize = 63;
/// The highest stream of a program's own that OML's packets can name; 255 is for losses.
const LAST_BINARY_STREAM: u32 = 254;
/// Streams of one client.
const MAX_STREAMS: u32 = 4000;
/// Longest string of a binary row.
const MAX_BINARY_STRING: usize = 254;

/// A stream and the destinations that get it.
struct Plan {
    name: String,
    window: Window,
    filters: Vec<FilterChoice>,
    outlets: Vec<usize>,
}

/// Names and numbers given out so far.
pub(super) struct Declarations {
    app: String,
    window: Window,
    collects: Vec<Collect>,
    registry: Registry,
    pub(super) started: bool,
    next_point: u32,
    next_stream: u32,
    streams: Vec<String>,
    points: Vec<String>,
    warnings: Vec<String>,
    /// Streams that OML's packets cannot name, by destination.
    left_out: Vec<u64>,
    losses: Losses,
}

impl Declarations {
    pub(super) fn new(app: &str, config: &Config, registry: Registry, losses: Losses) -> Self {
        Self {
            app: app.to_owned(),
            window: config.window,
            collects: config.collects.clone(),
            registry,
            started: false,
            next_point: 0,
            next_stream: 0,
            streams: Vec::new(),
            points: Vec::new(),
            warnings: Vec::new(),
            left_out: vec![0; config.collects.len()],
            losses,
        }
    }

    /// What an oml2-server would not take of the streams so far, and what is not sent.
    pub(super) fn warnings(&self) -> Vec<String> {
        let left_out = self.collects.iter().zip(&self.left_out).filter(|(_, count)| **count > 0);
        let say = |(collect, count): (&Collect, &u64)| {
            let destination = &collect.destination;
            format!(
                "{count} streams are not sent to {destination}: OML's binary encoding names no more; --oml-text and native:HOST carry all"
            )
        };
        self.warnings.iter().cloned().chain(left_out.map(say)).collect()
    }

    pub(super) fn app(&self) -> &str {
        &self.app
    }

    /// Points that the configuration names and nobody declared so far.
    pub(super) fn undeclared(&self) -> Vec<String> {
        let listed = self.collects.iter().filter_map(|collect| collect.streams.as_ref()).flatten();
        let mut missing: Vec<_> = listed.map(|stream| stream.point.clone()).collect();
        missing.retain(|point| !self.points.contains(point));
        missing.dedup();
        missing
    }

    /// The number and the streams of a program's point.
    pub(super) fn declare(
        &mut self,
        name: &str,
        fields: &[Field],
    ) -> Result<(u32, Vec<Stream>), DeclareError> {
        let schema = |error| DeclareError::Schema(name.to_owned(), error);
        Schema::new(0, name, fields.to_vec()).map_err(schema)?;
        if self.points.iter().any(|point| point == name) {
            return Err(DeclareError::Taken(name.to_owned()));
        }
        let mut plans = self.plan(name)?;
        if plans.len() as u64 + u64::from(self.next_stream) > u64::from(MAX_STREAMS) {
            return Err(DeclareError::TooMany);
        }
        let numbers: Vec<u32> =
            (self.next_stream..).filter(|&index| index != LOSSES_STREAM).take(plans.len()).collect();
        let mut left_out = Vec::new();
        for (index, plan) in numbers.iter().zip(&mut plans) {
            let named = |&outlet: &usize| *index <= LAST_BINARY_STREAM || !self.is_oml_binary(outlet);
            left_out.extend(plan.outlets.iter().copied().filter(|outlet| !named(outlet)));
            plan.outlets.retain(named);
        }
        let streams: Vec<_> = numbers
            .iter()
            .copied()
            .zip(&plans)
            .map(|(index, plan)| self.build(index, fields, plan))
            .collect::<Result<_, _>>()?;
        streams.iter().for_each(|stream| self.warn(stream));
        self.next_stream = numbers.last().map_or(self.next_stream, |last| last + 1);
        left_out.into_iter().for_each(|outlet| self.left_out[outlet] += 1);
        self.streams.extend(plans.into_iter().map(|plan| plan.name));
        self.points.push(name.to_owned());
        Ok((self.take_point(), streams))
    }

    /// The number and the stream of one of the client's own points: unfiltered, without prefix, to every destination.
    pub(super) fn declare_own(&mut self, schema: Schema) -> Result<(u32, Vec<Stream>), DeclareError> {
        let choice = Plan {
            name: schema.name.clone(),
            window: Window::Samples(1),
            filters: Vec::new(),
            outlets: (0..self.collects.len()).collect(),
        };
        let stream = self.build(schema.index, &schema.fields, &choice)?;
        if schema.index != LOSSES_STREAM {
            self.next_stream = self.next_stream.max(schema.index + 1);
        }
        self.streams.push(schema.name);
        Ok((self.take_point(), vec![stream]))
    }

    fn take_point(&mut self) -> u32 {
        self.next_point += 1;
        self.next_point - 1
    }

    fn plan(&self, point: &str) -> Result<Vec<Plan>, DeclareError> {
        let mut plans: Vec<Plan> = Vec::new();
        for (outlet, collect) in self.collects.iter().enumerate() {
            match &collect.streams {
                None => self.add_plan(&mut plans, outlet, point, self.window, &[])?,
                Some(streams) => {
                    for stream in streams.iter().filter(|stream| stream.point == point) {
                        let name = stream.name.as_deref().unwrap_or(point);
                        self.add_plan(&mut plans, outlet, name, stream.window, &stream.filters)?;
                    }
                }
            }
        }
        Ok(plans)
    }

    /// The same stream in two collects is one stream with two destinations.
    fn add_plan(
        &self,
        plans: &mut Vec<Plan>,
        outlet: usize,
        name: &str,
        window: Window,
        filters: &[FilterChoice],
    ) -> Result<(), DeclareError> {
        let name = format!("{}_{name}", self.app);
        if name.len() > MAX_STREAM_NAME {
            return Err(DeclareError::Long(name));
        }
        if !is_name(&name) {
            return Err(DeclareError::Schema(name.clone(), SchemaError::Name(name)));
        }
        if self.streams.contains(&name) {
            return Err(DeclareError::Taken(name));
        }
        match plans.iter_mut().find(|plan| plan.name == name) {
            None => plans.push(Plan { name, window, filters: filters.to_vec(), outlets: vec![outlet] }),
            Some(plan)
                if plan.window == window && plan.filters == filters && !plan.outlets.contains(&outlet) =>
            {
                plan.outlets.push(outlet);
            }
            Some(_) => return Err(DeclareError::Taken(name)),
        }
        Ok(())
    }

    fn build(&self, index: u32, fields: &[Field], plan: &Plan) -> Result<Stream, DeclareError> {
        let stage = Stage::new(fields, plan.window, &plan.filters, &self.registry);
        let stage = stage.map_err(|error| DeclareError::Filter(plan.name.clone(), error))?;
        let schema = Schema::new(index, &plan.name, stage.fields().to_vec());
        let schema = schema.map_err(|error| DeclareError::Schema(plan.name.clone(), error))?;
        if self.started && schema.to_string().len() > MAX_BINARY_STRING && self.goes_binary(plan) {
            return Err(DeclareError::LateDefinition(plan.name.clone()));
        }
        let routes = plan.outlets.iter().map(|&outlet| StreamRoute {
            outlet,
            slot: 0,
            counters: self.new_route(&plan.name, outlet),
            seq: 0,
        });
        Ok(Stream::new(schema, stage, routes.collect()))
    }

    fn new_route(&self, stream: &str, outlet: usize) -> Arc<Route> {
        let collect = &self.collects[outlet];
        Route::new(stream, &collect.destination.to_string(), collect.content, self.losses.clone())
    }

    /// An OML collector may be a real server, with its limits; what passes them is sent all the same.
    fn warn(&mut self, stream: &Stream) {
        for route in &stream.routes {
            let collect = &self.collects[route.outlet];
            let checked = match collect.destination {
                Destination::Tcp { .. } => Encoder::new(collect.content).check_schema(&stream.schema),
                _ => Ok(()),
            };
            self.warnings.extend(checked.err().map(|error| error.to_string()));
        }
    }

    fn goes_binary(&self, plan: &Plan) -> bool {
        plan.outlets.iter().any(|&outlet| self.is_oml_binary(outlet))
    }

    fn is_oml_binary(&self, outlet: usize) -> bool {
        let collect = &self.collects[outlet];
        let native = matches!(collect.destination, Destination::Native { .. } | Destination::Tls { .. });
        collect.content == Content::Binary && !native
    }
}
