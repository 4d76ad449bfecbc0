//! What the handler does: the acts in the input of its task, see test/conformance/PROTOCOL.md.
//! Nothing of an agent is here: a handler of your own takes the task and returns its outcome.
use crate::Held;
use crate::contract::drover::v1::{HeartbeatReport, Payload, Progress};
use crate::contract::drover::v1::{outcome, outcome::Kind, payload::Body, progress};
use serde_json::{Map, Value, json};
use std::{path::Path, time::Duration};

const KINDS: [&str; 4] = ["", "perform", "verify", "compensate"];

pub fn emit(event: &str, more: &[&Value]) {
    let mut line = Map::from_iter([("event".into(), json!(event))]);
    for one in more {
        line.extend(one.as_object().cloned().unwrap_or_default());
    }
    println!("{}", Value::from(line));
}

/// For an outcome that was refused: its effect remains, and only its output cannot be sent.
pub fn instead(refused: Kind, message: String) -> Kind {
    let output_problem = message.split_once(' ').map(|(_, why)| why.into()).unwrap_or_default();
    match refused {
        Kind::Success(_) => Kind::Success(outcome::Success { output: None, output_problem }),
        _ => unknown("report-refused"),
    }
}

pub fn unknown(code: &str) -> Kind {
    Kind::Unknown(outcome::Unknown { code: code.into(), ..Default::default() })
}

fn payload(text: String) -> Option<Payload> {
    Some(Payload { body: Some(Body::Json(text)), ..Default::default() })
}

fn success(text: String) -> Kind {
    Kind::Success(outcome::Success { output: payload(text), ..Default::default() })
}

fn text(of: &Option<Payload>) -> Option<String> {
    match of.as_ref()?.body.as_ref()? {
        Body::Json(text) => Some(text.clone()),
        Body::Data(_) => None,
    }
}

fn text_of(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_default().into()
}

fn span(ms: &Value) -> Option<prost_types::Duration> {
    Duration::from_millis(ms.as_u64()?).try_into().ok()
}

fn failed(code: &str, of: &Value) -> Kind {
    Kind::Failed(outcome::Failed {
        code: code.into(),
        message: text_of(of, "message"),
        failure_class: if of["permanent"] == true { 2 } else { 1 },
        retry_after: span(&of["retry_after_ms"]),
        no_effect: of["no_effect"] == true,
    })
}

pub async fn perform(held: &Held) -> Kind {
    let task = &held.task;
    let kind = KINDS[task.kind as usize];
    let about = json!({"run": task.run_id, "step": task.step_id, "kind": kind,
        "attempt": task.attempt, "fence": task.fence});
    let first = json!({"key": task.idempotency_key, "effect_key": task.effect_key,
        "callback_token": task.callback_token, "item": task.item});
    emit("started", &[&about, &first]);
    let (act, outcome) = acts(held, &about).await;
    emit("ended", &[&about, &json!({"act": act})]);
    outcome
}

async fn acts(held: &Held, about: &Value) -> (String, Kind) {
    let input = text(&held.task.input).unwrap_or_default();
    let script: Value = serde_json::from_str(&input).unwrap_or_default();
    if !script.is_object() {
        return ended("", &Value::Null, held);
    }
    let kind = about["kind"].as_str().unwrap_or_default();
    let number = if kind == "perform" { held.task.fence } else { held.task.attempt } as usize;
    let tries = script[kind].as_array().cloned().unwrap_or_default();
    let none = Value::Array(vec![]);
    let acts = tries.get(number.min(tries.len()).saturating_sub(1)).unwrap_or(&none);
    for act in acts.as_array().into_iter().flatten() {
        let Some((name, value)) = act.as_object().and_then(|act| act.iter().next()) else {
            continue;
        };
        match name.as_str() {
            "progress" => {
                note(held, HeartbeatReport { progress: progress_of(value), ..Default::default() })
                    .await
            }
            "details" => {
                let details = payload(value.to_string());
                note(held, HeartbeatReport { details, ..Default::default() }).await
            }
            "await" => {
                let path = value.as_str().unwrap_or_default();
                emit("waiting", &[about, &json!({"path": path})]);
                while !Path::new(path).exists() && held.stopped().is_none() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                if Path::new(path).exists() {
                    continue;
                }
                let why = held.stopped().unwrap_or_default();
                emit("stopped", &[about, &json!({"why": why})]);
                let other = act["on_stop"].as_object().and_then(|other| other.iter().next());
                return match other {
                    Some((name, value)) => ended(name, value, held),
                    None if why == "cancelled" => {
                        ("stopped".into(), Kind::Cancelled(Default::default()))
                    }
                    None => ("stopped".into(), unknown(why)),
                };
            }
            _ => return ended(name, value, held),
        }
    }
    (String::new(), Kind::Success(Default::default()))
}

/// Returns when it is stored, or the work must end.
async fn note(held: &Held, news: HeartbeatReport) {
    while !held.renew(news.clone()).await && held.stopped().is_none() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn progress_of(value: &Value) -> Option<Progress> {
    let kind = if let Some(fraction) = value["fraction"].as_f64() {
        progress::Kind::Fraction(fraction)
    } else if let Some(counter) = value["counter"].as_u64() {
        progress::Kind::Counter(counter)
    } else {
        progress::Kind::Cursor(text_of(value, "cursor"))
    };
    Some(Progress { kind: Some(kind) })
}

fn ended(name: &str, value: &Value, held: &Held) -> (String, Kind) {
    let task = &held.task;
    let null = || "null".to_string();
    let outcome = match name {
        "success" | "happened" => success(value.to_string()),
        "echo" => success(match value.as_str() {
            Some("input") => text(&task.input).unwrap_or_else(null),
            Some("details") => text(&task.last_details).unwrap_or_else(null),
            _ => text(&task.output).unwrap_or_else(null),
        }),
        "large" => success(json!("x".repeat(value.as_u64().unwrap_or(0) as usize)).to_string()),
        "fail" => failed(&text_of(value, "code"), value),
        "did_not_happen" => failed("did-not-happen", &json!({"no_effect": true})),
        "unknown" | "cannot_tell" => Kind::Unknown(outcome::Unknown {
            code: if name == "unknown" { text_of(value, "code") } else { "cannot-tell".into() },
            message: text_of(value, "message"),
        }),
        "again" => Kind::Again(outcome::Again { after: span(&value["after_ms"]) }),
        "deferred" => Kind::Deferred(Default::default()),
        "cancelled" => {
            Kind::Cancelled(outcome::Cancelled { no_effect: value["no_effect"] == true })
        }
        _ => failed("bad-script", &json!({"permanent": true})),
    };
    (name.into(), outcome)
}
