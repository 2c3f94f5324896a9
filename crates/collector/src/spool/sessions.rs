//! What is known of native sessions: how far each was received.

use std::collections::HashMap;

use trialwise_streams::native::SessionId;

/// A session that was silent for so long is forgotten (microseconds: 30 days).
const FORGET: u64 = 30 * 24 * 3600 * 1_000_000;
/// So many are remembered, the latest; packed, they fit in one record.
const MOST: usize = 50_000;

/// One session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    /// The last number in the spool.
    pub(crate) received: u64,
    /// When that came: microseconds of UNIX time.
    pub(crate) time: u64,
    /// Where its rows belong.
    pub(crate) domain: String,
    /// The connection that may add to it.
    pub(crate) owner: u64,
}

/// Every session that may go on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions(HashMap<SessionId, Session>);

impl Sessions {
    pub(crate) fn get(&self, session: &SessionId) -> Option<&Session> {
        self.0.get(session)
    }

    pub(crate) fn get_mut(&mut self, session: &SessionId) -> Option<&mut Session> {
        self.0.get_mut(session)
    }

    pub(crate) fn insert(&mut self, id: SessionId, session: Session) {
        self.0.insert(id, session);
    }

    pub(crate) fn remove(&mut self, session: &SessionId) {
        self.0.remove(session);
    }

    /// What a frame in the spool says of its session.
    pub(crate) fn note(&mut self, id: SessionId, number: u64, time: u64, domain: &str) {
        match self.0.get_mut(&id) {
            Some(session) => (session.received, session.time) = (number, time),
            None => {
                self.insert(id, Session { received: number, time, domain: domain.to_owned(), owner: 0 });
            }
        }
    }

    fn forget_old(&mut self, now: u64) {
        let mut oldest = now.saturating_sub(FORGET);
        if self.0.len() > MOST {
            let mut times: Vec<_> = self.0.values().map(|session| session.time).collect();
            times.sort_unstable_by(|a, b| b.cmp(a));
            oldest = oldest.max(times[MOST - 1]);
        }
        self.0.retain(|_, session| session.time > oldest);
    }

    /// Packs the sessions that were heard of lately; forgets the others.
    pub(crate) fn pack(&mut self, now: u64) -> Vec<u8> {
        self.forget_old(now);
        let mut bytes = Vec::new();
        for (id, session) in &self.0 {
            bytes.extend_from_slice(id);
            bytes.extend_from_slice(&session.received.to_le_bytes());
            bytes.extend_from_slice(&session.time.to_le_bytes());
            bytes.push(session.domain.len() as u8);
            bytes.extend_from_slice(session.domain.as_bytes());
        }
        bytes
    }

    /// Reads what [`Self::pack`] wrote.
    pub(crate) fn unpack(mut bytes: &[u8]) -> Option<Self> {
        let mut sessions = Self::default();
        while !bytes.is_empty() {
            let (id, rest) = bytes.split_first_chunk()?;
            let (received, rest) = rest.split_first_chunk()?;
            let (time, rest) = rest.split_first_chunk()?;
            let (&length, rest) = rest.split_first()?;
            let (domain, rest) = rest.split_at_checked(usize::from(length))?;
            let domain = std::str::from_utf8(domain).ok()?.to_owned();
            let (received, time) = (u64::from_le_bytes(*received), u64::from_le_bytes(*time));
            sessions.insert(*id, Session { received, time, domain, owner: 0 });
            bytes = rest;
        }
        Some(sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_read_back_and_old_ones_forgotten() {
        let mut sessions = Sessions::default();
        sessions.note([1; 16], 7, FORGET + 5, "a");
        sessions.note([2; 16], 8, 1, "b");
        let again = Sessions::unpack(&sessions.pack(FORGET + 10)).unwrap();
        assert_eq!(again.get(&[1; 16]).map(|session| session.received), Some(7));
        assert_eq!(again.get(&[2; 16]), None);
        assert!(Sessions::unpack(&[0; 20]).is_none());
    }
}
