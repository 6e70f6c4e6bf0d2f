//! npm's ranges of versions, by which a project says what Node.js it needs:
//! <https://github.com/npm/node-semver#ranges>.

/// A version's numbers.
type Numbers = [u32; 3];

/// The versions of Node.js that a project allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeRange(Vec<Span>);

/// Versions from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    least: Numbers,
    /// The first version that is no longer allowed; `None` if there is none.
    below: Option<Numbers>,
}

impl Span {
    const ALL: Self = Self {
        least: [0; 3],
        below: None,
    };

    fn contains(&self, version: Numbers) -> bool {
        version >= self.least && self.below.is_none_or(|below| version < below)
    }

    fn is_empty(&self) -> bool {
        self.below.is_some_and(|below| below <= self.least)
    }

    /// The versions that are also in another span.
    fn and(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            below: match (self.below, other.below) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            },
        }
    }
}

impl NodeRange {
    /// Parses a range such as `^20.19 || >=22.12`; `None` if it is none.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.split("||")
            .map(parse_span)
            .collect::<Option<_>>()
            .map(Self)
    }

    /// True if a version such as `20.11.1` is in it.
    #[must_use]
    pub(crate) fn contains(&self, version: &str) -> bool {
        parse_partial(version).is_some_and(|parts| {
            let version = padded(&parts);
            self.0.iter().any(|span| span.contains(version))
        })
    }

    /// The versions from (major, minor) on that are in it; `None` if there are none.
    #[must_use]
    pub(crate) fn from(&self, (major, minor): (u32, u32)) -> Option<Self> {
        let least = Span {
            least: [major, minor, 0],
            below: None,
        };
        let spans = self.0.iter().map(|span| span.and(least));
        let spans: Vec<Span> = spans.filter(|span| !span.is_empty()).collect();
        (!spans.is_empty()).then_some(Self(spans))
    }

    /// True if every version from (major, minor) on is in it.
    #[must_use]
    pub(crate) fn allows_all_from(&self, (major, minor): (u32, u32)) -> bool {
        let all = |span: &Span| span.below.is_none() && span.least <= [major, minor, 0];
        self.0.iter().any(all)
    }

    /// A version that package clients and version managers understand, `22`, `22.3` or `22.3.1`,
    /// whose newest release is in the range.
    #[must_use]
    pub(crate) fn oldest(&self) -> Option<String> {
        let span = self.0.iter().min_by_key(|span| span.least)?;
        let [major, minor, patch] = span.least;
        // `22` means the newest release of 22, which the range may not have.
        Some(if span.contains([major, u32::MAX, u32::MAX]) {
            major.to_string()
        } else if span.contains([major, minor, u32::MAX]) {
            format!("{major}.{minor}")
        } else {
            format!("{major}.{minor}.{patch}")
        })
    }
}

/// Parses the part between two `||`: bounds that all hold.
fn parse_span(text: &str) -> Option<Span> {
    // Without blanks around it, a hyphen begins the name of a pre-release.
    if let Some((least, most)) = text.split_once(" - ") {
        let least = bound(">=", &parse_partial(least.trim())?);
        return Some(least.and(bound("<=", &parse_partial(most.trim())?)));
    }
    let mut span = Span::ALL;
    let mut operator = String::new();
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        let version = word.trim_start_matches(['<', '>', '=', '^', '~']);
        operator.push_str(&word[..word.len() - version.len()]);
        // `>= 18` is `>=18`.
        if version.is_empty() {
            continue;
        }
        span = span.and(bound(&operator, &parse_partial(version)?));
        operator.clear();
    }
    operator.is_empty().then_some(span)
}

/// The versions that an operator and a version, of which parts may be missing, allow.
fn bound(operator: &str, parts: &[u32]) -> Span {
    let least = padded(parts);
    let (least, below) = match operator {
        ">=" => (least, None),
        // `>18` does not allow 18.1.
        ">" => (next(parts).unwrap_or(least), None),
        "<" => ([0; 3], Some(least)),
        "<=" => ([0; 3], next(parts)),
        // `~1` keeps the major version, and `~1.2` the minor one, too.
        "~" | "~>" => (least, next(&parts[..parts.len().min(2)])),
        "^" => {
            // A caret keeps the numbers up to the first that is not 0.
            let first = parts.iter().position(|part| *part > 0);
            let kept = first.map_or(parts.len(), |first| first + 1);
            (least, next(&parts[..kept]))
        }
        _ => (least, next(parts)),
    };
    Span { least, below }
}

/// The first version after all that begin with these numbers; `None` without any.
fn next(parts: &[u32]) -> Option<Numbers> {
    let mut parts = parts.to_vec();
    let last = parts.last_mut()?;
    *last = last.saturating_add(1);
    Some(padded(&parts))
}

fn padded(parts: &[u32]) -> Numbers {
    let part = |index: usize| parts.get(index).copied().unwrap_or(0);
    [part(0), part(1), part(2)]
}

/// The numbers of a version such as `v20.11.1`, `20.x` or `*`.
fn parse_partial(text: &str) -> Option<Vec<u32>> {
    // A pre-release counts as its release.
    let core = text.trim_start_matches('v').split(['-', '+']).next()?;
    let mut parts = Vec::new();
    for part in core.split('.').take(3) {
        match part {
            "x" | "X" | "*" | "" => break,
            part => parts.push(part.parse().ok()?),
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> NodeRange {
        NodeRange::parse(text).expect("a range")
    }

    #[test]
    fn ranges_contain_what_npm_installs_for_them() {
        for (text, inside, outside) in [
            ("20", "20.11.1", "21.0.0"),
            ("20.x", "20.0.0", "19.9.9"),
            (">=18", "25.1.0", "17.9.0"),
            (">= 18.2 <21", "20.20.2", "21.0.0"),
            (">18", "19.0.0", "18.20.0"),
            ("<=20.9", "20.9.7", "20.10.0"),
            ("^20.19.0 || >=22.12.0", "22.12.0", "22.11.9"),
            ("^18 || 20", "18.1.0", "19.0.0"),
            ("~20.9", "20.9.9", "20.10.0"),
            ("18.0.0 - 20", "20.99.1", "21.0.0"),
            ("*", "1.0.0", ""),
            ("=v20.1.2", "20.1.2", "20.1.3"),
        ] {
            let range = range(text);
            assert!(range.contains(inside), "{text}: {inside}");
            assert!(
                outside.is_empty() || !range.contains(outside),
                "{text}: {outside}"
            );
        }
        for text in ["lts/*", ">=", "a || 20"] {
            assert_eq!(NodeRange::parse(text), None, "{text}");
        }
    }

    #[test]
    fn versions_that_work_are_taken_out_of_a_range() {
        let from = |text: &str| range(text).from((20, 0));
        assert_eq!(from("8.x || ^18"), None);
        assert_eq!(from("8.x || ^20.9"), Some(range("^20.9")));
        assert!(range(">=8").allows_all_from((20, 0)));
        assert!(!range(">=20.9").allows_all_from((20, 0)));
        assert!(!range("^18 || ^20").allows_all_from((20, 0)));
    }

    #[test]
    fn the_oldest_version_can_be_asked_for() {
        for (text, oldest) in [
            (">=22", "22"),
            (">=22.12", "22"),
            ("~22.3.1", "22.3"),
            ("^24 || ^22", "22"),
            ("20.11.0", "20.11.0"),
        ] {
            assert_eq!(range(text).oldest().as_deref(), Some(oldest), "{text}");
        }
    }
}
