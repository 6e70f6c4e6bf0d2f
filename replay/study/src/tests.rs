use fillrate_metrics::{Coefficient, bootstrap_coverage};
use fillrate_report::table::TextWidth;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// A study with a known truth: versions whose pass and acceptance rates are drawn with a
/// correlation, each seen through holes in files and completions shown to people in files.
struct World {
    true_r: f64,
    versions: usize,
    /// True if all versions have the same holes, whose difficulty they share.
    same_holes: bool,
}

/// Pass rate that the worlds below have in common: mean and standard deviation.
const PASSING: (f64, f64) = (0.4, 0.08);
const ACCEPTING: (f64, f64) = (0.3, 0.05);
/// Spread of clusters.
const CLUSTER: f64 = 0.1;
const FILES: (usize, usize) = (40, 6);
const PEOPLE: (usize, usize) = (40, 15);

impl World {
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        let radius = 1.0 - random.random::<f64>();
        let angle = std::f64::consts::TAU * random.random::<f64>();
        (-2.0 * radius.ln()).sqrt() * angle.cos()
    }

    /// The correlation of figures as they are measured: the error of a mean of clusters takes its
    /// part of the variance.
    fn seen_r(&self) -> f64 {
        let (offline, online) = self.kept();
        self.true_r * (offline * online).sqrt()
    }

    /// The share of each side's variance that is not error.
    fn kept(&self) -> (f64, f64) {
        let kept = |(mean, spread): (f64, f64), (clusters, size): (usize, usize)| {
            let (clusters, size) = (clusters as f64, size as f64);
            let within = mean * (1.0 - mean) - CLUSTER * CLUSTER;
            let noise = CLUSTER * CLUSTER / clusters + within / (clusters * size);
            spread * spread / (spread * spread + noise)
        };
        (kept(PASSING, FILES), kept(ACCEPTING, PEOPLE))
    }

    fn side(
        metric: &str,
        rates: &[f64],
        (clusters, size): (usize, usize),
        shared: Option<&[f64]>,
        random: &mut ChaCha8Rng,
    ) -> StudySide {
        let mut side = StudySide::default();
        for (version, rate) in rates.iter().enumerate() {
            let mut rows = Vec::new();
            for cluster in 0..clusters {
                let apart = match shared {
                    Some(shared) => shared[cluster],
                    None => CLUSTER * Self::normal(random),
                };
                for _ in 0..size {
                    let yes = random.random::<f64>() < rate + apart;
                    let name = match shared {
                        Some(_) => format!("{cluster}"),
                        None => format!("{version}/{cluster}"),
                    };
                    rows.push((name, 1.0, f64::from(u8::from(yes))));
                }
            }
            side.observations.push(Observation {
                version: format!("v{version}"),
                configuration: None,
                label: None,
                language: None,
                stratum: None,
                metric: metric.to_owned(),
                unit: FigureUnit::Share,
                figure: Figure::from_rows(rows),
                source: "a simulation".to_owned(),
            });
        }
        side
    }

    /// A study in this world.
    fn study(&self, seed: u64) -> Study {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (passing, accepting): (Vec<f64>, Vec<f64>) = (0..self.versions)
            .map(|_| {
                let first = Self::normal(&mut random);
                let other = Self::normal(&mut random);
                let second = self.true_r * first + (1.0 - self.true_r.powi(2)).sqrt() * other;
                (
                    PASSING.0 + PASSING.1 * first,
                    ACCEPTING.0 + ACCEPTING.1 * second,
                )
            })
            .unzip();
        let shared: Vec<f64> = (0..FILES.0)
            .map(|_| CLUSTER * Self::normal(&mut random))
            .collect();
        let shared = self.same_holes.then_some(shared.as_slice());
        let offline = Self::side("pass@1", &passing, FILES, shared, &mut random);
        let online = Self::side("acceptance/shown", &accepting, PEOPLE, None, &mut random);
        let options = StudyOptions {
            draws: 1_000,
            bootstrap_draws: 200,
            // Powers are not looked at here.
            simulations: 0,
            seed,
            ..StudyOptions::default()
        };
        Study::new(&offline, &online, SecondSide::Online, &options).unwrap()
    }
}

/// Studies simulated of each world; `FILLRATE_STUDIES` sets another number, for tables.
fn repetitions() -> u64 {
    let set = std::env::var("FILLRATE_STUDIES");
    set.map_or(200, |number| number.parse().unwrap())
}

/// The share of the repetitions that satisfies a condition.
fn share(world: &World, mut holds: impl FnMut(&MetricPair) -> bool) -> f64 {
    let holding = (0..repetitions())
        .filter(|repetition| holds(&world.study(1_000 + repetition).pairs[0]))
        .count();
    holding as f64 / repetitions() as f64
}

fn within(low: Option<f64>, high: Option<f64>, truth: f64) -> bool {
    low.unwrap() <= truth && truth <= high.unwrap()
}

/// 95 % of the intervals are expected to contain the true value; of 200, between 181 and 198 do in
/// 995 of 1,000 such tests.
#[test]
fn intervals_have_their_nominal_coverage() {
    for versions in [4, 5, 7] {
        let world = World {
            true_r: 0.8,
            versions,
            same_holes: false,
        };
        let seen_r = world.seen_r();
        assert!(seen_r < 0.75, "the error of measuring matters: {seen_r}");
        let (mut latent, mut bootstrap, mut known) = (0_u32, 0_u32, 0_u32);
        let measured = share(&world, |pair| {
            let hidden = pair.attenuation;
            // If the reliability is unknown there is no interval, which the pair says.
            let hides = hidden.is_none_or(|it| within(it.low, it.high, world.true_r));
            latent += u32::from(hides);
            known += u32::from(hidden.is_some());
            let drawn = pair.coefficient(Coefficient::Pearson).unwrap().bootstrap;
            let drawn = drawn.unwrap();
            bootstrap += u32::from(within(drawn.low, drawn.high, seen_r));
            let interval = pair.pearson.unwrap();
            within(interval.low, interval.high, seen_r)
        });
        let studies = repetitions() as f64;
        let [latent, known, found] = [latent, known, bootstrap].map(|it| f64::from(it) / studies);
        println!(
            "{versions} versions: of r as measured {measured}, without the error {latent} (known in \
             {known}), bootstrap {found}, of {studies} studies"
        );
        assert!((0.905..=0.99).contains(&measured), "{versions}: {measured}");
        assert!(latent >= 0.905, "{versions}: {latent}");
        assert!(known >= 0.75, "{versions}: {known}");
        // The bootstrap draws the error of measuring a second time: how often it holds the truth
        // is what a report says of it, within the error of counting.
        let expected = bootstrap_coverage(
            Coefficient::Pearson,
            seen_r,
            versions,
            (1.0 - world.kept().0, 1.0 - world.kept().1),
            400,
            200,
            1,
        );
        let expected = expected.unwrap().value;
        println!("bootstrap: {found} of studies, {expected} as it is said");
        assert!((found - expected).abs() < 0.06, "{found}, {expected}");
    }
}

