/*
 * Who may write for a partition: lock, epoch and writer row, with sessions that end at any time.
 *
 * Mirrors server/supervisor/ownership.ts, server/store/postgres/partitions.ts and
 * server/store/postgres/sql/partitions.sql. One partition, PROCS processes; each joins, takes over,
 * sends batches, hands back, is lost and joins anew, for ever. A batch is a process of its own
 * here and may be suspended between any two steps, so a frozen server that wakes is every server.
 * Time is not modelled: a session may end at any time and its process may learn of it late,
 * which is more than 2.5 s and 3 s allow (session.pml has those).
 *
 * Safety (assert): a supervisor's write commits only while the lease row names its node and epoch.
 * Liveness (watched): whatever ended, the partition is watched again.
 *
 * TAIL adds a fail-over to a primary that has an earlier state of these rows, while sessions to the
 * old primary live on for a while.
 */

#ifndef PROCS
#define PROCS 2
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
/* By each process. */
#ifndef HAND_BACKS
#define HAND_BACKS 1
#endif

/* Node ids are random and never come again; here one comes again once no row or batch has it. */
#define NODES (2 * PROCS)
#define NONE 15
/* Epochs are compared for equality alone. */
#define EPOCHS 4

/* Rows. A row of `writer` may be locked by a batch or by its deletion. */
bool writer[NODES];
bool rowLocked[NODES];
byte leaseNode = NONE;
byte leaseEpoch;
bool leaseLocked;

/* The partition's advisory lock, and the sessions that can hold it. */
byte lockOf = NONE;
bool session[NODES];

/* What a process believes. */
byte node[PROCS] = NONE;
bool owned[PROCS];
byte epoch[PROCS];
bool fenced[PROCS];
/* One batch at a time; `waits` ends before `inFlight` where the fate of the commit is unknown. */
bool inFlight[PROCS];
bool waits[PROCS];
byte batchNode[PROCS] = NONE;
byte batchEpoch[PROCS];

#ifdef TAIL
/* Grows with each fail-over: an open transaction of before cannot commit any more. */
byte primary;
bool onOld[NODES];
#define OPEN(startedOn) ((startedOn) == primary)
#define LOCK_SEEN_FREE(id) (lockOf == NONE || onOld[id])
#else
#define OPEN(startedOn) true
#define LOCK_SEEN_FREE(id) (lockOf == NONE)
#endif

#define NAMED (leaseNode == batchNode[p] && leaseEpoch == batchEpoch[p])
/* What is read no more is one state and not many. */
#define FORGET id = NONE; former = NONE; startedOn = 0
#define MEMBER (node[p] != NONE)
#define TRACELESS(id) (!session[id] && !writer[id] && !rowLocked[id] && leaseNode != id && \
  (!inFlight[p] || batchNode[p] != id))

inline join() {
  atomic {
    if
    :: TRACELESS(2 * p) -> node[p] = 2 * p
    :: else -> TRACELESS(2 * p + 1); node[p] = 2 * p + 1
    fi;
    session[node[p]] = true;
    writer[node[p]] = true;
    owned[p] = false;
    fenced[p] = false
  }
}

/* lose() and leave(): forgets everything; its writer rows go once no batch holds them. */
inline lose() {
  atomic { owned[p] = false; fenced[p] = false; epoch[p] = 0; id = node[p]; node[p] = NONE };
  atomic {
    !rowLocked[id];
    writer[id] = false;
    session[id] = false;
#ifdef TAIL
    onOld[id] = false;
#endif
    if
    :: lockOf == id -> lockOf = NONE
    :: else
    fi;
    FORGET
  }
}

/* tryLock() on the session, then one transaction on the pool. */
inline take() {
  id = node[p];
#ifdef TAIL
  startedOn = primary;
  if
  :: !onOld[id] -> lockOf = id
  :: else
  fi;
#else
  lockOf = id;
#endif
  former = NONE
}

inline takeOver() {
#ifdef LEASE_UNLOCKED
  former = leaseNode;
#else
  atomic { !leaseLocked || !OPEN(startedOn) -> leaseLocked = leaseLocked || OPEN(startedOn) };
  former = leaseNode;
#endif
#ifdef BUMP_FIRST
  /* The update of the lease row came first: the delete sees its own node there. */
  former = id;
#endif
  if
  :: former != NONE && former != id ->
    atomic { !rowLocked[former] || !OPEN(startedOn) ->
      rowLocked[former] = OPEN(startedOn) || rowLocked[former] }
  :: else -> former = NONE
  fi;
#ifdef LEASE_UNLOCKED
  atomic { !leaseLocked || !OPEN(startedOn) -> leaseLocked = leaseLocked || OPEN(startedOn) };
#endif
  atomic {
    if
    :: OPEN(startedOn) ->
      if
      :: former != NONE -> writer[former] = false; rowLocked[former] = false
      :: else
      fi;
      leaseNode = id;
      leaseEpoch = (leaseEpoch + 1) % EPOCHS;
      leaseLocked = false;
      owned[p] = true;
      epoch[p] = leaseEpoch
    :: else
    fi;
    FORGET
  }
}

