// A worker that lays out graphs; see graph-layout.ts.
import { type GraphShape, positionsOf } from "./graph-layout.ts";

addEventListener("message", ({ data }: MessageEvent<GraphShape>) => postMessage(positionsOf(data)));
