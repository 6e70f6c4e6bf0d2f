//! The pipeline from a cursor to candidates, with a trace of every step.
//!
//! A cached completion stays valid while a person types its beginning. A request joins a running
//! model call that streams what the person types. A model is called only after a burst of keys.

mod cache;
mod edits;
mod engine;
mod engines;
mod gate;
mod generation;
mod model_call;
mod reading;
mod repository;
mod retrieval;
mod rhythm;
mod trace;
mod trial;

pub use engine::{EngineError, Trigger};
pub use engines::Engines;
pub use gate::{
    FittedGate, GATE_SCHEMA, GateError, GateEvidence, GateFeature, GateSignals, TokenBefore,
};
pub use reading::PromptBudget;
pub use repository::IndexSummary;
pub use retrieval::RetrievedWindows;
pub use rhythm::{ModelTime, Rhythm};
pub use trace::{CandidateStep, Completion, CompletionOrigin, Trace};
pub use trial::{TrialAssignment, draw};
