//! Small indices into the arrays of a simulation, one type for each array.

macro_rules! index {
    ($(#[$documentation:meta])* $visibility:vis $name:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(u32);

        #[allow(dead_code, reason = "not every kind of index needs every function")]
        impl $name {
            /// No element.
            pub(crate) const NONE: Self = Self(u32::MAX);

            /// The element at this position.
            $visibility const fn new(position: u32) -> Self {
                Self(position)
            }

            /// The position.
            $visibility const fn get(self) -> u32 {
                self.0
            }

            /// The position, for indexing.
            $visibility const fn index(self) -> usize {
                self.0 as usize
            }

            /// Whether this is an element at all.
            pub(crate) const fn is_some(self) -> bool {
                self.0 != u32::MAX
            }
        }
    };
}

/// A part of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartId(u16);

impl PartId {
    pub(crate) const FIRST: Self = Self(0);

    pub(crate) const fn new(number: u16) -> Self {
        Self(number)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

index!(
    /// A node of a topology, host or switch, as numbered there.
    pub NodeId
);
index!(
    /// A host, counted among hosts in the order of their node numbers.
    pub HostId
);
index!(
    /// A network card: one link of a host, counted host by host, of each in the order of its links.
    pub(crate) CardId
);
index!(
    /// A switch, counted among switches in the order of their node numbers.
    pub(crate) SwitchId
);
index!(
    /// One direction of a link: link `n` from its first end is port `2n`, from its second end `2n + 1`.
    pub PortId
);
index!(
    /// A flow, in the order of the flow list.
    pub FlowId
);
index!(
    /// A packet in the slab.
    pub(crate) PacketId
);

impl PortId {
    /// The other direction of the same link.
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}
