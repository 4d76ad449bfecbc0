/** The PostgreSQL store obeys the contract. */

import { openPostgres } from "../support/opened-postgres.ts";
import { expectCounted } from "./operator/activity.ts";
import { describeStore } from "./store-contract.ts";

// Its clock is its own.
const elapse = async () => undefined;
const open = async () => ({ ...(await openPostgres()), elapse });

describeStore("PostgreSQL store", open, { afterRandomRun: expectCounted });
