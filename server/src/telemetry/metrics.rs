//! Metrics for an OpenTelemetry collector: the latency of completions and their outcomes, as
//! [OTLP](https://opentelemetry.io/docs/specs/otlp/) over HTTP in JSON. Disabled unless
//! `telemetry.otlp_url` is set.
//!
//! Only numbers by model, language and outcome are sent: no text, and no name of a file, a person
//! or a machine.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::{Client, Url};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use super::event::{CompletionEventKind, RequestOutcome};
use super::store::StoreEntry;

/// Interval at which new figures are sent.
const EXPORT_EVERY: Duration = Duration::from_secs(10);

/// Timeout for the collector.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of completions whose events are attributed to their model.
const MAX_COMPLETIONS: usize = 512;

/// Upper bounds of the histogram's buckets, in seconds; the last bucket has no bound.
const BOUNDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

/// Passes observations to the task that sends them. The task ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub(super) struct MetricsExporter {
    messages: mpsc::UnboundedSender<Message>,
}

#[derive(Debug)]
enum Message {
    Completion {
        id: String,
        labels: Labels,
        outcome: &'static str,
        seconds: f64,
    },
    Event {
        id: String,
        outcome: &'static str,
    },
    /// Answered when all earlier figures were sent or have failed.
    Flush(oneshot::Sender<()>),
}

/// Attributes by which figures are grouped.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Labels {
    model: String,
    language: String,
}

/// Observed durations.
#[derive(Debug, Default)]
struct Histogram {
    buckets: [u64; BOUNDS.len() + 1],
    sum: f64,
}

/// All figures since the start.
#[derive(Debug)]
struct Figures {
    /// Globally unique id of the session.
    session: String,
    started: SystemTime,
    durations: BTreeMap<Labels, Histogram>,
    outcomes: BTreeMap<(Labels, &'static str), u64>,
    /// The latest completions, newest last.
    completions: VecDeque<(String, Labels)>,
}

impl MetricsExporter {
    /// Starts a task that sends figures to a collector, at an address such as
    /// `http://localhost:4318`. Returns an explanation if it can't.
    pub(super) fn start(collector: &str, session: &str) -> Result<Self, String> {
        let (client, url) = crate::model::collector_client(collector).map_err(|_| {
            "telemetry.otlp_url is not an address of the form http://host:port, without user, \
             password and query"
                .to_owned()
        })?;
        let (messages, receive) = mpsc::unbounded_channel();
        let figures = Figures::new(session);
        tokio::spawn(export(figures, receive, client, url));
        Ok(Self { messages })
    }

    /// Counts a row of the store.
    pub(super) fn observe(&self, entry: &StoreEntry) {
        let message = match entry {
            StoreEntry::Answered(row) => Message::Completion {
                id: row.completion.clone(),
                labels: Labels {
                    model: model_name(&row.model).to_owned(),
                    language: row.language.clone().unwrap_or_default(),
                },
                outcome: match row.outcome {
                    RequestOutcome::Offered => "offered",
                    RequestOutcome::Nothing => "nothing",
                    RequestOutcome::Fault => "fault",
                },
                seconds: row.timings.latency_ms / 1000.0,
            },
            StoreEntry::Event(event) => {
                let outcome = match event.kind {
                    CompletionEventKind::Shown => "shown",
                    CompletionEventKind::Accepted { .. } => "accepted",
                    CompletionEventKind::PartlyAccepted { .. } => "partly_accepted",
                    CompletionEventKind::Dismissed => "dismissed",
                    CompletionEventKind::Superseded => "superseded",
                    CompletionEventKind::Retained(_) => return,
                };
                Message::Event {
                    id: event.completion.clone(),
                    outcome,
                }
            }
            StoreEntry::Entered(_) => return,
        };
        let _ = self.messages.send(message);
    }

    /// Waits until every figure was sent or has failed.
    pub(super) async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        if self.messages.send(Message::Flush(done)).is_ok() {
            let _ = wait.await;
        }
    }
}

