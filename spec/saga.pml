/*
 * A saga of STEPS steps in a row that fails or is cancelled, and is undone.
 *
 * Mirrors server/core: on-task-end.ts, recovery.ts, unknown-outcome.ts, on-report.ts, saga.ts. Each
 * step is `idempotent`, `verifiable` or `once`, in every mix, and has a `compensate`. An agent may
 * fall silent at any point (SILENCES in all): before its remote call, which it may then still make
 * until `settle` after its lease, or after it; and may report long after.
 *
 * Time is one thing here: when `settle` of a lost attempt is over, it acts no more. That is what
 * the engine relies on; an agent frozen for longer is for the key or the fence.
 *
 * Safety (assert): one current attempt, and only its report counts; an effect of a step that must
 * not be repeated blindly is made once; nothing is undone while a forward attempt may act, and in
 * reverse order; when the run ends undone nothing is left; final is final.
 * Liveness (ends): the run ends, or waits for a person.
 */

#ifndef STEPS
#define STEPS 2
#endif
#ifndef SILENCES
#define SILENCES 2
#endif
#define LOSSES_MAX 1

mtype = { idempotent, verifiable, once };
mtype = { blocked, ready, leased, settling, asked, succeeded, failed, cancelled };
mtype = { perform, verify, compensate };
mtype = { none, unsettled, made, undone };
mtype = { running, stopping, compensating, completed, compensated, failedRun };
mtype = { success, failure, noEffect, stopped, lost };

mtype effects[STEPS];
mtype forward[STEPS] = blocked;
/* The task that is ready or leased, or comes when it has settled. */
mtype task[STEPS] = perform;
mtype mark[STEPS] = none;
byte fence[STEPS];
byte losses[STEPS];
bool undoing[STEPS];
mtype run_ = running;
byte silences = SILENCES;

/* The fence of a leased attempt that reports nothing any more. */
byte mute[STEPS];
/* Lost attempts that may still make their call. */
byte frozen[STEPS];
/* The remote service. */
bool there[STEPS];

chan reports = [3] of { byte, byte, mtype, mtype };

#define ENDED (run_ == completed || run_ == compensated || run_ == failedRun)
#define FINAL(s) (forward[s] == succeeded || forward[s] == failed || forward[s] == cancelled)
#define MOVES(s) (forward[s] == ready || forward[s] == leased || forward[s] == settling)
#ifdef NO_SETTLE
#define SETTLED(s) true
#else
#define SETTLED(s) (frozen[s] == 0)
#endif
#ifdef VERIFY_AT_ONCE
#define VERIFY_SETTLED(s) true
#else
#define VERIFY_SETTLED(s) SETTLED(s)
#endif
#define LEFT(s) (mark[s] == made || mark[s] == unsettled)

/* The call to the remote service, which keys it: a repeat of an idempotent one is no other. */
inline act(s) {
  assert(effects[s] == idempotent || !there[s]);
  assert(run_ != compensated && run_ != failedRun);
  there[s] = true
}

proctype Perform(byte s; byte f) {
  if
  :: atomic { act(s); reports ! s, f, perform, success }
  :: atomic { act(s) };
    if
    :: reports ! s, f, perform, success
      /* Asked to stop, it does not know what its call did. */
    :: run_ == stopping -> reports ! s, f, perform, stopped
    :: atomic { silences > 0 -> silences--; mute[s] = f };
      if
      :: reports ! s, f, perform, success
      :: skip
      fi
    fi
    /* Reports so only where nothing of it exists, and nothing can come. */
  :: atomic { !there[s] && frozen[s] == 0 -> reports ! s, f, perform, noEffect }
  :: reports ! s, f, perform, failure
  :: atomic { silences > 0 -> silences--; frozen[s]++; mute[s] = f };
    if
    :: atomic { act(s); frozen[s]-- };
      if
      :: reports ! s, f, perform, success
      :: skip
      fi
    :: atomic { frozen[s]-- }
    fi
  fi
}

proctype Verify(byte s; byte f) {
  if
  :: atomic { there[s] -> reports ! s, f, verify, success }
  :: atomic { !there[s] -> reports ! s, f, verify, noEffect }
  :: reports ! s, f, verify, failure
  :: atomic { silences > 0 -> silences--; mute[s] = f }
  fi
}

