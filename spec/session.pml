/*
 * When a holder may still trust its lock: 2.5 s against 3 s, in steps of 500 ms.
 *
 * Mirrors `isTrusted` and `poll` of server/supervisor/ownership.ts and `idle_session_timeout` of
 * server/store/postgres/partitions.ts. A ping may be under way for as long as it likes in either
 * direction; the holder may be frozen, and the cable cut, at any time and for ever. Each side
 * counts by its own clock, at one rate.
 *
 * Safety (assert): a process that trusts its lock has it.
 * Liveness (freed): the lock of a holder that is gone becomes free.
 */

/* In steps. */
#define TRUST 5
#define IDLE 6
#define MANY 8

/* The holder: since it sent the ping whose answer it has, and since it sent the one under way. */
byte sinceAnswered;
byte sincePinged;
/* The server: since it last received anything of the session. */
byte sinceHeard;
bool alive = true;
bool gone;
mtype = { none, sent, answered };
mtype ping = none;

#define LATER(since) since = (since < MANY -> since + 1 : MANY)

active proctype Holder() {
  do
  :: atomic { ping == none -> ping = sent; sincePinged = 0 }
  :: atomic { ping == answered ->
#ifdef TRUST_FROM_ANSWER
      sinceAnswered = 0;
#else
      sinceAnswered = sincePinged;
#endif
      ping = none; sincePinged = 0 }
  :: atomic { sinceAnswered < TRUST -> assert(alive) }
  :: gone = true; break
  od
}

active proctype Server() {
  do
  :: atomic { ping == sent && alive -> sinceHeard = 0; ping = answered }
  od
}

/* Time passes, and the server ends what was silent for too long. */
active proctype Time() {
  do
  :: atomic {
      LATER(sinceAnswered);
      LATER(sinceHeard);
      if
      :: ping != none -> LATER(sincePinged)
      :: else
      fi;
#ifndef NO_IDLE_TIMEOUT
      if
      :: sinceHeard >= IDLE -> alive = false
      :: else
      fi
#endif
    }
  od
}

ltl freed { [] (gone -> <> !alive) }
