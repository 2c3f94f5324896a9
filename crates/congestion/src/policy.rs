//! Policies of learned controllers: networks in ONNX files, each for a form of inputs and outputs that the law declares.

use std::fmt;

use crate::named_file::{Kept, read};
use crate::network::Network;

const MOST_BYTES: u64 = 8 << 20;
/// A controller that decides at intervals stops its timer after so many in which nothing was sent or acknowledged, until it sends again.
pub(crate) const MOST_IDLE: u32 = 20;
static KNOWN: Kept<Named> = Kept::new();

struct Named {
    name: String,
    network: Network,
}

/// What goes into the policies of a law and comes out, and those that ship. A network may have further inputs, which are fed with its
/// further outputs of the step before: the state of its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Values of the first input.
    pub inputs: usize,
    /// Values of the first output.
    pub outputs: usize,
    /// Names and contents; the first is the default.
    pub shipped: &'static [(&'static str, &'static [u8])],
}

/// A policy that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy {name}: {problem}")]
pub struct PolicyError {
    /// Its name or file.
    pub name: String,
    /// What is wrong.
    pub problem: String,
}

/// A network of the form of a law.
#[derive(Clone, Copy)]
pub struct Policy(&'static Named);

impl Policy {
    /// The policy of this name that ships, or of this file.
    ///
    /// # Errors
    /// There is neither, or it holds no network that is known here, or one of another form.
    pub fn named(name: &str, form: &Form) -> Result<Self, PolicyError> {
        if let Some((name, content)) = form.shipped.iter().find(|(known, _)| *known == name) {
            return Self::parse(name, form, content);
        }
        let names: Vec<_> = form.shipped.iter().map(|(name, _)| *name).collect();
        let refused = |problem| PolicyError { name: name.to_owned(), problem };
        Self::parse(name, form, &read(name, MOST_BYTES, &names).map_err(refused)?)
    }

    /// The policy that this content of a file holds.
    ///
    /// # Errors
    /// It holds no network that is known here, or one of another form.
    pub fn parse(name: &str, form: &Form, content: &[u8]) -> Result<Self, PolicyError> {
        let refused = |problem| PolicyError { name: name.to_owned(), problem };
        let make = || Ok(Named { name: name.to_owned(), network: Network::read(content)? });
        let found = KNOWN.get(content, make).map_err(refused)?;
        let (inputs, outputs) = (found.network.inputs(), found.network.outputs());
        if (inputs, outputs) != (form.inputs, form.outputs) {
            let (wanted, made) = (form.inputs, form.outputs);
            return Err(refused(format!(
                "makes {outputs} values of {inputs}; wanted are {made} values of {wanted}"
            )));
        }
        Ok(Self(found))
    }

    /// The policy that ships first.
    pub(crate) fn shipped(form: &Form) -> Self {
        // A test reads it.
        Self::named(form.shipped[0].0, form).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What a flow asks, from its beginning on.
    pub(crate) fn begin(self) -> Asked {
        Asked { policy: self, values: self.0.network.first_values() }
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Policy({})", self.0.name)
    }
}

/// A policy in the hands of a flow, with the state of its units.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    policy: Policy,
    values: Box<[f32]>,
}

impl Asked {
    /// The outputs for these inputs; nothing where one of them, or of the state, is not finite: then the units have seen nothing.
    pub(crate) fn ask(&mut self, inputs: &[f32]) -> Option<&[f32]> {
        self.policy.0.network.step(&mut self.values, inputs)
    }

    /// The units have seen nothing.
    pub(crate) fn begin(&mut self) {
        *self = self.policy.begin();
    }
}