proctype Compensate(byte s; byte f) {
  if
  :: atomic { there[s] = false; reports ! s, f, compensate, success }
  :: atomic { silences > 0 -> silences--; mute[s] = f };
    if
    :: there[s] = false
    :: skip
    fi
  fi
}

/* A claim: the ready task is in an agent's hands. Only perform and compensate count in the fence. */
inline handOut(s) {
  assert(!ENDED);
  if
  :: task[s] == verify -> run Verify(s, fence[s])
  :: task[s] == perform -> fence[s]++; run Perform(s, fence[s])
  :: task[s] == compensate ->
    for (t : 0 .. STEPS - 1) {
      assert(frozen[t] == 0);
      assert(t <= s || !there[t])
    }
    fence[s]++;
    run Compensate(s, fence[s])
  fi;
  t = 0;
  forward[s] = leased
}

inline stop() {
  run_ = stopping;
  for (t : 0 .. STEPS - 1) {
    if
    :: forward[t] == asked -> forward[t] = cancelled
    :: (forward[t] == ready || forward[t] == settling) && task[t] != verify -> forward[t] = cancelled
    :: else
    fi
  }
  t = 0
}

/* unknown-outcome.ts: what the attempt did is unknown, and it must not be repeated blindly. */
inline inDoubt(s) {
  if
  :: effects[s] == verifiable -> task[s] = verify; forward[s] = settling
  :: effects[s] == once && run_ == stopping -> forward[s] = cancelled
  :: else -> forward[s] = asked
  fi
}

inline performed(s, outcome) {
  if
  :: outcome == success ->
    mark[s] = made;
    forward[s] = succeeded;
    if
    :: run_ == running && s + 1 == STEPS -> run_ = completed
    :: run_ == running && s + 1 < STEPS -> forward[s + 1] = ready
    :: else
    fi
  :: outcome == noEffect || outcome == failure ->
    if
    :: outcome == noEffect -> mark[s] = none
    :: else
    fi;
    if
    :: run_ == running -> forward[s] = failed; stop()
    :: else -> forward[s] = failed
    fi
  :: outcome == stopped || outcome == lost ->
    mark[s] = unsettled;
    losses[s]++;
    if
#ifdef ONCE_RETRIED
    :: effects[s] == once && run_ == running -> forward[s] = ready
    :: effects[s] != idempotent && !(effects[s] == once && run_ == running) -> inDoubt(s)
#else
    :: effects[s] != idempotent -> inDoubt(s)
#endif
    :: effects[s] == idempotent && run_ == stopping -> forward[s] = cancelled
    :: effects[s] == idempotent && run_ != stopping && losses[s] <= LOSSES_MAX -> forward[s] = ready
    :: else -> forward[s] = asked
    fi
  fi
}

inline verified(s, outcome) {
  if
  :: outcome == success -> task[s] = perform; performed(s, success)
  :: outcome == noEffect ->
    mark[s] = none;
    task[s] = perform;
    forward[s] = (run_ == stopping -> cancelled : ready)
    /* Its result is inconclusive, so often that it is asked no more. */
  :: outcome == failure -> forward[s] = (run_ == stopping -> cancelled : asked)
  :: outcome == lost -> forward[s] = ready
  fi
}

inline undid(s, outcome) {
  if
  :: outcome == success -> mark[s] = undone; undoing[s] = false; forward[s] = succeeded
  :: else -> forward[s] = ready
  fi
}

#define IN_HAND(s, f, kind) (forward[s] == leased && task[s] == kind && fence[s] == f)
#ifdef LATE_COUNTS
#define CURRENT(s, f) true
#else
#define CURRENT(s, f) (fence[s] == f)
#endif
#ifdef FINAL_REOPENED
#define OPEN(s) true
#else
#define OPEN(s) (!ENDED && !FINAL(s) && !undoing[s])
#endif

