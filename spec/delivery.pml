/*
 * Poll and delivery: a claim commits, its answer may be lost, and what was never delivered, or was
 * forgotten, comes back; by what an agent reports through any server, however late, and never by
 * mistake.
 *
 * Mirrors server/dispatch/dispatch.ts, server/dispatch/claims.ts,
 * server/store/postgres/sql/heartbeats.sql and onUndelivered and onForgotten of server/core. One
 * task; an agent that polls twice, one poll at a time, and another agent whose calls are never
 * lost. Servers share rows and nothing else, so each call is a process of its own and may be
 * suspended between any two of its statements. A poll arrives HANDLERS times, as where a proxy
 * sends it again, and may claim after its caller has gone. A heartbeat states what was so when it
 * was sent.
 *
 * Of time there is one bit for each hand-out: `over`, by its agent's clock the lease has ended,
 * which comes before any supervisor ends it (session.pml has such clocks in numbers).
 *
 * Safety (assert): no task has two workers at a time; what is given back, or called
 * forgotten, is with no agent and does not arrive any more; what a lost poll was granted is not
 * counted. Liveness (found): a lease that no agent knows of ends.
 */

#ifndef HANDLERS
#define HANDLERS 2
#endif
/* In flight at a time. */
#ifndef HEARTBEATS
#define HEARTBEATS 2
#endif
/* Hand-outs of the task. */
#ifndef FENCES
#define FENCES 2
#endif
/* Times that the agent drops a task by a fault of its own, and that no heartbeat names a lease. */
#ifndef FAULTS
#define FAULTS 1
#endif

#define BIT(n) (1 << (n))
#define HAS(set, n) (((set) >> (n)) & 1)

/* Rows. `lease`: the fence of the lease, which represents its secret too; 0: there is none. */
byte lease;
/* The poll that it was granted to; 0: one of the other agent's. */
byte leasePoll;
byte fence;
bool done;

/* What the agent knows. Fences and polls count from 1. */
byte poll;
bool waits;
byte holds;
bool reports;
/* Polls that ended without an answer, and those that it still names. */
byte lost;
byte named;

byte otherHolds;
byte over;
/* The hand-out is on its way to the agent. */
byte carried;
/* Polls that a handler is through with. */
byte through[HANDLERS];

#define WORKS (holds != 0 && !HAS(over, holds) && !reports)
#define OTHER_WORKS (otherHolds != 0 && !HAS(over, otherHolds))
/* An agent has it, or may still get it: no call delivers once it has ended. */
#define KNOWN (holds == lease || otherHolds == lease || \
  (HAS(carried, lease) && waits && poll == leasePoll))

inline free() { lease = 0; leasePoll = 0 }

inline claim(by) {
  fence++;
  lease = fence;
  leasePoll = by
}

/* The event `undelivered`, under the lock of the run. */
inline giveBack(f) {
  if
#ifdef ANY_FENCE
  :: lease != 0 && leasePoll != 0 -> assert(!KNOWN); free()
#else
  :: lease == f -> assert(!KNOWN); free()
#endif
  :: else
  fi
}

/* The event `forgotten`: the attempt counts, its outcome is unknown. */
inline forget(f) {
  if
  :: lease == f -> assert(!KNOWN); assert(!HAS(lost, leasePoll)); free()
  :: else
  fi
}

/* By the token; an attempt counts while it is the newest. */
inline report(f) {
  if
  :: !done && fence == f -> done = true; free()
  :: else
  fi
}

active proctype Agent() {
  byte faults = FAULTS;
  byte n;
end:
  do
  :: atomic { !waits && holds == 0 && poll < 2 && !done -> poll++; waits = true }
    /* Its deadline, or a cut cable. */
  :: atomic { waits ->
      waits = false;
      lost = lost | BIT(poll);
#ifndef NAMES_NOTHING
      named = named | BIT(poll)
#endif
    }
  :: atomic { WORKS -> reports = true }
  :: atomic { reports && !done && fence == holds -> report(holds) }
    /* Its answer has come; it was repeated until then, which changes nothing. */
  :: atomic { reports && (done || fence != holds) -> reports = false; holds = 0 }
    /* It aborts by its own clock. */
  :: atomic { holds != 0 && HAS(over, holds) && !reports -> holds = 0 }
  :: atomic { WORKS && faults > 0 -> faults--; holds = 0 }
    /* 30 s after its wait no server claims for a poll, and heartbeats have named it as lost. */
  :: atomic { named != 0 ->
      n = (HAS(named, 1) -> 1 : 2);
#ifndef NAMED_ONCE
      through[0] >= n && through[HANDLERS - 1] >= n && (lease == 0 || leasePoll != n);
#endif
      named = named & ~BIT(n);
      n = 0 }
  od
}