/// An effect that moves all versions alike is not an error between them, and must not be corrected
/// for.
#[test]
fn versions_on_shared_holes_are_compared_hole_by_hole() {
    let world = |same_holes| World {
        true_r: 0.8,
        versions: 7,
        same_holes,
    };
    let holding = share(&world(true), |pair| {
        pair.attenuation
            .is_none_or(|it| within(it.low, it.high, 0.8))
    });
    println!("on the same holes {holding} of {} studies", repetitions());
    assert!(holding >= 0.905, "{holding}");
    let reliability = |same_holes: bool| {
        let studies = (0..40).map(|seed| world(same_holes).study(seed));
        let all: Vec<f64> = studies
            .filter_map(|study| Some(study.pairs[0].attenuation?.offline_reliability))
            .collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let (shared, own) = (reliability(true), reliability(false));
    assert!(shared > own + 0.02, "{shared}, {own}");
}

/// Without a correlation, p is at most .05 in at most 5 of 100 studies; of 200, at most 17 in 98 of
/// 100 such tests. Four versions reach that p in 1 of 24 orders, six in 36 of 720.
#[test]
fn permutation_test_has_its_nominal_level() {
    for versions in [4, 6] {
        let world = World {
            true_r: 0.0,
            versions,
            same_holes: false,
        };
        let rejected = share(&world, |pair| pair.pearson_p().unwrap() <= 0.05);
        println!("{versions} versions: a true zero is rejected in {rejected} of the studies");
        assert!((0.01..=0.085).contains(&rejected), "{versions}: {rejected}");
    }
}

fn table(text: &str) -> StudySide {
    StudySide {
        observations: table::parse_table(text, "t.csv").unwrap(),
        ..StudySide::default()
    }
}

fn quick() -> StudyOptions {
    StudyOptions {
        draws: 500,
        bootstrap_draws: 100,
        simulations: 50,
        ..StudyOptions::default()
    }
}

#[test]
fn versions_are_joined_by_name_and_configuration() {
    let row = |version: &str, configuration: &str, value: f64| {
        format!("{version},python,pass@1,{value},100,,{configuration}\n")
    };
    let header = "version,language,metric,value,n,error,configuration\n";
    let side = |rows: &[(&str, &str, f64)]| {
        let rows: String = rows.iter().map(|(v, c, x)| row(v, c, *x)).collect();
        table(&format!("{header}{rows}"))
    };
    // Two configurations of one model, a model whose settings changed, one that a side does not
    // tell the settings of, and one that is alone.
    let offline = side(&[
        ("m", "aaaaaaaaaaaaaaaa", 0.1),
        ("m", "bbbbbbbbbbbbbbbb", 0.2),
        ("changed", "cccccccccccccccc", 0.3),
        ("unreported", "", 0.4),
        ("alone", "dddddddddddddddd", 0.5),
    ]);
    let online = side(&[
        ("unreported", "ffffffffffffffff", 0.4),
        ("m", "bbbbbbbbbbbbbbbb", 0.2),
        ("m", "aaaaaaaaaaaaaaaa", 0.1),
        ("changed", "eeeeeeeeeeeeeeee", 0.3),
        ("other", "dddddddddddddddd", 0.5),
    ]);
    let study = Study::new(&offline, &online, SecondSide::Online, &quick()).unwrap();
    let labels: Vec<&str> = study.versions.iter().map(|it| it.label.as_str()).collect();
    assert_eq!(
        labels,
        ["m@aaaaaaaa", "m@bbbbbbbb", "changed", "unreported"]
    );
    let points: Vec<(f64, f64)> = study.pairs[0]
        .points
        .iter()
        .map(|point| (point.offline.value, point.second.value))
        .collect();
    assert_eq!(points, [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.4, 0.4)]);
    insta::assert_snapshot!(study.warnings.join("\n"), @"
    changed: the configurations differ (offline cccccccccccccccc, online eeeeeeeeeeeeeeee): context, clean-up or sampling were not the same, so a difference between the sides may come from that
    unreported: joined by its name alone, since only one side has its configuration
    ");
    insta::assert_snapshot!(study.left_out.join("\n"), @"
    alone (dddddddd) has offline figures only
    other (dddddddd) has online figures only
    ");

    let error = Study::new(
        &side(&[("a", "", 0.1)]),
        &side(&[("b", "", 0.1)]),
        SecondSide::Online,
        &quick(),
    );
    insta::assert_snapshot!(error.unwrap_err(), @"no version is on both sides: offline has a, online has b; versions are joined by the model's name and its configuration");
}

#[test]
fn languages_are_compared_apart_or_pooled() {
    let offline = table(
        "version,language,metric,value,n\n\
         a,Python,pass@1,0.5,100\na,typescript,pass@1,0.1,300\n\
         b,Python,pass@1,0.7,100\nb,typescript,pass@1,0.3,300\n",
    );
    let online = table(
        "metric,version,language,n,value\n\
         acceptance/shown,a,python,10,0.2\nacceptance/shown,a,typescript,30,0.4\n\
         acceptance/shown,b,python,10,0.3\nacceptance/shown,b,typescript,30,0.5\n",
    );
    let of = |by| {
        Study::new(
            &offline,
            &online,
            SecondSide::Online,
            &StudyOptions { by, ..quick() },
        )
    };
    let together = of(Grouping::Version).unwrap();
    assert_eq!(together.pairs.len(), 1);
    let point = together.pairs[0].points[0];
    assert!((point.offline.value - 0.2).abs() < 1e-12);
    assert_eq!(point.offline.n, Some(400));
    assert!((point.second.value - 0.35).abs() < 1e-12);
    let apart = of(Grouping::VersionAndLanguage).unwrap();
    let languages: Vec<_> = apart.pairs.iter().map(|it| it.language.clone()).collect();
    assert_eq!(
        languages,
        [Some("python".to_owned()), Some("typescript".to_owned())]
    );
    assert_eq!(apart.pairs[0].points[0].offline.value, 0.5);
    // The decision is one language's, and says whose.
    let text = apart.text(TextWidth::UNLIMITED);
    assert!(text.starts_with("[CAN'T TELL] python: "), "{text}");
    // Its first lines are its last again, where a terminal shows them.
    let first: Vec<&str> = text.lines().take(2).collect();
    assert!(
        text.ends_with(&format!("\n\n{}\n", first.join("\n"))),
        "{text}"
    );
    assert!(
        text.contains("\n  - python: No gap of pass@1 is worth trusting yet"),
        "{text}"
    );
    assert!(
        apart.page().contains("<p class=\"answer\">python: "),
        "{}",
        apart.page()
    );
    assert!(
        together
            .text(TextWidth::UNLIMITED)
            .starts_with("[CAN'T TELL] 2 versions"),
        "{}",
        together.text(TextWidth::UNLIMITED)
    );

    let only_python = StudySide {
        observations: vec![
            online.observations[0].clone(),
            online.observations[2].clone(),
        ],
        ..StudySide::default()
    };
    let differing = |by| {
        let options = StudyOptions { by, ..quick() };
        Study::new(&offline, &only_python, SecondSide::Online, &options).unwrap()
    };
    insta::assert_snapshot!(differing(Grouping::Version).warnings.join("\n"), @"the sides have different languages, and their pooled figures compare them with each other: typescript has offline figures only; compare within languages with --by version,language");
    assert_eq!(
        differing(Grouping::VersionAndLanguage).left_out,
        ["typescript has offline figures only"]
    );

    let bare = table("version,language,metric,value,n\na,x,m,1,\na,y,m,2,\n");
    let error = Study::new(&bare, &bare, SecondSide::Online, &quick()).unwrap_err();
    insta::assert_snapshot!(error, @"t.csv: `m` of a has values for several languages without the n of each, so they can't be pooled; compare within languages with --by version,language");
    let twice = table("version,language,metric,value,n\na,x,m,1,\na,x,m,2,\n");
    let error = Study::new(&twice, &twice, SecondSide::Online, &quick()).unwrap_err();
    insta::assert_snapshot!(error, @"t.csv: `m` of a occurs twice, and values without their rows can't be pooled; remove one");
}

#[test]
fn too_few_or_equal_versions_support_no_conclusion() {
    let study = |rows: &[(f64, f64)]| {
        let side = |at: fn(&(f64, f64)) -> f64| {
            let rows: String = rows
                .iter()
                .enumerate()
                .map(|(version, row)| format!("v{version},,m,{},\n", at(row)))
                .collect();
            table(&format!("version,language,metric,value,n\n{rows}"))
        };
        Study::new(
            &side(|it| it.0),
            &side(|it| it.1),
            SecondSide::Online,
            &quick(),
        )
        .unwrap()
    };
    let two = study(&[(1.0, 2.0), (2.0, 3.0)]);
    assert_eq!(two.pairs[0].conclusion, Conclusion::CantTell);
    assert!(two.page().contains("<svg") && !two.page().contains("The line predicts"));
    insta::assert_snapshot!(two.pairs[0].sentences.join(" "), @"Can't tell: 2 versions with both figures: a correlation takes at least three, and one that can differ from chance at least four.");
    let flat = study(&[(1.0, 2.0), (1.0, 3.0), (1.0, 4.0), (1.0, 1.0)]);
    insta::assert_snapshot!(flat.pairs[0].sentences.join(" "), @"Can't tell: all 4 versions have the same figure on one side, so there is no correlation.");
    let three = study(&[(1.0, 2.0), (2.0, 3.0), (3.0, 4.5)]);
    assert_eq!(three.pairs[0].conclusion, Conclusion::CantTell);
    let said = &three.pairs[0].sentences[0];
    assert!(
        said.starts_with(
            "Can't tell: with 3 versions no result differs from chance at the 5 % level, since the \
             least possible p is .167; r = .993"
        ),
        "{said}"
    );
    assert_eq!(three.pairs[0].attenuation, None);
    let why = three.pairs[0].no_attenuation.as_ref().unwrap();
    assert!(
        why.contains("the errors of either side are unknown"),
        "{why}"
    );
    // Eight versions in order are enough.
    let eight: Vec<(f64, f64)> = (0..8).map(|i| (f64::from(i), f64::from(i * i))).collect();
    assert_eq!(study(&eight).pairs[0].conclusion, Conclusion::Together);
    let against: Vec<(f64, f64)> = eight.iter().map(|(a, b)| (*a, -b)).collect();
    assert_eq!(study(&against).pairs[0].conclusion, Conclusion::Opposed);
}

#[test]
fn p_of_more_than_nine_versions_is_marked_as_drawn() {
    let rows: String = (0..12).map(|i| format!("v{i},,m,{i},\n")).collect();
    let side = table(&format!("version,language,metric,value,n\n{rows}"));
    let study = Study::new(&side, &side, SecondSide::Online, &quick()).unwrap();
    let pearson = study.pairs[0].coefficient(Coefficient::Pearson).unwrap();
    assert_eq!((pearson.p_draws, pearson.p), (Some(99_999), 1e-5));
    let text = study.text(TextWidth::UNLIMITED);
    assert!(
        text.contains("permutation p by 99999 draws < .001"),
        "{text}"
    );
    assert!(text.contains("permutation p < .0001, estimated"), "{text}");
}

// 1/4! = .0417, 1/8! = .0000248, and of 99,999 random orders 1/100,000. No p is 0.
#[test]
fn the_least_possible_p_is_not_zero() {
    let study = |versions: usize| {
        // So few samples leave the power low, which the sentences then state with the least p.
        let side = |metric: &str, exchange: usize| {
            let value = |version: usize| 400 + (version * exchange) % (versions + 1);
            let rows: String = (0..versions)
                .map(|version| format!("v{version},,{metric},0.{},20\n", value(version)))
                .collect();
            table(&format!("version,language,metric,value,n\n{rows}"))
        };
        Study::new(&side("m", 1), &side("k", 3), SecondSide::Online, &quick()).unwrap()
    };
    for (versions, least, text) in [
        (4, 1.0 / 24.0, "least possible p is .042"),
        (8, 1.0 / 40_320.0, "least possible p is < .001"),
        (12, 1e-5, "least possible p is < .001"),
    ] {
        let study = study(versions);
        let pair = &study.pairs[0];
        let found = pair.design.as_ref().unwrap().least_p;
        assert!((found / least - 1.0).abs() < 1e-9, "{versions}: {found}");
        let sentences = pair.sentences.join(" ");
        assert!(sentences.contains(text), "{sentences}");
        assert!(!sentences.contains("p is .000"), "{sentences}");
    }
}

#[test]
fn p_at_its_bound_is_not_below_it() {
    use super::format::p_value;
    for (p, digits, text) in [
        (1e-3, 3, "= .001"),
        (9.9e-4, 3, "< .001"),
        (1e-4, 4, "= .0001"),
        (0.0, 4, "< .0001"),
        (1.0, 3, "= 1.000"),
    ] {
        assert_eq!(p_value("= ", p, digits), text);
    }
}

#[test]
fn differing_mixes_are_warned_about() {
    let rows = "version,language,metric,value,n\na,,m,1,\nb,,m,2,\n";
    let side = |python: usize, of_b: usize| StudySide {
        mixes: [("a", 50), ("b", of_b)]
            .map(|(version, python_share)| SampleMix {
                dimension: SampleDimension::Language,
                version: version.to_owned(),
                configuration: None,
                counts: [
                    ("python".to_owned(), python * python_share / 50),
                    ("typescript".to_owned(), 100 - python),
                ]
                .into(),
            })
            .to_vec(),
        ..table(rows)
    };
    let warnings = |offline: &StudySide, online: &StudySide| {
        let study = Study::new(offline, online, SecondSide::Online, &quick()).unwrap();
        study.warnings.join("\n")
    };
    assert_eq!(warnings(&side(50, 50), &side(55, 50)), "");
    insta::assert_snapshot!(warnings(&side(50, 50), &side(80, 50)), @"the mix of language differs between the sides by 30 %: offline python 50 %, typescript 50 % (n 200); online python 80 %, typescript 20 % (n 200)");
    let apart = warnings(&side(50, 50), &side(50, 200));
    assert!(
        apart.contains("online, the mix of language differs between versions: a has"),
        "{apart}"
    );
}

#[test]
fn invalid_tables_are_errors_with_their_line() {
    let error = |text: &str| table::parse_table(text, "t.csv").unwrap_err().to_string();
    let errors = [
        error("version,language,metric,value\na,,m,1\n"),
        error("version,language,metric,value,n,valeu\na,,m,1,2,3\n"),
        error("version,language,metric,value,n\na,,m,x,\n"),
        error("version,language,metric,value,n\na,,m,1,0\n"),
        error("version,language,metric,value,n\na,,,1,5\n"),
        error("version,language,metric,value,n\na,,m,1\n"),
        error("version,language,metric,value,n,error\na,,m,1,5,-1\n"),
        error("version,language,metric,value,n\n"),
    ];
    insta::assert_snapshot!(errors.join("\n"), @"
    t.csv: the column `n` is missing; the columns are version, language, metric, value, n, and optionally error, configuration, clusters, design_effect, error_correlation, kind, place and length
    t.csv: there is no column `valeu`; the columns are version, language, metric, value, n, and optionally error, configuration, clusters, design_effect, error_correlation, kind, place and length
    t.csv, line 2: `value` is not a valid number: `x`
    t.csv, line 2: `n` must be a whole number above 0, not `0`
    t.csv, line 2: `metric` is empty
    t.csv: CSV error: record 1 (line: 2, byte: 32): found record with 4 fields, but the previous record has 5 fields
    t.csv, line 2: `error` is not a valid number: `-1`
    t.csv has no rows
    ");
}

/// Versions that go against each other in each language, and together when the languages are mixed
/// differently: Simpson's paradox.
#[test]
fn contradicting_languages_make_the_conclusion_depend_on_the_mix() {
    let side = |metric: &str, base: [f64; 2], step: f64| {
        let rows: String = (0..7)
            .flat_map(|version| {
                let share = 100 + 100 * version;
                let [easy, hard] = base.map(|base| base + step * version as f64);
                [
                    format!("v{version},python,{metric},{easy},{share}\n"),
                    format!("v{version},typescript,{metric},{hard},{}\n", 900 - share),
                ]
            })
            .collect();
        table(&format!("version,language,metric,value,n\n{rows}"))
    };
    let (offline, online) = (side("m", [0.7, 0.1], 0.01), side("k", [0.6, 0.1], -0.01));
    let study = |by| {
        let options = StudyOptions { by, ..quick() };
        Study::new(&offline, &online, SecondSide::Online, &options).unwrap()
    };
    let pooled = study(Grouping::Version);
    let pair = &pooled.pairs[0];
    assert!(pair.pearson.unwrap().value > 0.9, "{:?}", pair.pearson);
    assert_eq!(pair.conclusion, Conclusion::DependsOnMix);
    let sentence = &pair.sentences[0];
    assert!(
        sentence.starts_with("Depends on the mix: within python (r = −1.000, n = 7 versions) and"),
        "{sentence}"
    );
    let text = pooled.text(TextWidth::UNLIMITED);
    assert!(
        text.starts_with("[DEPENDS ON THE MIX] m must not choose across the mix"),
        "{text}"
    );
    assert!(text.contains("\nm against k: Depends on the mix"), "{text}");
    // Pooled figures that show the mix predict nothing.
    let decision = pooled.decision.as_ref().unwrap();
    assert_eq!((decision.smallest_gap, decision.selection), (None, None));
    assert!(decision.predictions.is_empty());
    let page = pooled.page();
    assert!(
        page.contains("<svg") && !page.contains("The line predicts") && !page.contains("<polygon"),
        "{page}"
    );
    let page = study(Grouping::VersionAndLanguage).page();
    assert!(
        page.contains("The line predicts") && page.contains("<polygon"),
        "{page}"
    );
    let apart = study(Grouping::VersionAndLanguage);
    assert!(
        apart
            .pairs
            .iter()
            .all(|pair| pair.conclusion == Conclusion::Opposed)
    );
}

/// A table of figures by a stratum's dimension: of each version and stratum, its value and its n.
fn table_by(column: &str, metric: &str, cells: &[(&str, [f64; 5], [usize; 5])]) -> StudySide {
    let rows = cells.iter().flat_map(|(name, values, counts)| {
        let values = values.iter().zip(counts).enumerate();
        values
            .map(move |(version, (value, n))| format!("v{version},,{metric},{value},{n},{name}\n"))
    });
    table(&format!(
        "version,language,metric,value,n,{column}\n{}",
        rows.collect::<String>()
    ))
}

#[test]
fn contradicting_strata_make_the_conclusion_depend_on_the_mix() {
    let (rising, falling) = ([100, 250, 500, 700, 900], [900, 700, 500, 250, 100]);
    for (column, easy, hard) in [
        ("kind", "line", "body"),
        ("place", "line_end", "mid_line"),
        ("length", "1 line", "6 lines or more"),
    ] {
        let offline = table_by(
            column,
            "m",
            &[
                (easy, [0.70, 0.71, 0.72, 0.73, 0.74], rising),
                (hard, [0.10, 0.11, 0.12, 0.13, 0.14], falling),
            ],
        );
        let online = table_by(
            column,
            "k",
            &[
                (easy, [0.60, 0.59, 0.58, 0.57, 0.56], rising),
                (hard, [0.10, 0.09, 0.08, 0.07, 0.06], falling),
            ],
        );
        let study = Study::new(&offline, &online, SecondSide::Online, &quick()).unwrap();
        let pair = &study.pairs[0];
        assert_eq!(pair.conclusion, Conclusion::DependsOnMix, "{column}");
        let said = &pair.sentences[0];
        let begins = format!("Depends on the mix: within {column} ");
        assert!(said.starts_with(&begins) && said.contains(easy), "{said}");
        let text = study.text(TextWidth::UNLIMITED);
        assert!(text.starts_with("[DEPENDS ON THE MIX]"), "{text}");
        // The mix of a table is the n of its figures.
        let weighted = &study.decision.as_ref().unwrap().weighted[0];
        assert_eq!(weighted.dimension.name(), column);
        assert!((weighted.shares[easy] - 0.5).abs() < 1e-12, "{weighted:?}");
        // Half of .70 and .10 for the first version, which raw is .16.
        let (_, first) = weighted.figures[0];
        assert!((first.value - 0.4).abs() < 1e-12, "{weighted:?}");
    }
}

/// A stratum of a tenth of the samples whose figures go the other way by chance contradicts
/// nothing.
#[test]
fn a_small_noisy_stratum_contradicts_nothing() {
    let offline = table_by(
        "kind",
        "m",
        &[
            ("line", [0.1, 0.2, 0.3, 0.4, 0.5], [900; 5]),
            ("api", [0.20, 0.25, 0.22, 0.30, 0.24], [100; 5]),
        ],
    );
    let conclusion = |api: [f64; 5]| {
        let line = ("line", [0.11, 0.19, 0.31, 0.40, 0.52], [900; 5]);
        let online = table_by("kind", "k", &[line, ("api", api, [100; 5])]);
        let study = Study::new(&offline, &online, SecondSide::Online, &quick()).unwrap();
        study.pairs[0].conclusion
    };
    let by_chance = conclusion([0.30, 0.24, 0.29, 0.25, 0.22]);
    assert_eq!(by_chance, Conclusion::Together);
    // The offline order turned round: beyond chance, however small the stratum.
    let beyond_chance = conclusion([0.30, 0.25, 0.28, 0.20, 0.26]);
    assert_eq!(beyond_chance, Conclusion::DependsOnMix);
}

#[test]
fn figures_of_all_samples_replace_those_of_parts() {
    let cells = "v,,m,0.5,10,\nv,,m,0.1,5,line\nv,,m,0.2,5,body\n";
    let side = table(&format!("version,language,metric,value,n,kind\n{cells}"));
    let value = |by| {
        let pooled = pool_observations(&side.observations, by).unwrap();
        let figures = pooled.into_iter();
        let named = figures.map(|(key, pooled)| (key.group, pooled.figure.value().unwrap()));
        named.collect::<Vec<_>>()
    };
    assert_eq!(value(None), [(None, 0.5)]);
    assert_eq!(
        value(Some(SampleDimension::Kind)),
        [
            (Some("body".to_owned()), 0.2),
            (Some("line".to_owned()), 0.1)
        ]
    );
    let error = super::table::parse_table(
        "version,language,metric,value,n,kind,place\nv,,m,1,5,line,line_end\n",
        "t.csv",
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "t.csv, line 2: the row has both a `kind` and a `place`; give one, and the other in rows of its own"
    );
}

/// Clusters make the interval of a table's share wider, and shared holes make the error between
/// versions smaller.
#[test]
fn tables_state_clusters_and_shared_holes() {
    let columns = "version,language,metric,value,n,clusters,design_effect,error_correlation\n";
    let measured = |cells: &str| {
        let side = table(&format!("{columns}v,,m,0.1,500,{cells}\n"));
        side.observations[0]
            .figure
            .measured(FigureUnit::Share)
            .unwrap()
    };
    let (plain, clustered) = (measured(",,"), measured("18,4,"));
    assert_eq!((plain.clusters, clustered.clusters), (None, Some(18)));
    let width = |one: &MeasuredFigure| one.high.unwrap() - one.low.unwrap();
    // Twice the error, and Student's t with 17 degrees of freedom.
    let ratio = width(&clustered) / width(&plain);
    assert!((2.0..2.3).contains(&ratio), "{ratio}");
    let error = clustered.error.unwrap() / plain.error.unwrap();
    assert!((error - 2.0).abs() < 0.1, "{error}");

    let between = |correlation: &str| {
        let row = |version, value| format!("{version},,m,{value},400,,,{correlation}\n");
        let side = table(&format!("{columns}{}{}", row("a", 0.4), row("b", 0.5)));
        let figures: Vec<_> = side
            .observations
            .iter()
            .map(|it| (&it.figure, it.unit))
            .collect();
        figure::error_variance(&figures).unwrap()
    };
    assert!((between("0.6") / between("") - 0.4).abs() < 0.01);
    let wrong = |cells: &str| {
        let text = format!("{columns}v,,m,0.1,500,{cells}\n");
        super::table::parse_table(&text, "t.csv")
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        wrong("1,,"),
        "t.csv, line 2: `clusters` must be a whole number above 1, not `1`"
    );
    assert_eq!(
        wrong(",,2"),
        "t.csv, line 2: `error_correlation` is 2, but lies between -1 and 1"
    );
}

// In plain Python, for 40 % of 1,000: the error of its n is √(q(1 − q)/1004) = .0154636 with q =
// 402/1004, so with .0465 of the other half √(.02325² + .0077318²) = .0245019. A design effect of 9
// for one half and of 1 for the other is 5: the error of n 400, with q = 162/404.
#[test]
fn pooled_rows_keep_the_errors_that_only_some_of_them_state() {
    let columns = "version,language,metric,value,n,error,design_effect,clusters\n";
    let pooled = |cells: [&str; 2]| {
        let [python, go] = cells;
        let text = format!("{columns}v,python,m,.4,1000,{python}\nv,go,m,.4,1000,{go}\n");
        let pooled = pool_observations(&table(&text).observations, None).unwrap();
        let pooled = pooled.into_values().next().unwrap();
        pooled.figure.measured(pooled.unit).unwrap()
    };
    let is_near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
    let one_error = pooled([".0465,,", ",,"]);
    assert!(
        is_near(one_error.error, 0.024501903142539555),
        "{one_error:?}"
    );
    let one_effect = pooled([",9,", ",,"]);
    assert!(
        is_near(one_effect.error, 0.02438333708682894),
        "{one_effect:?}"
    );
    assert_eq!(one_effect, pooled([",9,", ",1,"]));
    // Without any, as n independent outcomes.
    let [plain, whole] = [pooled([",,", ",,"]), pooled([",1,", ",1,"])];
    assert!(is_near(plain.error, whole.error.unwrap()), "{plain:?}");
}

#[test]
fn noisy_figures_get_the_advice_to_measure_better() {
    let side = |metric: &str, values: [f64; 5], n: usize| {
        let rows: String = values
            .iter()
            .enumerate()
            .map(|(version, value)| format!("v{version},,{metric},{value},{n}\n"))
            .collect();
        table(&format!("version,language,metric,value,n\n{rows}"))
    };
    let noisy = side("m", [0.40, 0.41, 0.42, 0.40, 0.43], 50);
    let precise = side("k", [0.1, 0.2, 0.3, 0.4, 0.5], 100_000);
    let study = Study::new(&noisy, &precise, SecondSide::Online, &quick()).unwrap();
    let sentences = study.pairs[0].sentences.join(" ");
    assert!(
        sentences.contains("Measure better, before adding versions: offline 100 % of the variance"),
        "{sentences}"
    );
    assert!(
        sentences.contains("samples per version (now 50)"),
        "{sentences}"
    );
    assert!(!sentences.contains("It would take"), "{sentences}");

    let versions = side("m", [0.2, 0.5, 0.3, 0.6, 0.4], 2_000);
    let study = Study::new(&versions, &precise, SecondSide::Online, &quick()).unwrap();
    let sentences = study.pairs[0].sentences.join(" ");
    assert!(
        sentences.contains("such versions (95 % range "),
        "{sentences}"
    );
}

#[test]
fn corrected_r_beyond_one_is_not_printed_as_a_number() {
    assert_eq!(format::corrected(1.2), "at least 1");
    assert_eq!(format::corrected(-1.01), "at most −1");
    assert_eq!(format::corrected(0.95), ".950");
}

#[test]
fn tables_of_pairs_conclude_by_corrected_p() {
    let rows = |metric: &str, values: [f64; 5]| -> String {
        let values = values.iter().enumerate();
        values
            .map(|(version, value)| format!("v{version},,{metric},{value},\n"))
            .collect()
    };
    let header = "version,language,metric,value,n\n";
    let random = [3.0, 1.0, 5.0, 2.0, 4.0];
    let offline = [
        rows("m", [1.0, 2.0, 3.0, 4.0, 5.0]),
        rows("x", random),
        rows("y", random),
    ];
    let offline = table(&format!("{header}{}", offline.concat()));
    let online = table(&format!("{header}{}", rows("k", [1.1, 2.0, 3.2, 4.0, 5.1])));
    let study = Study::new(&offline, &online, SecondSide::Online, &quick()).unwrap();
    let pair = &study.pairs[0];
    assert_eq!(pair.conclusion, Conclusion::Together);
    assert_eq!(pair.pearson_p(), Some(2.0 / 120.0));
    assert_eq!(pair.corrected_conclusion(), Conclusion::Together);
    let mut pair = pair.clone();
    pair.p_holm = Some(0.06);
    assert_eq!(pair.corrected_conclusion(), Conclusion::CantTell);
}

#[test]
fn tables_of_spreadsheets_are_parsed() {
    let commas = "version,language,metric,value,n\nV1,Python,acceptance,0.25,100\n";
    let expected = table::parse_table(commas, "t.csv").unwrap();
    for (separator, value) in [(";", "0,25"), ("\t", "0,25"), (";", "0.25")] {
        let text = format!(
            "\u{feff}Version{separator}Language{separator}Metric{separator}Value{separator}N\r\n\
             V1{separator}Python{separator}acceptance{separator}{value}{separator}100\r\n"
        );
        assert_eq!(table::parse_table(&text, "t.csv").unwrap(), expected);
    }
}

#[test]
fn rates_outside_their_range_or_in_two_units_are_errors() {
    let parse = |metric: &str, rows: &[(&str, &str)]| {
        let rows: String = rows
            .iter()
            .enumerate()
            .map(|(version, (value, n))| format!("v{version},,{metric},{value},{n}\n"))
            .collect();
        table::parse_table(&format!("version,language,metric,value,n\n{rows}"), "t.csv")
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let mixed = parse("mine", &[("0.41", "10"), ("43.5", "10")]).unwrap_err();
    insta::assert_snapshot!(mixed, @"t.csv, line 3: `value` of `mine` is 43.5, and 0.41 on line 2: the column mixes percentages and fractions; write all as fractions");
    let negative = parse("pass@1", &[("0.41", ""), ("-0.1", "")]).unwrap_err();
    insta::assert_snapshot!(negative, @"t.csv, line 3: `value` of `pass@1` is -0.1, but a rate lies between 0 and 1, or between 0 and 100 in percent");
    let large = parse("mine", &[("410", "10"), ("43.5", "10")]).unwrap_err();
    assert!(
        large.starts_with("t.csv, line 2: `value` of `mine` is 410,"),
        "{large}"
    );
    // Percentages, differences without n, scores and savings are valid.
    assert_eq!(
        parse("mine", &[("41", "10"), ("43.5", "10"), ("0", "10")]),
        Ok(())
    );
    assert_eq!(
        parse("pass rate", &[("0", ""), ("-0.9", ""), ("6.3", "")]),
        Ok(())
    );
    let similarities = parse("es/repobench-levenshtein", &[("0.5", "9"), ("61", "")]).unwrap_err();
    assert!(
        similarities.contains("the column mixes percentages and fractions"),
        "{similarities}"
    );
    assert_eq!(
        parse("keystrokes-saved(line)", &[("-0.5", "9"), ("0.1", "9")]),
        Ok(())
    );
}

#[test]
fn names_that_differ_in_case_are_joined_or_named() {
    let twice = "version,language,metric,value,n\nV1,,m,0.1,5\nv1,,k,0.2,5\n";
    let error = table::parse_table(twice, "t.csv").unwrap_err();
    insta::assert_snapshot!(error, @"t.csv, line 3: `version` is `v1`, and `V1` on line 2; use one spelling");
    let side = |name: &str| {
        let rows: String = (1..5).map(|i| format!("{name}{i},,m,0.{i},50\n")).collect();
        table(&format!("version,language,metric,value,n\n{rows}"))
    };
    let study = Study::new(&side("V"), &side("v"), SecondSide::Online, &quick()).unwrap();
    assert_eq!((study.versions.len(), study.pairs[0].points.len()), (4, 4));
    assert!(
        study.warnings[0].contains("V1 (offline) is joined with v1 (online)"),
        "{:?}",
        study.warnings
    );
}

// `m` is another version than `M`, in whichever order the tables name them.
#[test]
fn equal_names_are_joined_before_those_in_another_case() {
    let side = |names: &[&str]| {
        let mut side = StudySide::default();
        for (at, name) in names.iter().enumerate() {
            // A table has one spelling of a name, so each has one of its own.
            let text = format!(
                "version,language,metric,value,n\n{name},,m,0.{},50\n",
                at + 1
            );
            side.observations.extend(table(&text).observations);
        }
        side
    };
    let joined = |ours: &[&str], theirs: &[&str]| {
        let study = Study::new(&side(ours), &side(theirs), SecondSide::Online, &quick()).unwrap();
        let mut joined: Vec<(String, String)> = study
            .versions
            .iter()
            .map(|it| (it.model.clone(), it.second_model.clone()))
            .collect();
        joined.sort();
        joined
    };
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    for ours in [["m", "x", "M"], ["M", "m", "x"]] {
        assert_eq!(joined(&ours, &["M", "x"]), [pair("M", "M"), pair("x", "x")]);
    }
    // Neither of two spellings is closer to a third one.
    for ours in [["ab", "aB", "x"], ["aB", "ab", "x"]] {
        assert_eq!(joined(&ours, &["AB", "x"]), [pair("x", "x")]);
    }
    assert_eq!(
        joined(&["m", "x"], &["M", "x"]),
        [pair("m", "M"), pair("x", "x")]
    );
}

/// Names come from settings and from tables of others.
#[test]
fn page_escapes_names() {
    let name = "<script>alert('x')</script>&\"";
    let rows: String = (0..4)
        .map(|i| format!("\"{}{i}\",,\"m<b>\",{i},\n", name.replace('"', "\"\"")))
        .collect();
    let side = table(&format!("version,language,metric,value,n\n{rows}"));
    let study = Study::new(&side, &side, SecondSide::Online, &quick()).unwrap();
    let page = study.page();
    assert!(!page.contains("<script"), "{page}");
    assert!(!page.contains("m<b>"), "{page}");
    assert!(page.contains("&lt;script&gt;alert('x')&lt;/script&gt;&amp;&quot;0"));
    assert!(page.contains("<svg"), "the scatter is drawn");
    assert!(!page.contains("http-equiv=\"refresh\"") && !page.contains("src="));
    assert_eq!(page, study.page());
}

#[test]
fn units_that_differ_between_the_tables_of_a_side_are_errors() {
    let parse = |metric: &str, name: &str, rows: &str| {
        let rows: String = rows
            .split(' ')
            .map(|row| row.replace(':', &format!(",,{metric},")) + "\n")
            .collect();
        table::parse_table(&format!("version,language,metric,value,n\n{rows}"), name).unwrap()
    };
    let study = |metric: &str, first: &str, second: &str| {
        let mut offline = parse(metric, "u1.csv", first);
        offline.extend(parse(metric, "u2.csv", second));
        let side = StudySide {
            observations: offline,
            ..StudySide::default()
        };
        let online =
            table("version,language,metric,value,n\nv1,,k,0.3,10\nv2,,k,0.4,10\nv3,,k,0.5,10\n");
        Study::new(&side, &online, SecondSide::Online, &quick())
    };
    let error = study("pass@1", "v1:42, v2:47,", "v3:0.52,500").unwrap_err();
    insta::assert_snapshot!(error, @"u2.csv: `pass@1` is a share, but a percentage without n in u1.csv; figures of one side need one unit: write every value of a rate as a fraction with its n");
    let error = study("pass@1", "v1:42, v2:47,", "v3:0.52,").unwrap_err();
    insta::assert_snapshot!(error, @"u2.csv: `pass@1` is a fraction without n, but a percentage without n in u1.csv; figures of one side need one unit: write every value of a rate as a fraction with its n");
    let error = study("mine", "v1:42,10 v2:47,10", "v3:52,").unwrap_err();
    insta::assert_snapshot!(error, @"u2.csv: `mine` is a plain number, but a share in u1.csv; figures of one side need one unit: write every value of a rate as a fraction with its n");
    // One unit, whichever each table is written in.
    for metric in ["pass@1", "es/cceval-levenshtein"] {
        let study = study(metric, "v1:62,500 v2:64,500", "v3:0.66,500").unwrap();
        let values = study.pairs[0]
            .points
            .iter()
            .map(|point| point.offline.value);
        assert_eq!(values.collect::<Vec<_>>(), [0.62, 0.64, 0.66]);
    }
    // A rate of 0 or 1 is possible in both.
    assert!(study("pass@1", "v1:42, v2:47,", "v3:0,").is_ok());
    // Times have one unit.
    assert!(study("latency_ms/median", "v1:42, v2:47,", "v3:0.5,").is_ok());
}

#[test]
fn simulated_acceptance_is_never_called_online() {
    let rows: String = (0..5)
        .map(|i| format!("v{i},,pass@1,0.{i},100\n"))
        .collect();
    let side = table(&format!("version,language,metric,value,n\n{rows}"));
    let study = Study::new(&side, &side, SecondSide::Simulated, &quick()).unwrap();
    let json = serde_json::to_string(&study).unwrap();
    for text in [study.text(TextWidth::UNLIMITED), study.page(), json] {
        assert!(!text.to_lowercase().contains("online"), "{text}");
        assert!(text.to_lowercase().contains("simulated"), "{text}");
    }
}

// Four versions of three clusters, by statsmodels' OLS(x, 1) with
// cov_type="cluster" for the errors.
#[test]
fn errors_equal_those_of_statsmodels() {
    let figures: Vec<Figure> = VERSIONS
        .iter()
        .enumerate()
        .map(|(version, clusters)| {
            let rows = clusters.iter().enumerate().flat_map(|(cluster, values)| {
                values
                    .iter()
                    .map(move |value| (format!("{version}/{cluster}"), 1.0, *value))
            });
            Figure::from_rows(rows)
        })
        .collect();
    for (figure, (value, error)) in figures.iter().zip(STATSMODELS) {
        assert!((figure.value().unwrap() - value).abs() < 1e-12);
        assert!((figure.error(FigureUnit::Share).unwrap() - error).abs() < 1e-12);
    }
    // Nothing is shared, so that the error between versions is the mean of the squared errors.
    let units: Vec<(&Figure, FigureUnit)> =
        figures.iter().map(|it| (it, FigureUnit::Share)).collect();
    let squares: f64 = STATSMODELS.iter().map(|it| it.1 * it.1).sum();
    let noise = figure::error_variance(&units).unwrap();
    assert!((noise - squares / 4.0).abs() < 1e-12, "{noise}");
}

#[test]
fn equal_shares_of_clusters_have_an_interval_of_some_width() {
    let rows = (0..10).map(|cluster| (format!("{cluster}"), 1.0, 0.3));
    let figure = Figure::from_rows(rows).measured(FigureUnit::Share).unwrap();
    let (low, high) = fillrate_metrics::share_bounds(0.3, 0.0, 10).unwrap();
    let width = figure.high.unwrap() - figure.low.unwrap();
    assert!(
        (width - (high - low)).abs() < 1e-9 && width > 0.3,
        "{figure:?}"
    );
}

// Repairs of three files cost more keys than accepts save. By numpy: the mean of −.5, −.2 and .1 is
// −.2, its standard error is .3/√3, and Student's t with 2 degrees of freedom is 4.302653.
#[test]
fn negative_savings_have_an_interval_around_them() {
    let rows = [("a", -0.5), ("b", -0.2), ("c", 0.1)].map(|(file, saved)| (file, 10.0, saved));
    let figure = Figure::from_rows(rows)
        .measured(FigureUnit::Saving)
        .unwrap();
    let bounds = [figure.low, Some(figure.value), figure.high].map(Option::unwrap);
    for (found, expected) in bounds.into_iter().zip([-0.945241, -0.2, 0.545241]) {
        assert!((found - expected).abs() < 1e-6, "{figure:?}");
    }
    let metric = fillrate_metrics::Metric::find("keystrokes-saved(line)").unwrap();
    assert_eq!(FigureUnit::of_fraction(metric), FigureUnit::Saving);
}

#[test]
fn numbers_of_a_known_unit_are_no_shares() {
    let unit = |metric: &str, value: &str| {
        let text = format!("version,language,metric,value,n\na,,{metric},{value},9\n");
        table::parse_table(&text, "t.csv").unwrap()[0].unit
    };
    assert_eq!(unit("interruptions/accept(line)", "0.5"), FigureUnit::Plain);
    assert_eq!(unit("latency_ms/median", "0.5"), FigureUnit::Plain);
    assert_eq!(unit("keystrokes-saved(line)", "0.5"), FigureUnit::Saving);
    assert_eq!(unit("keystrokes-saved(line)", "12"), FigureUnit::Plain);
    assert_eq!(unit("acceptance/shown(line)", "0.5"), FigureUnit::Share);
    assert_eq!(unit("mine", "0.5"), FigureUnit::Share);
}

const VERSIONS: [[&[f64]; 3]; 4] = [
    [&[0., 1.], &[1., 1.], &[0., 0., 1.]],
    [&[1., 1.], &[0., 1.], &[1., 0., 1.]],
    [&[1., 1.], &[1., 1.], &[0., 1., 1.]],
    [&[0., 0.], &[1., 0.], &[0., 0., 1.]],
];

const STATSMODELS: [(f64, f64); 4] = [
    (0.5714285714285714, 0.19680919920393786),
    (0.7142857142857142, 0.12744893874282445),
    (0.857142857142857, 0.1224489795918367),
    (0.2857142857142857, 0.12744893874282445),
];

/// An accepted completion was shown, the rest after typing its beginning is the same completion,
/// and a replay's sessions don't count.
#[test]
fn online_side_counts_by_the_definitions_of_the_variants() {
    use fillrate_server::completion::CompletionOrigin;
    use fillrate_server::telemetry::{
        AcceptedCandidate, Certainty, CompletionRow, Displayed, RecordedCompletion, Remainder,
        StoreContents, TextSize,
    };
    let recorded =
        |file: &str, characters: usize, shown_ms: Option<f64>, accepted: bool| RecordedCompletion {
            answered: CompletionRow {
                model: "m".to_owned(),
                configuration: "0123456789abcdef".to_owned(),
                session: "s".to_owned(),
                file: file.to_owned(),
                language: Some("python".to_owned()),
                candidates: vec![TextSize {
                    characters,
                    lines: 1,
                }],
                ..CompletionRow::default()
            },
            shown: shown_ms.map(|ms| Displayed {
                certainty: Certainty::Estimated,
                ms: Some(ms),
            }),
            accepted: accepted.then_some(AcceptedCandidate {
                at_ms: 0,
                candidate: 0,
                characters,
                text: None,
            }),
            ..RecordedCompletion::default()
        };
    let mut kept = recorded("a", 10, None, true);
    let left = Remainder {
        distance: 0.1,
        removed: false,
        word_distance: 0.9,
    };
    kept.retention = [(30, Some(left)), (120, None)].into();
    let mut rest = recorded("b", 4, Some(500.0), true);
    rest.answered.source = CompletionOrigin::TypedThrough;
    let mut replayed = recorded("c", 7, Some(900.0), true);
    replayed.answered.simulated = true;
    let mut long = recorded("a", 6, Some(800.0), false);
    long.answered.candidates[0].lines = 3;
    let contents = StoreContents {
        completions: vec![
            kept,
            long,
            recorded("a", 6, Some(100.0), false),
            recorded("b", 8, Some(500.0), false),
            rest,
            recorded("b", 5, None, false),
            replayed.clone(),
        ],
        entered: Vec::new(),
    };
    let side = telemetry::online::online_side(&contents, "t.db").unwrap();
    let figure = |metric: &str| {
        let one = side.observations.iter().find(|it| it.metric == metric);
        one.map(|it| (it.figure.value().unwrap(), it.figure.n().unwrap()))
    };
    assert_eq!(figure("acceptance/shown"), Some((2.0 / 4.0, 4)));
    assert_eq!(figure("acceptance/read"), Some((2.0 / 3.0, 3)));
    assert_eq!(figure("acceptance/chars"), Some((18.0 / 24.0, 3)));
    assert_eq!(figure("retained@30"), Some((1.0, 1)));
    assert_eq!(figure("still-in-code@30"), Some((0.0, 1)));
    assert_eq!(figure("retained@120"), None);
    let within = |name: &str| {
        let is = |it: &&Observation| {
            it.metric == "acceptance/shown" && it.stratum.as_ref().is_some_and(|it| it.name == name)
        };
        let one = side.observations.iter().find(is).unwrap();
        (one.figure.value().unwrap(), one.figure.n().unwrap())
    };
    assert_eq!(within("1 line"), (2.0 / 3.0, 3));
    assert_eq!(within("2 to 5 lines"), (0.0, 1));
    assert_eq!(within("line_end"), (2.0 / 4.0, 4));
    let lengths = side
        .mixes
        .iter()
        .find(|it| it.dimension == SampleDimension::Length);
    let counts = [("1 line".to_owned(), 3), ("2 to 5 lines".to_owned(), 1)];
    assert_eq!(lengths.unwrap().counts, counts.into());
    let replays = StoreContents {
        completions: vec![replayed],
        entered: Vec::new(),
    };
    assert_eq!(telemetry::online::online_side(&replays, "t.db"), None);
}

/// The errors by Agresti and Coull, and the bounds by Wilson, in plain Python: for 62 % of 50,
/// (31 + 2) / 54 and its √(p(1 − p)/54); for the share .305 of 10, which no count of 10 is.
#[test]
fn percentages_have_the_errors_of_their_fractions() {
    let rows = |values: [&str; 2]| {
        let [one, other] = values;
        let text =
            format!("version,language,metric,value,n,error\na,,m,{one},50,\nb,,m,{other},10,\n");
        let figures = table::parse_table(&text, "t.csv").unwrap().into_iter();
        let measured = figures.map(|it| (it.unit, it.figure.measured(it.unit).unwrap()));
        measured.collect::<Vec<_>>()
    };
    let (percent, fractions) = (rows(["62", "30.5"]), rows(["0.62", "0.305"]));
    let expected = [
        (0.62, 0.0663400780, 0.4815044693, 0.7413721069),
        (0.305, 0.1283409215, 0.1106055761, 0.6076322158),
    ];
    for found in [percent, fractions] {
        for ((unit, figure), (value, error, low, high)) in found.into_iter().zip(expected) {
            assert_eq!(unit, FigureUnit::Share);
            let of_figure = [Some(figure.value), figure.error, figure.low, figure.high];
            for (found, expected) in of_figure.into_iter().zip([value, error, low, high]) {
                assert!(
                    (found.unwrap() - expected).abs() < 1e-7,
                    "{figure:?}, {expected}"
                );
            }
        }
    }
    let text = "version,language,metric,value,n,error\na,,es/cceval-levenshtein,63.5,,2.5\n";
    let similarity = &table::parse_table(text, "t.csv").unwrap()[0];
    let Figure::Stated(stated) = similarity.figure else {
        panic!("it is stated");
    };
    assert_eq!((stated.value, stated.error), (0.635, Some(0.025)));
    assert_eq!(similarity.unit, FigureUnit::Share);
}

// A similarity of .375 is 37.5 %, not .4 %. Without n it is a share, too, as in percent.
#[test]
fn similarities_in_fractions_are_not_divided_by_a_hundred() {
    let header = "version,language,metric,value,n,error\n";
    let parse = |values: [&str; 2], end: &str| {
        let [one, other] = values;
        let metric = "es/cceval-levenshtein";
        table(&format!(
            "{header}a,,{metric},{one},{end}\nb,,{metric},{other},{end}\n"
        ))
        .observations
    };
    for n in ["300", ""] {
        let fractions = parse(["0.375", "1"], &format!("{n},0.02"));
        assert_eq!(fractions, parse(["37.5", "100"], &format!("{n},2")));
        assert_eq!(fractions[0].unit, FigureUnit::Share);
        assert_eq!(fractions[0].figure.value(), Some(0.375));
    }
}