/* Only a report of the current attempt counts, while neither its step nor its run is final. */
inline onReport(s, f, kind, outcome) {
  if
  :: IN_HAND(s, f, kind) ->
    mute[s] = 0;
    if
    :: kind == perform -> performed(s, outcome)
    :: kind == verify -> verified(s, outcome)
    :: kind == compensate -> undid(s, outcome)
    fi
    /* Late, and current: closes what was started because of the silence. */
  :: kind == perform && !IN_HAND(s, f, kind) && CURRENT(s, f) && OPEN(s) ->
    assert(fence[s] == f);
    assert(!ENDED && !FINAL(s));
    if
    :: forward[s] == leased -> mute[s] = 0
    :: else
    fi;
    task[s] = perform;
    performed(s, outcome)
  :: else
  fi
}

/* nextRunState(): STOPPING goes on when nothing moves and all has settled. */
inline advanceRunState() {
  if
  :: run_ == stopping && still ->
    run_ = compensating;
    for (t : 0 .. STEPS - 1) {
#ifdef FINISHED_ONLY
      undoing[t] = mark[t] == made
#else
      undoing[t] = LEFT(t)
#endif
      ;
      anyUndo = anyUndo || undoing[t]
    }
    t = 0
  :: else
  fi;
  if
  :: run_ == compensating ->
    left = false;
    for (t : 0 .. STEPS - 1) {
      t2 = STEPS - 1 - t;
#ifdef ANY_ORDER
      if
      :: undoing[t2] && !MOVES(t2) -> task[t2] = compensate; forward[t2] = ready
      :: else
      fi;
#else
      if
      :: undoing[t2] && !left && !MOVES(t2) -> task[t2] = compensate; forward[t2] = ready
      :: else
      fi;
#endif
      left = left || undoing[t2]
    }
    if
    :: !left ->
      run_ = (anyUndo -> compensated : failedRun);
      for (t : 0 .. STEPS - 1) { assert(!there[t]) }
    :: else
    fi;
    t = 0; t2 = 0; left = false
  :: else
  fi
}

#define STILL_STANDS (!MOVES(0) && !MOVES(STEPS - 1) && SETTLED(0) && SETTLED(STEPS - 1))
#define ASKS (forward[0] == asked || forward[STEPS - 1] == asked)

active proctype Engine() {
  byte s, f, t, t2;
  mtype kind, outcome;
  bool left, anyUndo, still;
  atomic {
    for (s : 0 .. STEPS - 1) {
      if
      :: effects[s] = idempotent
      :: effects[s] = verifiable
      :: effects[s] = once
      fi
    }
    s = 0;
    forward[0] = ready
  };
end:
  do
  :: atomic { reports ? s, f, kind, outcome ->
      onReport(s, f, kind, outcome);
      s = 0; f = 0; kind = 0; outcome = 0 }
  :: atomic { (forward[0] == ready || forward[STEPS - 1] == ready) ->
      s = (forward[0] == ready -> 0 : STEPS - 1);
      handOut(s);
      s = 0 }
#ifndef UNWATCHED
    /* The lease ran out. */
  :: atomic { (mute[0] != 0 && forward[0] == leased && mute[0] == fence[0]) ->
      mute[0] = 0; kind = task[0]; onReport(0, fence[0], kind, lost); kind = 0 }
  :: atomic { (mute[STEPS - 1] != 0 && forward[STEPS - 1] == leased &&
      mute[STEPS - 1] == fence[STEPS - 1]) ->
      mute[STEPS - 1] = 0; kind = task[STEPS - 1];
      onReport(STEPS - 1, fence[STEPS - 1], kind, lost); kind = 0 }
#endif
    /* The time after which a lost attempt acts no more. */
  :: atomic { forward[0] == settling && VERIFY_SETTLED(0) -> forward[0] = ready }
  :: atomic { forward[STEPS - 1] == settling && VERIFY_SETTLED(STEPS - 1) ->
      forward[STEPS - 1] = ready }
  :: atomic { run_ == stopping && STILL_STANDS -> still = true; advanceRunState(); still = false }
  :: atomic { run_ == compensating && !MOVES(0) && !MOVES(STEPS - 1) -> advanceRunState() }
    /* A person cancels, or answers that what there is be undone. */
  :: atomic { run_ == running -> stop() }
  od
}

ltl ends { <> (ENDED || ASKS) }
