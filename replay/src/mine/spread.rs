//! The order in which candidates are tried, so that holes spread over kinds, files, sizes and
//! categories.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use fillrate_server::text::LineIndex;

use super::candidates::HoleCandidate;
use crate::task::{HoleKind, Topic, sha256_hex};

/// Candidates that are yet to be tried.
///
/// The next one is of the kind with the fewest holes so far. Among that kind's, the file that was
/// used least comes first; then the size least used for the kind; then the category used least;
/// then chance, by the seed. A use is a try: a file whose tests notice nothing is not tried over
/// and over before others get their second turn. Of kinds only what was not rejected counts, so
/// that there are as many of each as the candidates allow.
pub(super) struct CandidateQueue {
    /// By class, the next one last, each with the number that chance gave it.
    waiting: BTreeMap<CandidateClass, Vec<(String, HoleCandidate)>>,
    /// Holes of each kind, those under way included.
    kinds: HashMap<HoleKind, usize>,
    files: HashMap<String, usize>,
    sizes: HashMap<(HoleKind, u32), usize>,
    subjects: HashMap<Option<Topic>, usize>,
    taken_lines: BTreeSet<(String, usize)>,
}

/// What candidates have in common between which chance alone decides.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CandidateClass {
    /// The kind, after its place among the wanted ones.
    kind: (usize, HoleKind),
    path: String,
    size: u32,
    subject: Option<Topic>,
}

impl CandidateQueue {
    /// Queues the candidates of these kinds; `seed` orders candidates that are otherwise equal.
    pub(super) fn new(candidates: Vec<HoleCandidate>, kinds: &[HoleKind], seed: u64) -> Self {
        let mut waiting: BTreeMap<CandidateClass, Vec<(String, HoleCandidate)>> = BTreeMap::new();
        for candidate in candidates {
            let hole = &candidate.hole;
            let Some(kind) = kinds.iter().position(|kind| *kind == hole.kind) else {
                continue;
            };
            let class = CandidateClass {
                kind: (kind, hole.kind),
                path: hole.path.clone(),
                size: size_class(&hole.reference),
                subject: hole.category.as_ref().map(|category| category.name),
            };
            let chance = sha256_hex(format!("{}\0{}", seed, hole.id).as_bytes());
            waiting.entry(class).or_default().push((chance, candidate));
        }
        for candidates in waiting.values_mut() {
            candidates.sort_by(|a, b| b.0.cmp(&a.0));
        }
        Self {
            waiting,
            kinds: HashMap::new(),
            files: HashMap::new(),
            sizes: HashMap::new(),
            subjects: HashMap::new(),
            taken_lines: BTreeSet::new(),
        }
    }

    /// How many are waiting.
    pub(super) fn len(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
    }

    /// Takes the next one; no two that begin on one line. `contents` are the files by path.
    pub(super) fn take(&mut self, contents: &HashMap<&str, &str>) -> Option<HoleCandidate> {
        loop {
            let kind = self
                .waiting
                .keys()
                .map(|class| class.kind)
                .min_by_key(|(place, kind)| (uses(&self.kinds, kind), *place))?;
            let class = self
                .waiting
                .iter()
                .filter(|(class, _)| class.kind == kind)
                .min_by_key(|(class, candidates)| {
                    (
                        uses(&self.files, &class.path),
                        uses(&self.sizes, &(kind.1, class.size)),
                        uses(&self.subjects, &class.subject),
                        candidates.last().map(|(chance, _)| chance),
                    )
                })
                .map(|(class, _)| class.clone())?;
            let candidates = self.waiting.get_mut(&class)?;
            let next = candidates.pop();
            if candidates.is_empty() {
                self.waiting.remove(&class);
            }
            let Some((_, candidate)) = next else {
                continue;
            };
            let text = contents.get(class.path.as_str()).copied();
            let line = text.map_or(0, |text| LineIndex::new(text).line(candidate.hole.start.0));
            if self.taken_lines.insert((class.path.clone(), line)) {
                *self.kinds.entry(kind.1).or_default() += 1;
                *self.files.entry(class.path).or_default() += 1;
                *self.sizes.entry((kind.1, class.size)).or_default() += 1;
                *self.subjects.entry(class.subject).or_default() += 1;
                return Some(candidate);
            }
        }
    }

    /// Gives back a kind's turn: one of its candidates was rejected.
    pub(super) fn give_back(&mut self, kind: HoleKind) {
        if let Some(count) = self.kinds.get_mut(&kind) {
            *count = count.saturating_sub(1);
        }
    }
}

fn uses<K: Eq + Hash>(counts: &HashMap<K, usize>, of: &K) -> usize {
    counts.get(of).copied().unwrap_or_default()
}

/// References of one class have numbers of characters that differ by a factor below four; white
/// space does not count.
fn size_class(reference: &str) -> u32 {
    let ink = reference.chars().filter(|c| !c.is_whitespace()).count();
    ink.max(1).ilog(4)
}