active proctype Other() {
end:
  do
  :: atomic { !done && lease == 0 && fence < FENCES ->
      claim(0);
      otherHolds = fence;
      assert(!WORKS) }
  :: atomic { otherHolds != 0 -> report(otherHolds); otherHolds = 0 }
  :: atomic { otherHolds != 0 && HAS(over, otherHolds) -> otherHolds = 0 }
  od
}

/* PollTask at a server. */
active [HANDLERS] proctype Handler() {
  byte me = _pid - 2;
  byte f;
end:
  do
  :: poll > through[me] ->
    if
      /* It never arrives. */
    :: true
      /* Nothing was there. */
    :: atomic { waits && poll == through[me] + 1 -> waits = false }
    :: atomic { !done && lease == 0 && fence < FENCES ->
        claim(through[me] + 1);
        f = fence;
        carried = carried | BIT(f) };
      if
        /* The call is seen to have ended before its answer has left. */
      :: atomic { !waits || poll != through[me] + 1 -> carried = carried & ~BIT(f); giveBack(f) }
        /* The answer is lost, as is one that comes after the end of its call. */
      :: atomic { carried = carried & ~BIT(f) }
      :: atomic { waits && poll == through[me] + 1 ->
          carried = carried & ~BIT(f);
          waits = false;
          if
#ifndef FROM_ARRIVAL
          :: HAS(over, f)
#endif
          :: else ->
            holds = f;
#ifdef FROM_ARRIVAL
            over = over & ~BIT(f);
#endif
            assert(!OTHER_WORKS)
          fi };
#ifdef CANCEL_LATE
        /* It learns of the end of the call, and does not know that the answer was taken. */
        atomic { giveBack(f) }
#endif
      fi
    fi;
    atomic { f = 0; through[me]++ }
  od
}

/* Heartbeat at a server. A poll states the same of lost polls. */
active [HEARTBEATS] proctype Heartbeat() {
  byte saysLost;
  byte lists;
  byte listsTo;
  byte f;
end:
  do
  :: atomic { leasePoll != 0 ->
      saysLost = named;
      lists = holds;
#ifdef LISTED_UNTIL_SENT
      lists = (reports -> 0 : holds);
#endif
#ifndef LISTS_NOTHING
      listsTo = (waits -> poll - 1 : poll);
#ifndef COUNTS_LOST
      /* A poll that the same call names as lost bounds the list. */
      listsTo = (HAS(saysLost, 1) -> 0 : (HAS(saysLost, 2) && listsTo > 1 -> 1 : listsTo));
#endif
#endif
#ifdef SILENT
      saysLost = 0;
      listsTo = 0
#endif
    };
    atomic {
      if
      :: leasePoll != 0 && HAS(saysLost, leasePoll) -> f = lease
      :: else
      fi;
      saysLost = 0
    };
    if
    :: f != 0 -> atomic { giveBack(f); f = 0 }
    :: else
    fi;
    atomic {
      if
#ifdef OMITS
      :: leasePoll != 0 && lease != lists -> f = lease
#else
      :: leasePoll != 0 && leasePoll <= listsTo && lease != lists -> f = lease
#endif
      :: else
      fi;
      lists = 0; listsTo = 0
    };
    if
    :: f != 0 -> atomic { forget(f); f = 0 }
    :: else
    fi
  od
}

/* Ends leases that no heartbeat named. */
active proctype Supervisor() {
  byte faults = FAULTS;
end:
  do
  :: atomic { lease != 0 && !HAS(over, lease) && faults > 0 -> faults--; over = over | BIT(lease) }
#ifdef ATTEMPT
    /* Its time is over, and no heartbeat names it. */
  :: atomic { lease != 0 && !HAS(over, lease) && !KNOWN -> over = over | BIT(lease) }
#endif
  :: atomic { lease != 0 && HAS(over, lease) -> free() }
  od
}

#define ORPHAN (lease != 0 && !KNOWN)
ltl found { [] (ORPHAN -> <> !ORPHAN) }
