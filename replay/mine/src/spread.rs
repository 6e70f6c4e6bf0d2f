//! The order in which candidates are tried, so that holes spread over kinds, files, sizes and
//! categories.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use fillrate_language::task::{HoleKind, Topic, sha256_hex};
use fillrate_syntax::text::LineIndex;

use super::candidates::HoleCandidate;

/// Candidates that are yet to be tried.
///
/// The next one is of the kind with the fewest holes so far. Among that kind's, the file that was
/// used least comes first; then the size least used for the kind; then the category used least;
/// then chance, by the seed. Every try is a use, so a file whose tests notice nothing is not tried
/// repeatedly before other files are tried a second time. Rejected candidates do not count towards
/// a kind, so that the kinds have equal numbers of holes as far as the candidates allow.
pub(super) struct CandidateQueue {
    /// By kind, after its place among the wanted ones.
    waiting: BTreeMap<(usize, HoleKind), KindQueue>,
    seed: u64,
    /// Holes of each kind, those under way included.
    kinds: HashMap<HoleKind, usize>,
    sizes: HashMap<(HoleKind, u32), usize>,
    /// Uses of each file.
    files: HashMap<String, usize>,
    subjects: HashMap<Option<Topic>, usize>,
    taken_lines: BTreeSet<LinePlace>,
    /// Candidates on taken lines, which wait until the line's own is rejected.
    held: HashMap<LinePlace, Vec<HoleCandidate>>,
}

/// A file and a line of it.
type LinePlace = (String, usize);

/// The candidates of one kind.
#[derive(Default)]
struct KindQueue {
    /// By file and class, the next one last, each with its random number. No class is empty.
    files: BTreeMap<String, BTreeMap<SizeAndSubject, Vec<(String, HoleCandidate)>>>,
    /// The next candidate of each file and class, by the number of uses of the file: its random
    /// number and its file. The next candidate to take is found here without a search of every
    /// class of every file.
    next: BTreeMap<usize, BTreeMap<SizeAndSubject, BTreeMap<String, String>>>,
}

/// Size and category. Among candidates of a kind and a file that share both, the order is random.
type SizeAndSubject = (u32, Option<Topic>);

impl KindQueue {
    /// Lists the next candidate of each class of a file that was used `uses` times.
    fn list(&mut self, path: &str, uses: usize) {
        for (class, candidates) in self.files.get(path).into_iter().flatten() {
            if let Some((chance, _)) = candidates.last() {
                let listed = self
                    .next
                    .entry(uses)
                    .or_default()
                    .entry(*class)
                    .or_default();
                listed.insert(chance.clone(), path.to_owned());
            }
        }
    }

    /// Removes the next candidates of a file that was used `uses` times from the lists.
    fn unlist(&mut self, path: &str, uses: usize) {
        let Some(listed) = self.next.get_mut(&uses) else {
            return;
        };
        for (class, candidates) in self.files.get(path).into_iter().flatten() {
            if let (Some((chance, _)), Some(numbers)) = (candidates.last(), listed.get_mut(class)) {
                numbers.remove(chance);
                if numbers.is_empty() {
                    listed.remove(class);
                }
            }
        }
        if listed.is_empty() {
            self.next.remove(&uses);
        }
    }

    /// Puts a candidate into its class, which is not listed.
    fn push(&mut self, candidate: HoleCandidate, seed: u64) {
        let hole = &candidate.hole;
        let subject = hole.category.as_ref().map(|category| category.name);
        let class = (size_class(&hole.reference), subject);
        let chance = sha256_hex(format!("{}\0{}", seed, hole.id).as_bytes());
        let classes = match self.files.get_mut(&hole.path) {
            Some(classes) => classes,
            None => self.files.entry(hole.path.clone()).or_default(),
        };
        let candidates = classes.entry(class).or_default();
        // Descending, as the next candidate is taken from the end.
        let at = candidates.partition_point(|(other, _)| *other > chance);
        candidates.insert(at, (chance, candidate));
    }

    /// Takes the last one of a class, which is not listed.
    fn pop(&mut self, path: &str, class: &SizeAndSubject) -> Option<HoleCandidate> {
        let classes = self.files.get_mut(path)?;
        let candidates = classes.get_mut(class)?;
        let popped = candidates.pop();
        if candidates.is_empty() {
            classes.remove(class);
        }
        popped.map(|(_, candidate)| candidate)
    }
}

