/*
 * A fail-over to a standby that may lack the newest commits of the primary: its tail.
 *
 * Mirrors server/store/postgres/transaction.ts (the fate of a commit), the token of a task
 * (server/dispatch/token.ts) and how a report is checked by it (server/core/events/on-report.ts).
 * One run of one step with `effects: once`, a client, AGENTS agents, and another client that
 * commits beside them. Whatever PostgreSQL counts restarts where the tail began: fences, and
 * transaction ids. What is random does not come again: the 16 bytes of a token.
 *
 * Without ASYNC a commit is answered once the standby has it (synchronous_commit, with
 * synchronous_standby_names). CHECK selects which of the promises are asserted:
 *   TOKENS  a report settles the hand-out that it is about, and no other
 *   ACKS    what was acknowledged is there
 *   ONCE    the effect is made once at most
 * Liveness (ends): the run ends, or waits for a person.
 */

#ifndef AGENTS
#define AGENTS 2
#endif
#ifndef FAIL_OVERS
#define FAIL_OVERS 1
#endif
#define TOKENS 1
#define ACKS 2
#define ONCE 4
#ifndef CHECK
#define CHECK (TOKENS | ACKS | ONCE)
#endif
#define CHECKED(what, holds) assert(!(CHECK & (what)) || (holds))

typedef Store {
  bool known;         /* the run is there */
  bool done;
  bool asked;         /* a person is asked: the outcome is unknown */
  byte fence;         /* hand-outs so far */
  byte lease;         /* the secret of the lease; 0: there is none */
  byte doneBy;        /* the secret whose report ended the step */
  byte commits
};

/* now: what the primary has; copied: what its standby has. */
Store now;
Store copied;
/* Grows with each fail-over, and with nothing else. */
byte primary;
/* Commits that the last fail-over has retained. */
byte tail;
byte secrets;

bool acked;           /* the client knows that its run is there */
bool ackedDone;       /* an agent knows that its report is stored */
byte effects;

mtype = { schedule, grant, giveBack, report, lose };
mtype = { yes, no, unknown };

#define OPEN (now.known && !now.done && !now.asked)
/* Secrets in the hands of agents. */
int inHands;
#define TAKE(secret) inHands = inHands | (1 << (secret))
#define LET_GO(secret) inHands = inHands & ~(1 << (secret))
#define HELD(secret) ((inHands >> (secret)) & 1)

inline copy(to, from) {
  to.known = from.known;
  to.done = from.done;
  to.asked = from.asked;
  to.fence = from.fence;
  to.lease = from.lease;
  to.doneBy = from.doneBy;
  to.commits = from.commits
}

/* What a transaction does to the rows; `took` tells whether it found what it expects. */
inline change() {
  took = true;
  if
  :: what == schedule && !now.known -> now.known = true; now.commits++
  :: what == schedule && now.known
  :: what == grant && OPEN && now.lease == 0 ->
    now.fence++;
    secrets++;
    secret = secrets;
    fence = now.fence;
    now.lease = secret;
    TAKE(secret);
    now.commits++
  :: what == giveBack && now.lease == secret -> now.lease = 0; now.commits++
#ifdef FENCE_ONLY
  :: what == report && now.lease != 0 && now.fence == fence ->
#else
  :: what == report && now.lease == secret && now.fence == fence ->
#endif
    CHECKED(TOKENS, now.lease == secret);
    now.done = true;
    now.doneBy = secret;
    now.lease = 0;
    now.commits++
    /* The same report again. */
  :: what == report && now.lease == 0 && now.done && now.doneBy == secret
    /* `effects: once`: an unknown is a question. */
  :: what == lose && now.lease != 0 && !HELD(now.lease) ->
    now.lease = 0;
    now.asked = true;
    now.commits++
  :: else -> took = false
  fi
}

/* One transaction, and what became of it: fateOf() where the answer of its COMMIT is lost. */
inline transact(kind) {
  atomic {
    what = kind;
    startedOn = primary;
    change();
    mine = now.commits;
    fate = (took -> unknown : yes)
  };
  if
  :: fate == yes
#ifdef ASYNC
  :: atomic { fate == unknown && startedOn == primary -> fate = yes }
#else
  :: atomic { fate == unknown && startedOn == primary && copied.commits >= mine -> fate = yes }
#endif
  :: atomic { fate == unknown && startedOn != primary ->
#ifdef XID_ALONE
      /* It is in what was retained; or it is not, and another transaction has got its id since. */
      if
      :: mine <= tail || now.commits > tail -> fate = yes
      :: else
      fi
#else
      /* The ids of another incarnation prove nothing. */
      skip
#endif
    }
  fi;
  atomic { what = 0; startedOn = 0; mine = 0 }
}

#define CALLER \
  mtype what, fate; \
  byte startedOn, mine, secret, fence; \
  bool took

/* Repeats its call, by its key, until it is acknowledged. */
active proctype Client() {
  CALLER;
  do
  :: !acked ->
    transact(schedule);
    atomic {
      if
      :: fate == yes -> acked = true; CHECKED(ACKS, now.known)
      :: else
      fi;
      fate = 0; took = false
    }
  :: acked -> break
  od
}

active [AGENTS] proctype Agent() {
  CALLER;
end:
  do
  :: OPEN && now.lease == 0 ->
    transact(grant);
    if
    :: fate == yes && took ->
      atomic { effects++; CHECKED(ONCE, effects <= 1) };
      /* Repeated by its token until it is answered. */
      do
      :: transact(report);
        if
        :: fate == yes -> break
        :: else
        fi
      od;
      atomic {
        if
        :: took -> ackedDone = true; CHECKED(ACKS, now.done)
        :: else
        fi
      }
      /* Its poll failed: it names the poll among its lost ones. */
    :: fate != yes && secret != 0 ->
      do
      :: transact(giveBack);
        if
        :: fate == yes -> break
        :: else
        fi
      od
    :: else
    fi;
    atomic { LET_GO(secret); secret = 0; fence = 0; fate = 0; took = false }
  od
}

/* The lease of an agent that reports nothing more of it runs out. */
active proctype Supervisor() {
  CALLER;
end:
  do
  :: now.lease != 0 && !HELD(now.lease) ->
    transact(lose);
    atomic { fate = 0; took = false }
  od
}

/* Another run's commit: it takes a transaction id as all do. */
active proctype Other() {
  now.commits++
}

active proctype Standby() {
end:
  do
  :: atomic { copied.commits != now.commits -> copy(copied, now) }
  od
}

active proctype FailOver() {
  byte left = FAIL_OVERS;
  do
  :: left > 0 ->
    atomic {
      left--;
      primary++;
      copy(now, copied);
      tail = now.commits;
      CHECKED(ACKS, (!acked || now.known) && (!ackedDone || now.done))
    }
  :: break
  od
}

#define ENDED (now.done || now.asked || (acked && !now.known))
ltl ends { <> ENDED }