/// Returns a model's name; for a file, its last component.
fn model_name(name: &str) -> &str {
    let path = Path::new(name);
    if path.is_absolute() {
        return path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
    }
    name
}

async fn export(
    mut figures: Figures,
    mut messages: mpsc::UnboundedReceiver<Message>,
    client: Client,
    url: Url,
) {
    let mut ticks = tokio::time::interval(EXPORT_EVERY);
    // After a slow export, the intervals that were missed are skipped.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_new = false;
    loop {
        let message = tokio::select! {
            message = messages.recv() => message,
            _ = ticks.tick() => {
                is_new = is_new && !send(&figures, &client, &url).await;
                continue;
            }
        };
        match message {
            Some(Message::Flush(done)) => {
                is_new = is_new && !send(&figures, &client, &url).await;
                let _ = done.send(());
            }
            Some(message) => {
                figures.count(message);
                is_new = true;
            }
            None => return,
        }
    }
}

/// Sends the figures; returns whether they arrived. Without retries: the next request contains them
/// too.
async fn send(figures: &Figures, client: &Client, url: &Url) -> bool {
    let body = figures.request(SystemTime::now());
    let request = client.post(url.clone()).timeout(TIMEOUT).json(&body);
    let answer = request.send().await;
    let answer = answer.and_then(reqwest::Response::error_for_status);
    if let Err(error) = &answer {
        tracing::warn!(%error, "metrics can't be sent");
    }
    answer.is_ok()
}

