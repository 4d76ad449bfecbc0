// What servers tell each other by NOTIFY: lanes that have ready rows, and due times. The channel
// has the name of the schema; each partition session listens to it.
import type pg from "pg";
import type { PartitionSession } from "../partition-session.ts";

/** The first word of a notification. */
const LANES = "lanes ";
const DUE = "due ";
/** NOTIFY takes 8,000 bytes; a lane id has at most 10 digits. */
const LANES_PER_NOTICE_MAX = 500;

type Notices = Pick<
  PartitionSession,
  "onLanes" | "announceLanes" | "onDueTimes" | "announceDueTime"
>;

/** They are received on the session, and sent through the pool. */
export function noticesOn(session: pg.Client, pool: pg.Pool, schema: string): Notices {
  const say = (text: string) => pool.query("select pg_notify($1, $2)", [schema, text]);
  const onNotice = (kind: string, listener: (text: string) => void) =>
    session.on("notification", ({ payload = "" }) => {
      if (payload.startsWith(kind)) listener(payload.slice(kind.length));
    });
  return {
    onLanes(listener) {
      onNotice(LANES, (text) => listener(text.split(",").map(Number)));
    },
    async announceLanes(lanes) {
      for (let from = 0; from < lanes.length; from += LANES_PER_NOTICE_MAX) {
        await say(`${LANES}${lanes.slice(from, from + LANES_PER_NOTICE_MAX).join(",")}`);
      }
    },
    onDueTimes(listener) {
      onNotice(DUE, (text) => listener(Number(text)));
    },
    async announceDueTime(dueAt) {
      await say(`${DUE}${dueAt}`);
    },
  };
}
