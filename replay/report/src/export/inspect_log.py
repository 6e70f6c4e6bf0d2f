"""Writes a log of Inspect from one evaluation, by Inspect's own `write_eval_log`.

Standard input: a line with a record of the public schema Every Eval Ever, then a line for each of
its rows, as `fillrate export --format every-eval-ever` writes them. The only argument is the
folder for the log, whose path is printed.
"""

import datetime
import json
import os
import re
import sys

try:
    from inspect_ai.log import (
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalMetric,
        EvalResults,
        EvalSample,
        EvalScore,
        EvalSpec,
        EvalStats,
        write_eval_log,
    )
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score
except ImportError as error:
    sys.exit(f"{error}; install inspect_ai for this Python, or name another with --python")


def seconds(row):
    """Returns the latency of a completion in seconds; 0 if it is unknown."""
    return (row["performance"]["latency_ms"] or 0) / 1000


def sample(row):
    """A sample: the file with its hole, the reference, the completion, and the tests' verdict."""
    metadata = row["metadata"]
    answer = row["answer_attribution"][0]["extracted_value"]
    score = Score(
        value="C" if row["evaluation"]["is_correct"] else "I",
        answer=answer,
        explanation=metadata.get("reason"),
        metadata={"outcome": metadata["outcome"]},
    )
    return EvalSample(
        id=row["sample_id"],
        epoch=int(metadata["sample"]) + 1,
        input=row["input"]["raw"],
        target=row["input"]["reference"],
        output=ModelOutput.from_content(row["model_id"], answer),
        scores={"tests": score},
        total_time=seconds(row),
        metadata={**metadata, "performance": row["performance"], "prompt": row["input"]["formatted"]},
    )


def metric(result):
    """A figure with its interval, if it has one, and n."""
    details = result["score_details"]
    return EvalMetric(
        name=result["evaluation_result_id"],
        value=details["score"],
        metadata={**details["uncertainty"], **details["details"]},
    )


def log(record, rows):
    """The log of an evaluation."""
    results = record["evaluation_results"]
    name = record["evaluation_id"].split("/")[0]
    ids = sorted({row["sample_id"] for row in rows})
    at = datetime.datetime.fromtimestamp(int(record["retrieved_timestamp"]), datetime.timezone.utc)
    # The viewer takes their difference for the duration: here, of all answers together.
    end = at + datetime.timedelta(seconds=sum(seconds(row) for row in rows))
    metrics = [metric(result) for result in results]
    # The viewer shows the first five at its head.
    metrics.sort(key=lambda one: not one.name.startswith("pass@"))
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=at.isoformat(),
            task=name,
            dataset=EvalDataset(name=name, samples=len(ids), sample_ids=ids),
            model=record["model_info"]["id"],
            config=EvalConfig(epochs=max((int(row["metadata"]["sample"]) + 1 for row in rows), default=1)),
            packages={record["eval_library"]["name"]: record["eval_library"]["version"]},
            metadata=record["model_info"]["additional_details"],
        ),
        results=EvalResults(
            total_samples=len(rows),
            completed_samples=len(rows),
            scores=[EvalScore(name="tests", scorer="tests", metrics={one.name: one for one in metrics})],
        ),
        stats=EvalStats(started_at=at.isoformat(), completed_at=end.isoformat()),
        samples=[sample(row) for row in rows],
    )


def main():
    record = json.loads(sys.stdin.readline())
    made = log(record, [json.loads(line) for line in sys.stdin])
    stem = re.sub(r"[^A-Za-z0-9.-]+", "-", record["evaluation_id"])
    path = os.path.join(sys.argv[1], f"{stem}_{made.eval.eval_id or 'log'}.eval")
    write_eval_log(made, path)
    print(path)


main()
