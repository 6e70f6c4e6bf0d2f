//! Kubernetes: an Indexed Job with an index for each part.

use std::path::Path;

use serde_json::json;

use super::{FleetPlan, shell_word};
use crate::store::PARTITIONS_VARIABLE;

/// Settings of a cluster in addition to the plan.
#[derive(Clone, Debug)]
pub struct KubernetesCluster {
    /// The image that holds this program.
    pub image: String,
    /// Number of concurrent parts.
    pub workers: u32,
    /// Memory of a part, in GiB.
    pub memory: u16,
    /// The claim of the volume with the corpus, the tasks, the parts and the cache.
    pub claim: String,
    /// Path at which the volume is mounted.
    pub mount: String,
    /// The secret with the variables of models' keys; `None` if models need none.
    pub secret: Option<String>,
}

/// Number of times that the machine of a part may fail before the part does.
const TRIES: u32 = 6;

/// The manifest for `kubectl apply`, as YAML. Each value is JSON, which is YAML.
pub fn manifest(plan: &FleetPlan, cluster: &KubernetesCluster) -> String {
    let secret = cluster.secret.as_ref().map_or_else(String::new, |secret| {
        format!(
            "          envFrom:\n            - secretRef:\n                name: {}\n",
            json!(secret)
        )
    });
    let command = json!([plan.program]);
    let arguments = json!(plan.arguments("auto"));
    let word = |path: &Path| shell_word(&path.display().to_string());
    let (program, out, run) = (word(&plan.program), word(&plan.out), word(&plan.run));
    let quantity = json!(format!("{}Gi", cluster.memory));
    format!(
        "# Written by `fillrate fleet kubernetes`. `kubectl wait --for=condition=complete \
         job/fillrate` waits\n\
         # for it; `{program} merge {out} -o {run}` then makes one run of the parts.\n\
         apiVersion: batch/v1\n\
         kind: Job\n\
         metadata:\n\
         \x20 name: fillrate\n\
         spec:\n\
         \x20 completionMode: Indexed\n\
         \x20 completions: {parts}\n\
         \x20 parallelism: {workers}\n\
         \x20 backoffLimitPerIndex: {TRIES}\n\
         \x20 template:\n\
         \x20   spec:\n\
         \x20     restartPolicy: Never\n\
         \x20     activeDeadlineSeconds: {seconds}\n\
         \x20     containers:\n\
         \x20       - name: part\n\
         \x20         image: {image}\n\
         \x20         command: {command}\n\
         \x20         args: {arguments}\n\
         \x20         env:\n\
         \x20           - name: {PARTITIONS_VARIABLE}\n\
         \x20             value: {value}\n\
         \x20           - name: FILLRATE_CACHE\n\
         \x20             value: {cache}\n\
         {secret}\
         \x20         resources:\n\
         \x20           requests: {{cpu: {processors}, memory: {quantity}}}\n\
         \x20           limits: {{memory: {quantity}}}\n\
         \x20         # Tests run in namespaces of their own, which the default filter forbids.\n\
         \x20         securityContext:\n\
         \x20           seccompProfile: {{type: Unconfined}}\n\
         \x20         volumeMounts:\n\
         \x20           - name: shared\n\
         \x20             mountPath: {mount}\n\
         \x20     volumes:\n\
         \x20       - name: shared\n\
         \x20         persistentVolumeClaim:\n\
         \x20           claimName: {claim}\n",
        parts = plan.parts,
        workers = cluster.workers,
        seconds = u64::from(plan.minutes) * 60,
        image = json!(cluster.image),
        value = json!(plan.parts.to_string()),
        cache = json!(plan.cache),
        processors = plan.processors,
        mount = json!(cluster.mount),
        claim = json!(cluster.claim),
    )
}
