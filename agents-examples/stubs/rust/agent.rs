//! A whole Drover agent with nothing but generated code; proto/drover/v1/agent_service.proto has
//! the rules that it follows. Its handler is script.rs: put your own in its place.
mod script;
#[allow(dead_code)] mod contract { include!(concat!(env!("OUT_DIR"), "/contract.rs")); }
use contract::drover::v1::{self as pb, agent_service_client::AgentServiceClient};
use pb::{heartbeat_answer::Answer, outcome::Kind};
use std::{cell::Cell, collections::HashMap, env, error::Error, time::Duration};
use tokio::{signal::unix, sync::watch, time::{Instant, sleep, timeout}};
use tonic::{Request, Status, service::interceptor::InterceptedService, transport::Channel};

type WithToken = fn(Request<()>) -> Result<Request<()>, Status>;
fn with_token(mut call: Request<()>) -> Result<Request<()>, Status> { // open servers ignore it
    let token = format!("Bearer {}", variable("TOKEN")).parse();
    let token = token.map_err(|_| Status::internal("DROVER_TOKEN is no header"))?;
    call.metadata_mut().insert("authorization", token);
    Ok(call)
}

const PAUSE: Duration = Duration::from_millis(200);
const CALL: Duration = Duration::from_secs(3); // a poll waits by itself

pub struct Held { // a task that the agent holds, as its handler sees it
    pub task: pb::Task,
    server: AgentServiceClient<InterceptedService<Channel, WithToken>>, empty: pb::HeartbeatRequest,
    grace: watch::Receiver<Option<Instant>>, // its end, once the agent drains
    ends: Cell<Instant>, over: Instant, why: Cell<Option<&'static str>>,
}
fn variable(name: &str) -> String { env::var(format!("DROVER_{name}")).unwrap_or_default() }
fn millis(name: &str) -> Duration { Duration::from_millis(variable(name).parse().unwrap_or(0)) }
fn span(d: Option<prost_types::Duration>) -> Duration { d.unwrap_or_default().try_into().unwrap() }

impl Held {
    pub fn stopped(&self) -> Option<&'static str> { // why the work must end
        let ends = [(Some(self.ends.get()), "lease-ended"), (Some(self.over), "attempt-over"),
            (*self.grace.borrow(), "agent-stopped")];
        let past = ends.into_iter().find(|(end, _)| end.is_some_and(|end| Instant::now() > end));
        self.why.set(self.why.get().or(past.map(|(_, why)| why)));
        self.why.get()
    }

    pub async fn renew(&self, news: pb::HeartbeatReport) -> bool { // whether it was answered
        let (sent, task_token) = (Instant::now(), self.task.task_token.clone());
        let reports = vec![pb::HeartbeatReport { task_token, ..news }];
        let request = pb::HeartbeatRequest { reports, ..self.empty.clone() };
        let call = timeout(CALL, self.server.clone().heartbeat(request)).await;
        let Ok(Ok(response)) = call else { return false };
        match response.into_inner().answers.swap_remove(0).answer {
            Some(Answer::CarryOn(on)) => self.ends.set(sent + span(on.lease_for)),
            Some(Answer::Cancel(_)) => self.why.set(self.why.get().or(Some("cancelled"))),
            Some(Answer::LeaseLost(_)) => self.why.set(self.why.get().or(Some("lease-lost"))),
            _ => (),
        }
        true
    }

    async fn report(&self, mut kind: Kind) { // until the server, and not an error, answers it
        for _ in 0..2 {
            let outcome = Some(pb::Outcome { kind: Some(kind.clone()) });
            let (mut server, task_token) = (self.server.clone(), self.task.task_token.clone());
            let results = vec![pb::TaskResult { task_token, outcome }];
            let pb::HeartbeatRequest { namespace, agent, .. } = self.empty.clone();
            let request = pb::CompleteRequest { namespace, agent, results, next: None };
            let status = loop {
                if let Ok(Ok(call)) = timeout(CALL, server.complete(request.clone())).await {
                    let status = call.into_inner().answers.remove(0).status.unwrap_or_default();
                    if [0, 3, 5, 9].contains(&status.code) { break status } // any other is repeated
                }
                sleep(PAUSE).await;
            };
            if status.code != 3 { return } // with 3 it is still held
            kind = script::instead(kind, status.message);
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let channel = Channel::from_shared(format!("http://{}", variable("ADDRESS")))?;
    let mut server = AgentServiceClient::with_interceptor(
        channel.connect_timeout(CALL).connect_lazy(), with_token as WithToken)
        .max_decoding_message_size(8 << 20); // a task may exceed the usual 4 MiB
    let (drain, mut grace) = watch::channel(None);
    let mut terminate = unix::signal(unix::SignalKind::terminate())?;
    tokio::spawn(async move {
        terminate.recv().await;
        drain.send_replace(Some(Instant::now() + millis("GRACE_MS")))
    });
    let (wait, session) = (millis("POLL_WAIT_MS"), (0..16).map(|_| fastrand::u8(..)).collect());
    let me = Some(pb::Agent { id: variable("AGENT"), session, ..Default::default() });
    let mut asked = pb::PollTaskRequest { namespace: variable("NAMESPACE"), agent: me.clone(),
        queues: vec![pb::QueueWeight { name: variable("QUEUE"), weight: 1 }],
        tasks: ["work", "check", "undo"].map(String::from).into(), wait: wait.try_into().ok(),
        ..Default::default() };
    let mut empty = pb::HeartbeatRequest { namespace: variable("NAMESPACE"), agent: me,
        ..Default::default() };
    let mut lost = HashMap::new(); // polls without an answer: named until this time
    script::emit("ready", &[]);
    while grace.borrow_and_update().is_none() {
        let sent = Instant::now();
        lost.retain(|_, until| *until > sent);
        empty.lost_polls = lost.keys().copied().collect();
        (asked.poll_seq, asked.lost_polls) = (asked.poll_seq + 1, empty.lost_polls.clone());
        let poll = timeout(wait + 50 * PAUSE, server.poll_task(asked.clone()));
        let answered = tokio::select! { answer = poll => answer.ok(), _ = grace.changed() => None };
        let Some(Ok(response)) = answered else {
            lost.insert(asked.poll_seq, sent + wait + 150 * PAUSE);
            sleep(PAUSE).await;
            continue;
        };
        let pb::PollTaskResponse { tasks, waited } = response.into_inner();
        for task in tasks {
            let granted = sent + span(waited);
            let (ends, over) = (granted + span(task.lease_for), granted + span(task.attempt_for));
            let (known, every) = ((1..=3).contains(&task.kind), span(task.heartbeat_interval));
            let held = Held { task, server: server.clone(), empty: empty.clone(), over,
                grace: grace.clone(), ends: Cell::new(ends), why: Cell::new(None) };
            let start = known && grace.borrow().is_none() && held.stopped().is_none();
            let work = async { held.report(match start {
                true => script::perform(&held).await,
                false => Kind::Released(Default::default()), // or of a kind of newer agents
            }).await };
            let hold = async { loop { sleep(every).await; held.renew(Default::default()).await; } };
            tokio::select! { _ = work => (), _ = hold => () }
        }
    }
    empty.lost_polls = lost.into_keys().collect();
    let _ = timeout(CALL, server.heartbeat(empty)).await;
    Ok(())
}