impl CandidateQueue {
    /// Queues the candidates of these kinds; `seed` orders candidates that are otherwise equal.
    pub(super) fn new(candidates: Vec<HoleCandidate>, kinds: &[HoleKind], seed: u64) -> Self {
        let mut waiting: BTreeMap<(usize, HoleKind), KindQueue> = BTreeMap::new();
        for candidate in candidates {
            let hole = &candidate.hole;
            let Some(place) = kinds.iter().position(|kind| *kind == hole.kind) else {
                continue;
            };
            let queue = waiting.entry((place, hole.kind)).or_default();
            queue.push(candidate, seed);
        }
        for queue in waiting.values_mut() {
            let paths: Vec<String> = queue.files.keys().cloned().collect();
            for path in paths {
                queue.list(&path, 0);
            }
        }
        Self {
            waiting,
            seed,
            kinds: HashMap::new(),
            sizes: HashMap::new(),
            files: HashMap::new(),
            subjects: HashMap::new(),
            taken_lines: BTreeSet::new(),
            held: HashMap::new(),
        }
    }

    /// Number of waiting candidates.
    pub(super) fn len(&self) -> usize {
        let queues = self.waiting.values();
        let classes = queues.flat_map(|queue| queue.files.values().flat_map(BTreeMap::values));
        classes.map(Vec::len).sum()
    }

    /// Takes the next one; no two that begin on one line. `contents` are the files by path.
    pub(super) fn take(&mut self, contents: &HashMap<&str, &str>) -> Option<HoleCandidate> {
        loop {
            let (place, kind) = self
                .waiting
                .iter()
                .filter(|(_, queue)| !queue.next.is_empty())
                .map(|(kind, _)| *kind)
                // The kind that is used least comes next; of equals, the one that was named first.
                .min_by_key(|(place, kind)| (uses(&self.kinds, kind), *place))?;
            let queue = self.waiting.get_mut(&(place, kind))?;
            // Files that were used least come first, so that holes spread over files.
            let (used, listed) = queue.next.first_key_value()?;
            let used = *used;
            let (class, path) = listed
                .iter()
                .filter_map(|(class, numbers)| Some((class, numbers.first_key_value()?)))
                // Within them, the rarest size and subject so far come first, and then the draw.
                .min_by_key(|((size, subject), (chance, _))| {
                    (
                        uses(&self.sizes, &(kind, *size)),
                        uses(&self.subjects, subject),
                        *chance,
                    )
                })
                .map(|(class, (_, path))| (*class, path.clone()))?;
            // The lists name the last candidate of each class, which `pop` changes.
            queue.unlist(&path, used);
            let next = queue.pop(&path, &class);
            queue.list(&path, used);
            let Some(candidate) = next else {
                continue;
            };
            let line = line_of(&candidate, contents);
            // Two holes that begin on one line would give nearly the same task.
            if !self.taken_lines.insert(line.clone()) {
                self.held.entry(line).or_default().push(candidate);
                continue;
            }
            // The use of a file counts for all kinds.
            *self.files.entry(path.clone()).or_default() += 1;
            for queue in self.waiting.values_mut() {
                queue.unlist(&path, used);
                queue.list(&path, used + 1);
            }
            *self.kinds.entry(kind).or_default() += 1;
            *self.sizes.entry((kind, class.0)).or_default() += 1;
            *self.subjects.entry(class.1).or_default() += 1;
            return Some(candidate);
        }
    }

    /// Gives back a rejected candidate's turn and line.
    pub(super) fn give_back(&mut self, candidate: &HoleCandidate, contents: &HashMap<&str, &str>) {
        if let Some(count) = self.kinds.get_mut(&candidate.hole.kind) {
            *count = count.saturating_sub(1);
        }
        let line = line_of(candidate, contents);
        self.taken_lines.remove(&line);
        let used = uses(&self.files, &line.0);
        for held in self.held.remove(&line).unwrap_or_default() {
            let mut queues = self.waiting.iter_mut();
            if let Some((_, queue)) = queues.find(|((_, kind), _)| *kind == held.hole.kind) {
                queue.unlist(&line.0, used);
                queue.push(held, self.seed);
                queue.list(&line.0, used);
            }
        }
    }
}

/// The file and line on which a candidate begins. `contents` are the files by path.
fn line_of(candidate: &HoleCandidate, contents: &HashMap<&str, &str>) -> LinePlace {
    let hole = &candidate.hole;
    let text = contents.get(hole.path.as_str());
    let line = text.map_or(0, |text| LineIndex::new(text).line(hole.start.0));
    (hole.path.clone(), line)
}

fn uses<K: Eq + Hash>(counts: &HashMap<K, usize>, of: &K) -> usize {
    counts.get(of).copied().unwrap_or_default()
}

/// References of one class have numbers of characters that differ by a factor below four; white
/// space does not count.
fn size_class(reference: &str) -> u32 {
    let ink = reference.chars().filter(|c| !c.is_whitespace()).count();
    // A class is four times as long as the one before.
    ink.max(1).ilog(4)
}