impl Figures {
    fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            started: SystemTime::now(),
            durations: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            completions: VecDeque::new(),
        }
    }

    fn count(&mut self, message: Message) {
        let (labels, outcome) = match message {
            Message::Completion {
                id,
                labels,
                outcome,
                seconds,
            } => {
                let histogram = self.durations.entry(labels.clone()).or_default();
                // A bucket of OTLP includes its upper bound.
                let bucket = BOUNDS.iter().position(|bound| seconds <= *bound);
                histogram.buckets[bucket.unwrap_or(BOUNDS.len())] += 1;
                histogram.sum += seconds;
                self.completions.push_back((id, labels.clone()));
                if self.completions.len() > MAX_COMPLETIONS {
                    self.completions.pop_front();
                }
                (labels, outcome)
            }
            Message::Event { id, outcome } => {
                let known = self
                    .completions
                    .iter()
                    .rev()
                    .find(|(known, _)| *known == id);
                // A completion that is no longer known has no labels, but its event counts.
                (
                    known.map(|(_, labels)| labels.clone()).unwrap_or_default(),
                    outcome,
                )
            }
            Message::Flush(_) => return,
        };
        *self.outcomes.entry((labels, outcome)).or_default() += 1;
    }

    /// Creates an export request with all figures, cumulative since the start.
    fn request(&self, now: SystemTime) -> Value {
        let times = json!({
            "startTimeUnixNano": nanoseconds(self.started),
            "timeUnixNano": nanoseconds(now),
        });
        let point = |labels: &Labels, outcome: Option<&str>, figure: Value| {
            let mut attributes = vec![
                attribute("fillrate.model", &labels.model),
                attribute("fillrate.language", &labels.language),
            ];
            attributes.extend(outcome.map(|outcome| attribute("fillrate.outcome", outcome)));
            let mut point = times.clone();
            point["attributes"] = attributes.into();
            if let (Some(point), Value::Object(figure)) = (point.as_object_mut(), figure) {
                point.extend(figure);
            }
            point
        };
        // The JSON form of Protocol Buffers writes 64-bit integers as strings.
        let durations = self.durations.iter().map(|(labels, histogram)| {
            let figure = json!({
                "count": histogram.buckets.iter().sum::<u64>().to_string(),
                "sum": histogram.sum,
                "bucketCounts": histogram.buckets.map(|count| count.to_string()),
                "explicitBounds": BOUNDS,
            });
            point(labels, None, figure)
        });
        let outcomes = self.outcomes.iter().map(|((labels, outcome), count)| {
            point(labels, Some(outcome), json!({"asInt": count.to_string()}))
        });
        /// Figures since the start, not since the last request.
        const CUMULATIVE: u8 = 2;
        json!({"resourceMetrics": [{
            "resource": {"attributes": [
                attribute("service.name", "fillrate"),
                attribute("service.version", env!("CARGO_PKG_VERSION")),
                attribute("service.instance.id", &self.session),
            ]},
            "scopeMetrics": [{
                "scope": {"name": "fillrate", "version": env!("CARGO_PKG_VERSION")},
                "metrics": [
                    {
                        "name": "fillrate.completion.duration",
                        "description": "From a request for a completion to the response.",
                        "unit": "s",
                        "histogram": {
                            "aggregationTemporality": CUMULATIVE,
                            "dataPoints": durations.collect::<Vec<_>>(),
                        },
                    },
                    {
                        "name": "fillrate.completion.outcomes",
                        "description": "Completions by what became of them.",
                        "unit": "{completion}",
                        "sum": {
                            "aggregationTemporality": CUMULATIVE,
                            "isMonotonic": true,
                            "dataPoints": outcomes.collect::<Vec<_>>(),
                        },
                    },
                ],
            }],
        }]})
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn nanoseconds(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().to_string()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn figures_that_did_not_arrive_are_sent_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let (count, mut counted) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for status in ["503 Service Unavailable", "200 OK", "200 OK"] {
                let (mut stream, _) = listener.accept().await.expect("a request");
                let mut request = Vec::new();
                // The body is one object, and the headers have no brace.
                while !request.ends_with(b"}") {
                    stream.read_buf(&mut request).await.expect("a request");
                }
                count.send(status).expect("the test waits");
                let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
                let answer = head + "Content-Length: 0\r\n\r\n";
                stream.write_all(answer.as_bytes()).await.expect("a reader");
            }
        });
        let exporter = MetricsExporter::start(&address, "session").expect("it is an address");
        let message = Message::Completion {
            id: "a".to_owned(),
            labels: Labels::default(),
            outcome: "offered",
            seconds: 1.0,
        };
        exporter.messages.send(message).expect("the task runs");
        for _ in 0..3 {
            exporter.flush().await;
        }
        let mut statuses = Vec::new();
        while let Ok(status) = counted.try_recv() {
            statuses.push(status);
        }
        assert_eq!(statuses, ["503 Service Unavailable", "200 OK"]);
    }

    #[test]
    fn events_count_for_the_model_of_their_completion() {
        let mut figures = Figures::new("s");
        let labels = Labels {
            model: model_name("/home/me/models/tiny.gguf").to_owned(),
            language: "python".to_owned(),
        };
        for (id, seconds) in [("a", 0.04), ("b", 40.0)] {
            figures.count(Message::Completion {
                id: id.to_owned(),
                labels: labels.clone(),
                outcome: "offered",
                seconds,
            });
        }
        figures.count(Message::Event {
            id: "a".to_owned(),
            outcome: "accepted",
        });
        let request = figures.request(figures.started);
        let metrics = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let histogram = &metrics[0]["histogram"]["dataPoints"][0];
        assert_eq!(histogram["count"], "2");
        assert_eq!(histogram["sum"], 40.04);
        assert_eq!(histogram["bucketCounts"][3], "1");
        assert_eq!(histogram["bucketCounts"][BOUNDS.len()], "1");
        let outcomes = &metrics[1]["sum"]["dataPoints"];
        assert_eq!(outcomes[0]["asInt"], "1");
        assert_eq!(
            outcomes[0]["attributes"],
            json!([
                {"key": "fillrate.model", "value": {"stringValue": "tiny.gguf"}},
                {"key": "fillrate.language", "value": {"stringValue": "python"}},
                {"key": "fillrate.outcome", "value": {"stringValue": "accepted"}},
            ])
        );
        assert!(!request.to_string().contains("/home/me"));
    }
}