/* A clean hand-over fences no process, so it ends what may be in flight before it reports so. */
inline giveBack() {
  atomic { owned[p] = false; epoch[p] = 0; id = node[p] };
#ifndef NOT_QUIET
  !waits[p];
#endif
#ifdef TAIL
  startedOn = primary;
#endif
  atomic { !leaseLocked || !OPEN(startedOn) -> leaseLocked = leaseLocked || OPEN(startedOn) };
#ifndef HAND_BACK_BLIND
  atomic { !rowLocked[id] || !OPEN(startedOn) -> rowLocked[id] = OPEN(startedOn) || rowLocked[id] };
#endif
  atomic {
    if
    :: OPEN(startedOn) ->
#ifndef HAND_BACK_BLIND
      rowLocked[id] = false;
#endif
      if
      :: leaseNode == id -> leaseNode = NONE
      :: else
      fi;
      leaseLocked = false
    :: else
    fi
  };
  atomic {
    if
    :: lockOf == id -> lockOf = NONE
    :: else
    fi;
    FORGET
  }
}

active [PROCS] proctype Supervisor() {
  byte p = _pid;
  byte id = NONE;
  byte former = NONE;
  byte startedOn = 0;
  byte handBacks = HAND_BACKS;
  bool late = false;
  do
  :: !MEMBER -> join(); late = false
#ifdef KEEP_ID
  :: MEMBER && !session[node[p]] -> lose()
#else
  :: MEMBER && (!session[node[p]] || fenced[p]) -> lose()
#endif
  :: atomic { MEMBER && session[node[p]] && !owned[p] && LOCK_SEEN_FREE(node[p]) -> take() };
    takeOver()
  :: MEMBER && owned[p] && session[node[p]] && handBacks > 0 -> handBacks--; giveBack()
    /* Of a session that has ended, one more batch at most is sent before the server learns it. */
  :: atomic { MEMBER && owned[p] && !fenced[p] && !inFlight[p] && (session[node[p]] || !late) ->
      late = !session[node[p]];
      batchNode[p] = node[p];
      batchEpoch[p] = epoch[p];
      inFlight[p] = true;
      waits[p] = true }
  od
}

/* One pass for a supervisor's event: hold the writer row, write, commit. */
active [PROCS] proctype Batch() {
  byte p = _pid - PROCS;
  byte startedOn = 0;
  bool holds;
  do
  :: inFlight[p] ->
#ifdef TAIL
    startedOn = primary;
#endif
    /* One statement. Its snapshot of the lease row may be older than the lock that it waits for. */
#ifdef WRITER_ALONE
    holds = OPEN(startedOn);
#else
    atomic { holds = OPEN(startedOn) && NAMED };
#endif
#ifndef PLAIN_EPOCH
    atomic {
      !holds || !rowLocked[batchNode[p]] || !OPEN(startedOn) ->
      holds = holds && OPEN(startedOn) && writer[batchNode[p]];
      if
      :: holds -> rowLocked[batchNode[p]] = true
      :: else
      fi
    };
#endif
    do
      /* The answer is lost: its process waits no longer, the transaction is still open. */
    :: holds && waits[p] -> waits[p] = false
    :: atomic { holds ->
        if
        :: OPEN(startedOn) ->
          assert(NAMED)
        :: else
        fi; break }
      /* Rolled back, by the server's own time limits at the latest. */
    :: holds -> break
    :: atomic { !holds ->
        if
        :: OPEN(startedOn) && node[p] == batchNode[p] -> fenced[p] = true
        :: else
        fi; break }
    od;
    atomic {
      if
#ifndef PLAIN_EPOCH
      :: holds && OPEN(startedOn) -> rowLocked[batchNode[p]] = false
#endif
      :: else
      fi;
      holds = false;
      waits[p] = false;
      inFlight[p] = false;
      batchNode[p] = NONE;
      batchEpoch[p] = 0;
      startedOn = 0
    }
  od
}

/* Sessions end: the server ends them, or a cable is cut. */
active proctype Faults() {
  byte left = FAULTS;
  byte n;
  do
  :: left > 0 ->
    atomic {
      select (n : 0 .. NODES - 1);
      if
      :: session[n] ->
        session[n] = false;
        if
        :: lockOf == n -> lockOf = NONE
        :: else
        fi
      :: else
      fi;
      left--
    }
  :: break
  od
}

#ifdef TAIL
active proctype FailOver() {
  bool oldWriter[NODES];
  byte oldNode;
  byte oldEpoch;
  byte n;
  atomic {
    for (n : 0 .. NODES - 1) { oldWriter[n] = writer[n] }
    oldNode = leaseNode;
    oldEpoch = leaseEpoch
  };
  atomic {
    primary++;
    for (n : 0 .. NODES - 1) {
      writer[n] = oldWriter[n];
      rowLocked[n] = false;
      onOld[n] = session[n]
    }
    leaseNode = oldNode;
    leaseEpoch = oldEpoch;
    leaseLocked = false;
    lockOf = NONE;
    for (n : 0 .. NODES - 1) { oldWriter[n] = false }
    oldNode = 0;
    oldEpoch = 0
  };
  /* The old primary is ended, as it must be. */
  for (n : 0 .. NODES - 1) {
    atomic {
      if
      :: onOld[n] -> onOld[n] = false; session[n] = false
      :: else
      fi
    }
  }
}
#endif

#define WATCHES(p) (node[p] != NONE && owned[p] && session[node[p]] && lockOf == node[p] && \
  writer[node[p]] && leaseNode == node[p] && leaseEpoch == epoch[p])

ltl watched { []<> (WATCHES(0) || WATCHES(1)) }
