//! Many short lists in one piece of memory.

/// Lists that stand behind each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups<T> {
    items: Vec<T>,
    /// Where each begins, and where the last ends.
    begins: Vec<u32>,
}

impl<T: Clone> Groups<T> {
    /// These lists.
    pub(crate) fn new<'a>(lists: impl IntoIterator<Item = &'a Vec<T>>) -> Self
    where
        T: 'a,
    {
        let mut groups = Self { items: Vec::new(), begins: vec![0] };
        lists.into_iter().for_each(|list| groups.push(list));
        groups
    }

    /// Adds a list.
    pub(crate) fn push(&mut self, list: &[T]) {
        self.items.extend_from_slice(list);
        self.begins.push(self.items.len() as u32);
    }

    /// How many lists there are.
    pub(crate) const fn count(&self) -> usize {
        self.begins.len() - 1
    }

    /// One of them.
    #[inline]
    pub(crate) fn of(&self, group: usize) -> &[T] {
        &self.items[self.begins[group] as usize..self.begins[group + 1] as usize]
    }

    /// The item at this place of a list.
    #[inline]
    pub(crate) fn item(&self, group: usize, place: usize) -> &T {
        &self.items[self.begins[group] as usize + place]
    }

    /// How many items all lists have.
    pub(crate) const fn items(&self) -> usize {
        self.items.len()
    }
}
